//! `approvals answered` and `approvals people`: answers, the people who gave them, and response times.

use bitacora_api::{AnsweredList, AnswererList};
use clap::{Args, ValueEnum};

use crate::error::CommandError;
use crate::ledger_access::pages::pages_to_show;
use crate::ledger_access::principal_names::KnownPeople;
use crate::ledger_access::service::{with_query, with_read_models};
use crate::options::global::Global;
use crate::terminal::output::Output;
use crate::terminal::table::{TextTable, to_the_second};

#[derive(Debug, Args)]
pub(super) struct AnsweredArguments {
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

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Resolution {
    Approved,
    Rejected,
    Edited,
    Expired,
    Withdrawn,
}

impl Resolution {
    fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Edited => "edited",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }
}

pub(super) fn answered(
    arguments: &AnsweredArguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let path = with_query(
        "resolutions",
        &[
            ("by", arguments.by.as_deref()),
            ("agent", arguments.agent.as_deref()),
            ("resolution", arguments.resolution.map(Resolution::as_str)),
        ],
    );
    with_read_models(global, |service| {
        let Some(pages) = pages_to_show::<AnsweredList>(service, &path, global, output)? else {
            return Ok(());
        };
        let people = KnownPeople::of(service)?;
        let heading = ["position", "time", "approval", "answer", "by", "waited", "agent", "tool", "note"];
        let mut table = TextTable::new(&heading);
        for one in pages.iter().flat_map(|page| &page.resolutions) {
            table.row(&[
                &one.position,
                &to_the_second(&one.time),
                &one.approval,
                &one.resolution,
                &people.named(&one.by),
                &one.waited_ms.map_or_else(|| "-".to_owned(), in_words),
                one.agent.as_deref().unwrap_or("-"),
                one.tool.as_deref().unwrap_or("-"),
                one.note.as_deref().unwrap_or(""),
            ]);
        }
        Ok(table.write("nobody has answered any", output)?)
    })
}

pub(super) fn people(global: &Global, output: &mut Output) -> Result<(), CommandError> {
    with_read_models(global, |service| {
        let Some(pages) = pages_to_show::<AnswererList>(service, "answerers", global, output)? else {
            return Ok(());
        };
        let people = KnownPeople::of(service)?;
        let heading = [
            "by",
            "approved",
            "rejected",
            "edited",
            "withdrawn",
            "expired",
            "half within",
            "longest",
            "last",
        ];
        let mut table = TextTable::new(&heading);
        for person in pages.iter().flat_map(|page| &page.answerers) {
            let half = person.half_within_s.map(|seconds| in_words(seconds.saturating_mul(1_000)));
            table.row(&[
                &people.named(&person.by),
                &person.approved.to_string(),
                &person.rejected.to_string(),
                &person.edited.to_string(),
                &person.withdrawn.to_string(),
                &person.expired.to_string(),
                &half.unwrap_or_else(|| "-".to_owned()),
                &in_words(person.longest_ms),
                &person.last,
            ]);
        }
        Ok(table.write("nobody has answered any", output)?)
    })
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
