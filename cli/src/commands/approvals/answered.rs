//! `approvals answered` and `approvals people`: answers, the people who gave them, and response times.

use bitacora_api::{AnsweredList, AnswererList};
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::principal_names::KnownPeople;
use crate::ledger_access::query::with_query;
use crate::ledger_access::service::ServiceUse;
use crate::terminal::table::{Cell, TextTable, cells};

#[derive(Debug, Args, Serialize)]
pub(crate) struct AnsweredArguments {
    /// Only answers by this actor.
    #[arg(long, value_name = "ACTOR")]
    by: Option<String>,
    /// Only approvals for calls of this agent.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only approvals with this answer.
    #[arg(long, value_enum)]
    resolution: Option<Resolution>,
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum Resolution {
    Approved,
    Rejected,
    Edited,
    Expired,
    Withdrawn,
}

pub(super) fn answered(
    arguments: &AnsweredArguments,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let path = with_query("resolutions", arguments);
    let pages = context.asking(ServiceUse::ReadModels).pages::<AnsweredList>(&path)?;
    let Some(pages) = pages else { return Ok(Exit::Done) };
    let people = KnownPeople::of(context.service()?)?;
    let heading = ["position", "time", "approval", "answer", "by", "waited", "agent", "tool", "note"];
    let mut table = TextTable::new(&heading).dispensing(&["agent", "waited", "position"]);
    for one in pages.iter().flat_map(|page| &page.resolutions) {
        table.add(cells![
            Cell::id(&one.position),
            Cell::time(&one.time),
            Cell::id(&one.approval),
            Cell::id(&one.resolution),
            people.named(&one.by),
            one.waited_ms.map_or_else(|| "-".into(), |waited| Cell::id(in_words(waited))),
            &one.agent,
            &one.tool,
            one.note.as_deref().unwrap_or(""),
        ]);
    }
    table.write("nobody has answered any", &mut context.output)?;
    Ok(Exit::Done)
}

pub(super) fn people(context: &mut CommandContext) -> Result<Exit, CommandError> {
    let pages = context.asking(ServiceUse::ReadModels).pages::<AnswererList>("answerers")?;
    let Some(pages) = pages else { return Ok(Exit::Done) };
    let people = KnownPeople::of(context.service()?)?;
    let mut table = TextTable::new(&[
        "by",
        "approved",
        "rejected",
        "edited",
        "withdrawn",
        "expired",
        "half within",
        "longest",
        "last",
    ]);
    for person in pages.iter().flat_map(|page| &page.answerers) {
        let half = person.half_within_s.map(|seconds| in_words(seconds.saturating_mul(1_000)));
        table.add(cells![
            people.named(&person.by),
            person.approved,
            person.rejected,
            person.edited,
            person.withdrawn,
            person.expired,
            Cell::maybe_id(half.as_ref()),
            Cell::id(in_words(person.longest_ms)),
            Cell::id(&person.last),
        ]);
    }
    table.write("nobody has answered any", &mut context.output)?;
    Ok(Exit::Done)
}

/// Formats a duration: `340 ms`, `12 s`, `3 min`, `5 h`, `2 d`.
fn in_words(milliseconds: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    let unit = UNITS.iter().find(|(unit, _)| milliseconds >= *unit);
    unit.map_or_else(
        || format!("{milliseconds} ms"),
        |(unit, name)| format!("{} {name}", milliseconds / unit),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_their_largest_unit() {
        let told = [0, 999, 1_000, 59_999, 60_000, 7_200_000, 90_000_000].map(in_words);
        assert_eq!(told, ["0 ms", "999 ms", "1 s", "59 s", "1 min", "2 h", "1 d"]);
    }
}
