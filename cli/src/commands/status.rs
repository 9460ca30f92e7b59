//! `status`: which ledger answers, its head and mode, and what is pending.

use std::fmt::Display;

use bitacora_api::{
    ApprovalList, BreakerList, ClockAnswer, HeadAnswer, LedgerAnswer, ModeAnswer, StopsAnswer,
};
use bitacora_client::ClientError;
use bitacora_connect::key_fingerprint;
use clap::Args;
use serde::Serialize;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::pages::ListPage;
use crate::ledger_access::service::ServiceFailure;
use crate::options::global::LedgerLocation;
use crate::terminal::output::{Output, OutputError};
use crate::terminal::table::{FieldLines, to_the_second};

/// The gauge of the time for which the anchor has not taken the newest tree head.
const ANCHOR_LAG: &str = "bitacora_ledger_unanchored_seconds";

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {}

/// The status of a ledger. A part that the caller may not see is absent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LedgerStatus {
    ledger: String,
    /// The service's address, or the data folder.
    place: String,
    id: Option<String>,
    /// `ready`, `read-only`, `stopped` and so on, as the service says; absent of a folder.
    state: Option<String>,
    why: Option<String>,
    /// The fingerprint of the key that answers are signed with.
    key_fingerprint: Option<String>,
    position: String,
    time: String,
    mode: Option<String>,
    /// The scopes with a mode of their own.
    mode_scopes: Option<usize>,
    panic: Option<bool>,
    pending_approvals: Option<usize>,
    suspended_agents: Option<usize>,
    /// Breakers that deny or probe calls.
    breakers_not_closed: Option<usize>,
    clock_trusted: Option<bool>,
    /// The time for which the anchor has not taken the newest tree head.
    anchor_lag_s: Option<f64>,
}

pub(crate) fn run(_: &StatusArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let status = LedgerStatus::gather(context)?;
    if context.is_json() {
        return context.print(&status);
    }
    status.write(&mut context.output)?;
    Ok(Exit::Done)
}

impl LedgerStatus {
    fn gather(context: &mut CommandContext) -> Result<Self, CommandError> {
        let name = context.global.ledger.to_string();
        let place = match context.global.place() {
            LedgerLocation::Service(url) => url.to_string(),
            LedgerLocation::Folder(data) => data.display().to_string(),
        };
        let head: HeadAnswer = match context.service()?.get("head") {
            Err(ServiceFailure::Client(error @ ClientError::Connect { .. })) => {
                let advice =
                    "start it with `bitacora serve`, or name another with --url, or a folder with --data";
                return Err(ServiceFailure::NotThere(format!("{error} {advice}")).into());
            }
            head => head?.read()?,
        };
        let service = context.service()?;
        let about = service.get_of_all(&format!("ledgers/{name}")).ok();
        let about: Option<LedgerAnswer> = about.and_then(|answer| answer.read().ok());
        let (anchor_lag_s, is_folder) = (service.gauge(ANCHOR_LAG), service.is_within());
        // A folder is open for reading now, whatever a service can do with it.
        let told = about.clone().filter(|_| !is_folder);
        let mode: Option<ModeAnswer> = context.read("mode").ok();
        let stops: Option<StopsAnswer> = context.read("panic").ok();
        let breakers = context.items::<BreakerList>("breakers").ok();
        let breakers_not_closed =
            breakers.map(|breakers| breakers.iter().filter(|breaker| breaker.state != "closed").count());
        Ok(Self {
            ledger: name,
            place,
            id: about.as_ref().and_then(|about| about.id.clone()),
            key_fingerprint: about.as_ref().and_then(|about| key_fingerprint(about.answer_key.as_ref()?)),
            state: told.as_ref().map(|about| about.state.clone()),
            why: told.and_then(|about| about.why),
            position: head.position,
            time: head.time,
            mode_scopes: mode.as_ref().map(|mode| mode.scopes.len()),
            mode: mode.map(|mode| mode.mode),
            panic: stops.map(|stops| stops.panic),
            pending_approvals: pending(context),
            suspended_agents: count::<StopsAnswer>("panic", context),
            breakers_not_closed,
            clock_trusted: context.read::<ClockAnswer>("clock").ok().map(|clock| clock.trusted),
            anchor_lag_s,
        })
    }

    fn write(&self, output: &mut Output) -> Result<(), OutputError> {
        let why = self.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let scopes = self.mode_scopes.filter(|scopes| *scopes > 0);
        let scopes = scopes.map(|scopes| format!(", another in {scopes} scopes")).unwrap_or_default();
        FieldLines::new()
            .with("ledger", format!("{} at {}", self.ledger, self.place))
            .maybe("id", self.id.as_ref())
            .maybe("answers", self.key_fingerprint.as_ref().map(|key| format!("signed with key {key}")))
            .with("head", format!("position {}, {}", self.position, to_the_second(&self.time)))
            .maybe("state", self.state.as_ref().map(|state| format!("{state}{why}")))
            .maybe("mode", self.mode.as_ref().map(|mode| format!("{mode}{scopes}")))
            .maybe(
                "panic",
                self.panic.map(|panic| if panic { "engaged: every call is denied" } else { "no" }),
            )
            .maybe(
                "clock",
                self.clock_trusted.map(|is| if is { "trusted" } else { "not trusted: calls are denied" }),
            )
            .maybe("approvals", with_word(self.pending_approvals, "pending"))
            .maybe("agents", with_word(self.suspended_agents, "suspended"))
            .maybe("breakers", with_word(self.breakers_not_closed, "not closed"))
            .maybe("anchor", with_word(self.anchor_lag_s, "s behind"))
            .write(output)
    }
}

fn with_word(count: Option<impl Display>, word: &str) -> Option<String> {
    count.map(|count| format!("{count} {word}"))
}

/// Counts the items of a list, where the caller may see it.
fn count<L: ListPage>(path: &str, context: &mut CommandContext) -> Option<usize> {
    context.items::<L>(path).ok().map(|items| items.len())
}

/// Counts the approvals whose call has not ended.
fn pending(context: &mut CommandContext) -> Option<usize> {
    let approvals = context.items::<ApprovalList>("approvals").ok()?;
    Some(approvals.iter().filter(|approval| approval.call_ended != Some(true)).count())
}
