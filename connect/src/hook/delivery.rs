//! The delivery of spooled inputs, in their order, before a newer one is sent.

use std::time::Instant;

use bitacora_client::{ClientError, Connection as ServiceConnection};
use tokio::time::timeout;

use crate::limits::{DELIVERIES_OF_A_HOOK, DELIVERY_TIME, REPORT_PATIENCE};
use crate::spool::Spool;

/// Delivers what waits, as far as the time of one hook reaches. What is left waits for the next one. A fault here is no
/// fault of the hook's own input.
pub async fn deliver_before(spool: &Spool, service: &mut ServiceConnection) {
    let Ok(waiting) = spool.waiting() else { return };
    if waiting.is_empty() {
        return;
    }
    let Ok(Some(_lock)) = spool.lock() else { return };
    let began = Instant::now();
    for path in waiting.iter().take(DELIVERIES_OF_A_HOOK) {
        if began.elapsed() >= DELIVERY_TIME {
            return;
        }
        let Ok(input) = spool.read(path) else {
            // Another process delivered it, or it is not this connection's. `doctor` counts what stays.
            continue;
        };
        let posted = service.post(&input.path, super::JSON, input.body.into());
        match timeout(REPORT_PATIENCE, posted).await {
            Ok(Ok(_)) => {}
            // It will never be taken.
            Ok(Err(ClientError::Refused(refusal))) if super::is_final(refusal.problem.status) => {}
            Ok(Err(_)) | Err(_) => return,
        }
        if spool.remove(path).is_err() {
            return;
        }
    }
}
