//! The delivery of spooled inputs, in their order.

use std::path::Path;
use std::time::{Duration, Instant};

use bitacora_api::ProblemAnswer;
use bitacora_client::{ClientError, Connection as ServiceConnection};
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::trace::{LostInput, lost_event, trace_path};
use crate::error::HookFailure;
use crate::limits::{DELIVERIES_OF_A_HOOK, DELIVERY_TIME, REPORT_PATIENCE};
use crate::spool::{Spool, SpooledInput};

/// The statuses of refusals that speak of one request.
const OF_ONE_REQUEST: [u16; 7] = [400, 404, 409, 412, 413, 415, 422];

/// The place of a harness in the source of an event about inputs of any.
const ALL_HARNESSES: &str = "any";

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

/// The place of a delivery: a ledger, and the key that its answers are verified with. With a key, an input leaves the spool only
/// after an answer that its holder signed.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryPlace<'a> {
    /// The ledger's name.
    pub ledger: &'a str,
    /// The key, where it is known.
    pub answer_key: Option<&'a [u8; 32]>,
}

/// Delivers what waits, as far as the time of one hook reaches. What is left waits for the next one. A fault here is no
/// fault of the hook's own input.
pub async fn deliver_before(spool: &Spool, service: &mut ServiceConnection, place: DeliveryPlace<'_>) {
    let _later = Delivery { spool, service, place }.run(DELIVERIES_OF_A_HOOK, DELIVERY_TIME).await;
}

/// Delivers at most so many spooled inputs, each once. Where another process delivers, all of them are left.
///
/// # Errors
/// The spool cannot be read, or the service does not take what it should; the rest waits.
pub async fn deliver_spooled(
    spool: &Spool,
    service: &mut ServiceConnection,
    place: DeliveryPlace<'_>,
    most: usize,
) -> Result<Delivered, HookFailure> {
    Delivery { spool, service, place }.run(most, Duration::MAX).await
}

/// A delivery that is under way.
struct Delivery<'a> {
    spool: &'a Spool,
    service: &'a mut ServiceConnection,
    place: DeliveryPlace<'a>,
}

impl Delivery<'_> {
    async fn run(&mut self, most: usize, time: Duration) -> Result<Delivered, HookFailure> {
        self.tell_losses().await?;
        let waiting = self.spool.waiting()?;
        let mut done = Delivered::default();
        if waiting.is_empty() {
            return Ok(done);
        }
        let Some(_lock) = self.spool.lock()? else {
            return Ok(Delivered { left: waiting.len(), ..done });
        };
        let began = Instant::now();
        let mut opened = 0_usize;
        for (index, path) in waiting.iter().enumerate() {
            if opened >= most || began.elapsed() >= time {
                done.left = done.left.saturating_add(waiting.len().saturating_sub(index));
                return Ok(done);
            }
            // A file that is not this connection's stays, and `doctor` counts it. One that is gone was delivered by another process.
            let Ok(input) = self.spool.read(path) else { continue };
            opened = opened.saturating_add(1);
            match self.post(&input.path, input.body.clone()).await? {
                PostAnswer::Taken => done.taken = done.taken.saturating_add(1),
                PostAnswer::Refused(code) if self.leave_trace(path, &input, &code).await? => {
                    done.refused = done.refused.saturating_add(1);
                }
                // It stays, and what lies behind it goes on.
                PostAnswer::Refused(_) | PostAnswer::NotTaken => {
                    done.left = done.left.saturating_add(1);
                    continue;
                }
            }
            self.spool.remove(path)?;
        }
        Ok(done)
    }

    /// Posts a body.
    async fn post(&mut self, path: &str, body: String) -> Result<PostAnswer, HookFailure> {
        let posted = async {
            match self.place.answer_key {
                Some(key) => self.service.post_signed(path, super::JSON, body.into(), key).await,
                None => self.service.post(path, super::JSON, body.into()).await,
            }
        };
        match timeout(REPORT_PATIENCE, posted).await {
            Ok(Ok(_)) => Ok(PostAnswer::Taken),
            // It will never be taken.
            Ok(Err(ClientError::Refused(refusal))) if super::is_final(&refusal.problem) => {
                Ok(PostAnswer::Refused(refusal.problem.code.clone()))
            }
            Ok(Err(ClientError::Refused(refusal))) if is_of_one_request(&refusal.problem) => {
                Ok(PostAnswer::NotTaken)
            }
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(HookFailure::Late(REPORT_PATIENCE.as_secs())),
        }
    }

    /// Tells the ledger of an input that it will never take, and returns `true` if the input may go. A trace that waits itself has
    /// none.
    async fn leave_trace(
        &mut self,
        file: &Path,
        input: &SpooledInput,
        code: &str,
    ) -> Result<bool, HookFailure> {
        let traces = trace_path(self.place.ledger);
        if input.path == traces {
            return Ok(true);
        }
        let id = file.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
        let digest = hex::encode(Sha256::digest(input.body.as_bytes()));
        let lost = LostInput {
            id: &id,
            harness: harness_of(&input.path),
            body: input.body.as_bytes(),
            bytes: u64::try_from(input.body.len()).unwrap_or(u64::MAX),
            sha256: Some(&digest),
            reason: &format!("the service refuses it ({code})"),
        };
        let event = String::from_utf8_lossy(&lost.event()).into_owned();
        Ok(matches!(self.post(&traces, event).await?, PostAnswer::Taken))
    }

    /// Tells the ledger of inputs that could not even be spooled.
    async fn tell_losses(&mut self) -> Result<(), HookFailure> {
        let Some((marks, id, evidence)) = self.spool.losses().told() else { return Ok(()) };
        let event = String::from_utf8_lossy(&lost_event(&id, ALL_HARNESSES, evidence)).into_owned();
        if matches!(self.post(&trace_path(self.place.ledger), event).await?, PostAnswer::Taken) {
            self.spool.losses().remove(&marks);
        }
        Ok(())
    }
}

/// The answer to what was posted.
enum PostAnswer {
    Taken,
    /// With the code of a refusal that stays.
    Refused(String),
    /// Refused for a reason that may lie in what stood between.
    NotTaken,
}

/// Returns `true` if a refusal speaks of this request alone, so that another one may be taken.
fn is_of_one_request(problem: &ProblemAnswer) -> bool {
    !problem.retryable && OF_ONE_REQUEST.contains(&problem.status)
}

/// Returns the harness that a path of a hook names, else the resource itself.
fn harness_of(path: &str) -> &str {
    let resource = path.split('?').next().unwrap_or_default();
    resource.rsplit('/').next().unwrap_or_default()
}
