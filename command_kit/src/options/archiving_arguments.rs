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
    /// Returns the archiving into this store. Where no rule makes events due, none is archived and no segment is released; archives that are
    /// there are looked at for expired events.
    pub fn archiving(&self, objects: &Arc<dyn Objects>, place: &ArchiveLocation) -> ArchiveSettings {
        let (rules, releases) = self.rules();
        let (objects, store) = (Arc::clone(objects), place.to_string());
        ArchiveSettings { objects, store, rules, releases, pauses: ArchivePauses::default(), scrub: None }
    }

    /// Returns the rules that make events due, and `true` if their segments are released.
    pub fn rules(&self) -> (Rules, bool) {
        let cold_after = match self.archive_after {
            Age::Never => None,
            Age::Over(after) => Some(Duration::from_micros(after.0)),
        };
        let rules = Rules { cold_after, hot_events: self.archive_over, ..Rules::default() };
        let makes_due = rules.cold_after.is_some() || rules.hot_events.is_some();
        (rules, makes_due && !self.keep_archived_segments)
    }
}

#[cfg(test)]
mod tests {
    use bitacora_archiver::{ArchiveStore, StoreSettings};
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        archiving: ArchivingArguments,
    }

    fn settings(arguments: &[&str]) -> ArchiveSettings {
        let program = Program::try_parse_from(["serve"].iter().chain(arguments)).unwrap();
        let place = ArchiveLocation::Folder("nowhere".into());
        let objects: Arc<dyn Objects> = Arc::new(ArchiveStore::at(place.clone(), StoreSettings::default()));
        program.archiving.archiving(&objects, &place)
    }

    #[test]
    fn archiving_never_looks_for_expired_events_and_releases_nothing() {
        let never = settings(&["--archive-after", "never"]);
        assert_eq!((never.rules.cold_after, never.rules.hot_events, never.releases), (None, None, false));
        assert_eq!(never.pauses, ArchivePauses::default());
        let over = settings(&["--archive-after", "never", "--archive-over", "7"]);
        assert_eq!((over.rules.cold_after, over.rules.hot_events, over.releases), (None, Some(7), true));
        assert!(settings(&[]).rules.cold_after.is_some());
    }
}
