//! Marks of inputs that a hook could keep in no way: an empty file each, whose name says when and why.
//!
//! An empty file can be made where the spool is full, and where a limit lets no file grow. The next delivery turns the marks into
//! an event.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::connection::make_private_folder;
use crate::limits::{LOSSES_OF_AN_EVENT, MAX_LOSSES};

/// The end of a mark's name.
const SUFFIX: &str = ".lost";

/// The reason why an input is kept nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LossReason {
    /// The spool was full, or could not be written.
    Spool,
    /// The hook ended by its own deadline.
    Late,
}

impl LossReason {
    const ALL: [Self; 2] = [Self::Spool, Self::Late];

    fn word(self) -> &'static str {
        match self {
            Self::Spool => "spool",
            Self::Late => "late",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Spool => "the spool took no more",
            Self::Late => "the hook ended by its own deadline",
        }
    }
}

/// The marks of one connection.
pub(crate) struct Losses {
    folder: PathBuf,
}

impl Losses {
    /// Returns the marks in a connection's folder of state.
    pub(crate) fn of(state: &Path) -> Self {
        Self { folder: state.join("lost") }
    }

    /// Marks a loss. Where even that fails, nothing is left that could tell of it.
    pub(crate) fn mark(&self, reason: LossReason) {
        if self.waiting().len() >= MAX_LOSSES || make_private_folder(&self.folder).is_err() {
            return;
        }
        let mut random = [0; 8];
        if getrandom::fill(&mut random).is_err() {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{:020}-{}-{}{SUFFIX}", now.as_nanos(), hex::encode(random), reason.word());
        let _unmarked =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.folder.join(name));
    }

    /// Returns the oldest marks, as many as one event tells of, and what it says of them.
    pub(crate) fn told(&self) -> Option<(Vec<PathBuf>, String, String)> {
        let mut marks = self.waiting();
        marks.truncate(LOSSES_OF_AN_EVENT);
        let names: Vec<_> =
            marks.iter().filter_map(|mark| Some(mark.file_name()?.to_str()?.to_owned())).collect();
        if names.is_empty() {
            return None;
        }
        let counts = LossReason::ALL.into_iter().filter_map(|reason| {
            let end = format!("-{}{SUFFIX}", reason.word());
            let count = names.iter().filter(|name| name.ends_with(&end)).count();
            (count > 0).then(|| format!("{count} because {}", reason.text()))
        });
        let counts: Vec<_> = counts.collect();
        let evidence = format!("{} inputs of hooks are lost: {}", names.len(), counts.join(", "));
        // The same marks make the same event, so a delivery that is cut off counts nothing twice.
        let id = blake3::hash(names.join("/").as_bytes()).to_hex().to_string();
        Some((marks, id, evidence))
    }

    /// Removes marks that an event tells of.
    pub(crate) fn remove(&self, marks: &[PathBuf]) {
        for mark in marks {
            let _gone = fs::remove_file(mark);
        }
    }

    fn waiting(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let marks = entries.map(|entry| entry.path());
        let is_mark = |path: &PathBuf| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(SUFFIX))
        };
        let mut marks: Vec<_> = marks.filter(is_mark).collect();
        marks.sort();
        marks
    }
}
