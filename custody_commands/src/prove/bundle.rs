//! `prove --range` and its like: an evidence bundle of many events, in one file.

use std::path::Path;
use std::str::FromStr;

use bitacora_formats::Position;
use bitacora_verify::MAX_BUNDLE_BYTES;
use clap::Args;
use serde_json::json;

use super::ProveFailure;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::new_file;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::with_query;
use crate::options::time::PastTime;

/// The events of a bundle.
#[derive(Debug, Args)]
#[group(id = "bundle", multiple = true, conflicts_with_all = ["position", "receipt", "bare", "with_part", "vkey"], requires = "out")]
pub(super) struct BundleArguments {
    /// Bundle the events of these positions in one file, which has a verifier and proofs: 17-42, or 17- up to the last tree head.
    #[arg(long, value_name = "FIRST-LAST")]
    range: Option<PositionRange>,
    /// Bundle events recorded at this time or later.
    #[arg(long, value_name = "TIME")]
    since: Option<PastTime>,
    /// Bundle events recorded before this time.
    #[arg(long, value_name = "TIME")]
    before: Option<PastTime>,
    /// Bundle events of this session.
    #[arg(long)]
    session: Option<String>,
    /// Bundle events of this run.
    #[arg(long)]
    run: Option<String>,
}

/// Positions from a first one to a last one.
#[derive(Debug, Clone, Copy)]
struct PositionRange {
    first: Position,
    last: Option<Position>,
}

impl FromStr for PositionRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("found {text}, expected two positions such as 17-42, or 17-");
        let (first, last) = text.split_once('-').ok_or_else(refused)?;
        let position = |text: &str| text.parse::<Position>().map_err(|_| refused());
        let range = Self {
            first: position(first)?,
            last: if last.is_empty() { None } else { Some(position(last)?) },
        };
        if range.last.is_some_and(|last| last < range.first) { Err(refused()) } else { Ok(range) }
    }
}

impl BundleArguments {
    /// Writes the bundle as it comes: the service, or the one in this process, has checked each proof against the tree head.
    pub(super) fn write(&self, out: &Path, context: &mut CommandContext) -> Result<Exit, CommandError> {
        let (first, last) = (self.range.map(|range| range.first), self.range.and_then(|range| range.last));
        let query = json!({
            "after": first.map(|first| (first.get() - 1).to_string()),
            "until": last.map(|last| last.to_string()),
            "since": self.since,
            "before": self.before,
            "session": self.session,
            "run": self.run,
        });
        let bundle = context.service()?.file(&with_query("evidence", &query), MAX_BUNDLE_BYTES)?;
        new_file::write(out, &bundle).map_err(ProveFailure::Write)?;
        let bytes = bundle.len();
        context.say(format_args!("{}: {bytes} bytes; its README.txt says how to check it", out.display()))?;
        Ok(Exit::Done)
    }
}
