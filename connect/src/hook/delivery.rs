//! The delivery of spooled inputs, in their order.

use std::path::Path;
use std::time::{Duration, Instant};

use bitacora_api::ProblemAnswer;
use bitacora_client::{ClientError, Connection as ServiceConnection};
use tokio::time::timeout;

use super::other_id::{event_under_other_id, input_under_other_id, is_taken_id, random_id};
use super::trace::{LostInput, trace_path};
use crate::error::HookFailure;
use crate::limits::{
    DELIVERIES_OF_A_HOOK, DELIVERY_TIME, OFFERS_OF_AN_INPUT, REPORT_PATIENCE, REPORTS_OF_A_DELIVERY,
};
use crate::loss_report::LossReport;
use crate::losses::LossReason;
use crate::spool::{Spool, SpooledInput};

/// The statuses of refusals that speak of one request.
const OF_ONE_REQUEST: [u16; 7] = [400, 404, 409, 412, 413, 415, 422];

/// The place of a harness in the source of an event about inputs of any.
pub(crate) const ALL_HARNESSES: &str = "any";

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
        let began = Instant::now();
        match self.tell_losses(|| began.elapsed() >= time).await {
            // Marks that cannot be read keep nothing else from the ledger, and `doctor` tells of them.
            Ok(()) | Err(HookFailure::Spool(_)) => {}
            Err(error) => return Err(error),
        }
        let waiting = self.spool.waiting()?;
        let mut done = Delivered::default();
        if waiting.is_empty() {
            return Ok(done);
        }
        let Some(_lock) = self.spool.lock()? else {
            return Ok(Delivered { left: waiting.len(), ..done });
        };
        let mut opened = 0_usize;
        for (index, path) in waiting.iter().enumerate() {
            if opened >= most || began.elapsed() >= time {
                done.left = done.left.saturating_add(waiting.len().saturating_sub(index));
                return Ok(done);
            }
            // A file that is not this connection's stays, and `doctor` counts it. One that is gone was delivered by another process.
            let Ok(input) = self.spool.read(path) else { continue };
            opened = opened.saturating_add(1);
            match self.bring(path, input).await? {
                InputFate::Taken => done.taken = done.taken.saturating_add(1),
                InputFate::Told => done.refused = done.refused.saturating_add(1),
                // It stays, and what lies behind it goes on.
                InputFate::Left => {
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

    /// Brings an input to the ledger. What stands in its place, such as a trace, is in its file before it is posted, so that whoever
    /// delivers next posts the same.
    async fn bring(&mut self, file: &Path, mut input: SpooledInput) -> Result<InputFate, HookFailure> {
        let traces = trace_path(self.place.ledger);
        let mut is_told = false;
        for _ in 0..OFFERS_OF_AN_INPUT {
            let is_trace = input.path == traces;
            let next = match self.post(&input.path, input.body.clone()).await? {
                PostAnswer::NotTaken => return Ok(InputFate::Left),
                PostAnswer::Taken => match input.then {
                    None if is_told => return Ok(InputFate::Told),
                    None => return Ok(InputFate::Taken),
                    Some(traces_of) => trace_at(&traces, traces_of.taken),
                },
                PostAnswer::Refused(code) if is_trace => match self.trace_instead(&input, &code) {
                    Some(other) => other,
                    None => return Ok(InputFate::Told),
                },
                PostAnswer::Refused(code) => self.instead(input, &code)?,
            };
            // Where it cannot be written, the file keeps what it held, and the next delivery comes to the same.
            if self.spool.replace(file, &next).is_err() {
                return Ok(InputFate::Left);
            }
            (is_told, input) = (is_told || next.path == traces, next);
        }
        Ok(InputFate::Left)
    }

    /// Returns what is offered in the place of an input: the same under another id, if its own is taken, else a trace of it.
    fn instead(&self, input: SpooledInput, code: &str) -> Result<SpooledInput, HookFailure> {
        let traces = trace_path(self.place.ledger);
        if let Some(traces_of) = input.then {
            return Ok(trace_at(&traces, traces_of.refused));
        }
        if is_taken_id(code)
            && let Some(other) = input_under_other_id(self.spool, &input, code)
        {
            return Ok(other);
        }
        let fate = format!("is not recorded: the service refuses it ({code})");
        let trace = LostInput::of_spooled(&random_id()?, harness_of(&input.path), &input.body, &fate);
        Ok(trace_at(&traces, trace))
    }

    /// Returns a trace under another id, if its own is taken. One that the service takes in no way leaves a mark.
    fn trace_instead(&self, trace: &SpooledInput, code: &str) -> Option<SpooledInput> {
        let body = if is_taken_id(code) { event_under_other_id(&trace.body) } else { None };
        if body.is_none() {
            self.spool.losses().mark(LossReason::Refused);
        }
        body.map(|body| SpooledInput { body, ..trace.clone() })
    }

    /// Tells the ledger of inputs that could not even be spooled. Where another process tells of them, nothing is done.
    async fn tell_losses(&mut self, until: impl Fn() -> bool) -> Result<(), HookFailure> {
        let Some(_turn) = self.spool.losses().turn() else { return Ok(()) };
        let path = trace_path(self.place.ledger);
        for _ in 0..REPORTS_OF_A_DELIVERY {
            let next = if until() { None } else { self.spool.next_report()? };
            let Some((file, report)) = next else { break };
            match self.post(&path, report.event.clone()).await? {
                PostAnswer::Taken => self.spool.end_report(&file, &report)?,
                PostAnswer::Refused(code) if is_taken_id(&code) => {
                    let Some(event) = event_under_other_id(&report.event) else { break };
                    self.spool.write_report(&file, &LossReport { event, ..report })?;
                }
                PostAnswer::Refused(_) | PostAnswer::NotTaken => break,
            }
        }
        Ok(())
    }
}

/// The fate of an input that waited.
enum InputFate {
    Taken,
    /// The service does not take it, and was told of it.
    Told,
    /// It waits on.
    Left,
}

/// The answer to what was posted.
enum PostAnswer {
    Taken,
    /// With the code of a refusal that stays.
    Refused(String),
    /// Refused for a reason that may lie in what stood between.
    NotTaken,
}

fn trace_at(path: &str, trace: String) -> SpooledInput {
    SpooledInput { path: path.to_owned(), body: trace, then: None }
}

/// Returns `true` if a refusal speaks of this request alone, so that another one may be taken.
fn is_of_one_request(problem: &ProblemAnswer) -> bool {
    !problem.retryable && OF_ONE_REQUEST.contains(&problem.status)
}

/// Returns the harness that a path of a hook names, else the resource itself.
pub(super) fn harness_of(path: &str) -> &str {
    let resource = path.split('?').next().unwrap_or_default();
    resource.rsplit('/').next().unwrap_or_default()
}
