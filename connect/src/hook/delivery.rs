//! The delivery of spooled inputs, in their order.

use std::time::{Duration, Instant};

use bitacora_client::{ClientError, Connection as ServiceConnection};
use tokio::time::timeout;

use crate::error::{HookFailure, SpoolError};
use crate::limits::{DELIVERIES_OF_A_HOOK, DELIVERY_TIME, REPORT_PATIENCE};
use crate::spool::{Spool, SpooledInput};

/// The part of a path by which a hook's input is known.
const HOOKS: &str = "/hooks/";

/// The result of a delivery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Inputs that the service took.
    pub taken: usize,
    /// Inputs that it will never take.
    pub refused: usize,
    /// Inputs of this connection that still wait. Files that it did not write are none.
    pub left: usize,
}

/// Delivers what waits, as far as the time of one hook reaches. What is left waits for the next one. A fault here is no
/// fault of the hook's own input.
pub async fn deliver_before(spool: &Spool, service: &mut ServiceConnection, key: &[u8; 32]) {
    let _later = deliver(spool, service, key, DELIVERIES_OF_A_HOOK, DELIVERY_TIME).await;
}

/// Delivers at most so many spooled inputs, each once. Where another process delivers, all of them are left.
///
/// # Errors
/// The spool cannot be read, or the service does not take what it should; the rest waits.
pub async fn deliver_spooled(
    spool: &Spool,
    service: &mut ServiceConnection,
    key: &[u8; 32],
    most: usize,
) -> Result<Delivered, HookFailure> {
    deliver(spool, service, key, most, Duration::MAX).await
}

async fn deliver(
    spool: &Spool,
    service: &mut ServiceConnection,
    key: &[u8; 32],
    most: usize,
    time: Duration,
) -> Result<Delivered, HookFailure> {
    let waiting = spool.waiting()?;
    let mut done = Delivered::default();
    if waiting.is_empty() {
        return Ok(done);
    }
    let Some(_lock) = spool.lock()? else {
        return Ok(Delivered { left: waiting.len(), ..done });
    };
    let began = Instant::now();
    let mut opened = 0_usize;
    for (index, path) in waiting.iter().enumerate() {
        if opened >= most || began.elapsed() >= time {
            done.left = waiting.len().saturating_sub(index);
            return Ok(done);
        }
        let input = match spool.read(path) {
            Ok(input) => input,
            // It is not this connection's, and stays. `doctor` counts it.
            Err(SpoolError::Foreign { .. }) => continue,
            // Another process delivered it.
            Err(_) => continue,
        };
        opened = opened.saturating_add(1);
        let posted = async {
            let SpooledInput { path, body } = input;
            // The service signs its answers to hooks alone.
            match path.contains(HOOKS) {
                true => service.post_signed(&path, super::JSON, body.into(), key).await,
                false => service.post(&path, super::JSON, body.into()).await,
            }
        };
        match timeout(REPORT_PATIENCE, posted).await {
            Ok(Ok(_)) => done.taken = done.taken.saturating_add(1),
            // It will never be taken.
            Ok(Err(ClientError::Refused(refusal))) if super::is_final(&refusal.problem) => {
                done.refused = done.refused.saturating_add(1);
            }
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => return Err(HookFailure::Late(REPORT_PATIENCE.as_secs())),
        }
        spool.remove(path)?;
    }
    Ok(done)
}
