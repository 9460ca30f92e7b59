//! Reports of lost inputs: one event each, and the marks that it counts.
//!
//! A report is sealed in a file before it is posted. So whoever delivers next, after a crash or a lost answer, posts the same event and
//! removes the same marks: each loss is counted once.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::connection::write_private;
use crate::error::SpoolError;
use crate::hook::{ALL_HARNESSES, lost_event};
use crate::limits::{LOCK_POLL, LOSSES_OF_AN_EVENT, MAX_REPORT_BYTES, REPORT_PATIENCE};
use crate::losses::evidence_of;
use crate::spool::Spool;

/// A report, as its file holds it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LossReport {
    /// The event, JSON.
    pub(crate) event: String,
    /// The names of the marks.
    pub(crate) marks: Vec<String>,
}

/// The numbers of the folder of marks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LossCounts {
    /// Inputs that were kept nowhere and that no event tells of yet.
    pub untold: usize,
    /// Files that no hook of this connection made.
    pub foreign: usize,
}

impl Spool {
    /// Counts the losses that no event tells of.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn losses_untold(&self) -> Result<LossCounts, SpoolError> {
        let entries = self.losses().entries().map_err(|source| self.lost_folder(source))?;
        let mut untold: BTreeSet<String> = entries.marks;
        let mut foreign = entries.foreign;
        for path in &entries.reports {
            match self.read_report(path) {
                Some(report) => untold.extend(report.marks),
                None => foreign = foreign.saturating_add(1),
            }
        }
        Ok(LossCounts { untold: untold.len(), foreign })
    }

    /// Returns the report that comes next, in its file: one that is under way, or one of the oldest marks.
    pub(crate) fn next_report(&self) -> Result<Option<(PathBuf, LossReport)>, SpoolError> {
        let entries = self.losses().entries().map_err(|source| self.lost_folder(source))?;
        let mut reports = entries.reports;
        reports.sort();
        if let Some(under_way) =
            reports.into_iter().find_map(|path| Some((path.clone(), self.read_report(&path)?)))
        {
            return Ok(Some(under_way));
        }
        let marks: Vec<_> = entries.marks.into_iter().take(LOSSES_OF_AN_EVENT).collect();
        if marks.is_empty() {
            return Ok(None);
        }
        let event = lost_event(&self.losses().id_of(&marks), ALL_HARNESSES, evidence_of(&marks));
        let report = LossReport { event: String::from_utf8_lossy(&event).into_owned(), marks };
        let path = self.losses().place(&self.losses().new_report().ok_or(SpoolError::Random)?);
        self.write_report(&path, &report)?;
        Ok(Some((path, report)))
    }

    /// Writes a report into its file.
    pub(crate) fn write_report(&self, path: &Path, report: &LossReport) -> Result<(), SpoolError> {
        let failed = |source| SpoolError::File { path: path.to_owned(), source };
        let text = serde_json::to_vec(report).map_err(|error| failed(error.into()))?;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        write_private(path, &self.seal(name, &text)?).map_err(failed)
    }

    /// Removes the marks of a report, and the report behind them: one that stays is told again as the same event.
    pub(crate) fn end_report(&self, path: &Path, report: &LossReport) -> Result<(), SpoolError> {
        for mark in &report.marks {
            let mark = self.losses().place(mark);
            // What somebody put into a mark's place is none, and stays.
            let is_mark = fs::symlink_metadata(&mark).is_ok_and(|metadata| metadata.is_file());
            if is_mark {
                self.remove(&mark)?;
            }
        }
        self.remove(path)
    }

    /// Gives up the marks of this connection. Returns their number.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn discard_losses(&self) -> Result<usize, SpoolError> {
        let untold = self.losses_untold()?.untold;
        let entries = self.losses().entries().map_err(|source| self.lost_folder(source))?;
        for mark in &entries.marks {
            self.remove(&self.losses().place(mark))?;
        }
        for report in entries.reports.iter().filter(|path| self.read_report(path).is_some()) {
            self.remove(report)?;
        }
        Ok(untold)
    }

    /// Names the marks of this connection, and seals its reports, for another token of the same agent.
    pub(crate) fn hand_over_losses(&self, to: &Self) -> Result<(), SpoolError> {
        let _turn = self.turn_in_time();
        let entries = self.losses().entries().map_err(|source| self.lost_folder(source))?;
        for path in &entries.reports {
            let Some(mut report) = self.read_report(path) else { continue };
            report.marks = report.marks.iter().map(|mark| to.losses().renamed(mark)).collect();
            to.write_report(path, &report)?;
        }
        for mark in &entries.marks {
            let (from, into) = (self.losses().place(mark), to.losses().place(&to.losses().renamed(mark)));
            fs::rename(&from, into).map_err(|source| SpoolError::File { path: from, source })?;
        }
        Ok(())
    }

    /// Waits for a delivery that is under way, as long as one lasts.
    fn turn_in_time(&self) -> Option<File> {
        let mut waited = Duration::ZERO;
        loop {
            let turn = self.losses().turn();
            if turn.is_some() || waited >= REPORT_PATIENCE {
                return turn;
            }
            thread::sleep(LOCK_POLL);
            waited = waited.saturating_add(LOCK_POLL);
        }
    }

    /// Reads a report; `None` if this connection did not write it.
    fn read_report(&self, path: &Path) -> Option<LossReport> {
        let mut sealed = Vec::new();
        File::open(path).ok()?.take(MAX_REPORT_BYTES).read_to_end(&mut sealed).ok()?;
        let text = self.open(path.file_name()?.to_str()?, &sealed)?;
        serde_json::from_slice(&text).ok()
    }

    fn lost_folder(&self, source: io::Error) -> SpoolError {
        SpoolError::File { path: self.losses().place(""), source }
    }
}
