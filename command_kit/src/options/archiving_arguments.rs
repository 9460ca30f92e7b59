//! The rules for archiving in the background, as named on the command line.

use std::sync::Arc;
use std::time::Duration;

use bitacora_archiver::{ArchiveLocation, Objects, Rules};
use bitacora_formats::Micros;
use bitacora_server::{ArchivePauses, ArchiveSettings};
use clap::Args;

use crate::options::time;

/// The rules for archiving in the background.
#[derive(Debug, Args)]
#[command(next_help_heading = "Archiving in the background")]
pub struct ArchivingArguments {
    /// Archive a month's events once all of them are older than this (30d, 90d), and release their segments; `never` ignores the age.
    #[arg(long, env = "BITACORA_ARCHIVE_AFTER", value_name = "TIME", default_value = "90d", value_parser = age)]
    archive_after: Age,
    /// Archive the older half of the events once more than this many are not archived, however new they are.
    #[arg(long, env = "BITACORA_ARCHIVE_OVER", value_name = "EVENTS")]
    archive_over: Option<u64>,
    /// Keep the segments of archived events.
    #[arg(long)]
    keep_archived_segments: bool,
}

/// The age from which on events are due for archiving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    Never,
    Over(Micros),
}

fn age(text: &str) -> Result<Age, String> {
    if text == "never" { Ok(Age::Never) } else { time::age(text).map(Age::Over) }
}

impl ArchivingArguments {
    /// Returns the archiving into this store; `None` where no rule makes events due.
    pub fn archiving(&self, objects: &Arc<dyn Objects>, place: &ArchiveLocation) -> Option<ArchiveSettings> {
        let cold_after = match self.archive_after {
            Age::Never if self.archive_over.is_none() => return None,
            Age::Never => None,
            Age::Over(after) => Some(Duration::from_micros(after.0)),
        };
        let rules = Rules { cold_after, hot_events: self.archive_over, ..Rules::default() };
        let (objects, store) = (Arc::clone(objects), place.to_string());
        let (releases, pauses) = (!self.keep_archived_segments, ArchivePauses::default());
        Some(ArchiveSettings { objects, store, rules, releases, pauses, scrub: None })
    }
}
