//! `replay --what-if`: another policy, tried on the recorded calls.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use bitacora_formats::{After, Position};
use bitacora_governance::{Policy, State};
use bitacora_ledger::Ledger;
use bitacora_replay::{
    ReplayStart, TrialContext, TrialText, parse_policy, published_policy, trial_json, try_policy,
};

use super::{ReplayArguments, ReplayFailure, Since, fold, in_background};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::document::Document;
use crate::options::global::Global;
use crate::terminal::output::{Output, OutputError};
use crate::terminal::table::{TextTable, write_fields};

/// The tried policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TriedPolicy {
    /// A published version: `v2`.
    Version(u64),
    /// A policy in a file, as `policy publish` takes it.
    File(PathBuf),
}

impl FromStr for TriedPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let version = text.strip_prefix('v').and_then(|digits| digits.parse().ok());
        Ok(version.map_or_else(|| Self::File(text.into()), Self::Version))
    }
}

impl TriedPolicy {
    /// Returns the policy, ready to judge; `state` knows the published ones.
    fn policy(&self, state: &State) -> Result<Policy, CommandError> {
        let policy = match self {
            Self::Version(version) => published_policy(state, *version),
            Self::File(path) => parse_policy(Document::read(path)?.text()),
        };
        Ok(policy.map_err(ReplayFailure::from)?)
    }

    /// Returns the policy's name on the command line.
    fn name(&self) -> String {
        match self {
            Self::Version(version) => format!("v{version}"),
            Self::File(path) => path.display().to_string(),
        }
    }
}

impl ReplayArguments {
    /// Tries another policy on the recorded calls.
    pub(super) fn what_if(
        &self,
        tried: &TriedPolicy,
        ledger: &Ledger,
        to: Position,
        global: &Global,
        output: &mut Output,
    ) -> Result<Exit, CommandError> {
        let after = match self.since {
            None => After::START,
            Some(Since::Position(after)) => after,
            Some(Since::Time(time)) => {
                let first = ledger.first_at(time).map_err(ReplayFailure::from)?;
                After::new(first.map_or(to.get(), |first| first.get() - 1))
            }
        };
        let mut folded = fold(ledger.clone(), vec![to], ReplayStart::FirstEvent)?;
        let Some(folded) = folded.pop() else { return Ok(Exit::Failed) };
        let policy = Arc::new(tried.policy(&folded.state)?);
        let (opened, judged_by) = (ledger.clone(), Arc::clone(&policy));
        let trial = in_background("judging", to, move |cursor| {
            try_policy(&opened, (after, to), &judged_by, folded.state.tools(), cursor)
        })?;
        let context = TrialContext { name: &tried.name(), policy: &policy, after: after.get(), to };
        if global.json {
            output.json(&trial_json(&context, &trial))?;
        } else {
            write(&TrialText::new(&context, &trial), output)?;
        }
        Ok(Exit::Done)
    }
}

fn write(text: &TrialText, output: &mut Output) -> Result<(), OutputError> {
    output.line(&text.headline)?;
    let fields: Vec<_> = text.fields.iter().map(|(name, value)| (*name, value.as_deref())).collect();
    write_fields(&fields, output)?;
    text.warnings.iter().try_for_each(|warning| output.line(warning))?;
    for found in &text.tables {
        output.line("")?;
        let mut table = TextTable::new(&found.headings);
        for row in &found.rows {
            table.row(&row.iter().map(String::as_str).collect::<Vec<_>>());
        }
        table.write("", output)?;
        if found.hidden > 0 {
            output.line(format_args!("and {} more; --json names all", found.hidden))?;
        }
    }
    Ok(())
}
