//! A loss that its owner declares: the ledger goes on from what it has, in a new generation.

use std::io;
use std::path::Path;

use bitacora_formats::{Generation, LostHead, SegmentNumber};
use serde_json::json;

use crate::heads::cosigned::cosigned_file_name;
use crate::heads::head_files::heads_file_name;
use crate::host::disk::{Disk, OpenMode};
use crate::log_fault::LogFault;
use crate::receipt::Head;
use crate::replay::{ReplayedLog, TailState};
use crate::segments::quarantine;
use crate::segments::{
    SEGMENTS, released_file_name, released_number, segment_file_name, segment_number, segments_folder,
};
use crate::tree::leaves::{TREE, leaves_file_name};

/// The folder of the manifests of a ledger's archives.
const MANIFESTS: &str = "archives";
/// The suffix of their names, behind the positions.
const MANIFEST: &str = ".manifest";

/// The handling of a loss that others remember, at an opening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LossPolicy {
    /// Nothing is opened for writing.
    Refuse,
    /// Frames that the disk did not have go back to their places.
    PutBack,
    /// A generation begins that says so.
    Declare,
}

/// A declared loss: its extent, and the head from which the ledger goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredLoss {
    /// The generation that begins.
    pub generation: Generation,
    /// The last known tree head that is not reached any more, if there is one.
    pub lost: Option<LostHead>,
    /// The note that the anchor held: it is moved on from there, whether that is lost or not.
    pub anchored: Option<String>,
    /// The last event that is left, and what commits to all up to it.
    pub retained: Head,
}

impl DeclaredLoss {
    /// Returns the number of events known to be lost: 0 if others took their places, or if no head was signed over them.
    #[must_use]
    pub fn lost_events(&self) -> u64 {
        let size = self.lost.as_ref().map_or(0, |lost| lost.size);
        size.saturating_sub(self.retained.position.get())
    }

    /// Returns the data of the generation's first event.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let lost = self.lost.as_ref().map(|lost| {
            let root = lost.root.map(|root| root.to_string());
            json!({"size": lost.size.to_string(), "root": root, "note": lost.note})
        });
        json!({
            "generation": self.generation.0,
            "lostHead": lost,
            "anchored": self.anchored,
            "retained": {
                "size": self.retained.position.to_string(),
                "root": self.retained.tree_root.to_string(),
                "hash": self.retained.hash.to_string(),
            },
        })
    }
}

/// Gives up what stands behind damage: the segments after it go to quarantine, the last first, so that no crash leaves a gap
/// in the numbers. The damaged one is then to be cut as a torn one is; of a missing one only what lies beside it is left, and the
/// ledger ends before it.
pub(crate) fn give_up_behind(
    disk: &dyn Disk,
    ledger: &Path,
    replayed: &ReplayedLog,
    fault: &LogFault,
) -> io::Result<TailState> {
    let folder = segments_folder(ledger);
    let name = fault.file.rsplit('/').next().unwrap_or_default().to_owned();
    let damaged = segment_number(&name).ok_or(io::ErrorKind::InvalidData)?;
    let mut numbers: Vec<SegmentNumber> =
        disk.list(&folder)?.iter().filter_map(|entry| segment_number(&entry.name)).collect();
    numbers.retain(|number| *number > damaged);
    let ending = format!("lost-g{}", replayed.generation);
    for number in numbers.into_iter().rev() {
        quarantine::set_aside(disk, ledger, &format!("{SEGMENTS}/{}", segment_file_name(number)), &ending)?;
    }
    let path = folder.join(&name);
    let is_missing = !disk.exists(&path)?;
    let is_given_up = |number: SegmentNumber| number > damaged || is_missing && number == damaged;
    let left = disk.list(&folder)?.into_iter().map(|entry| entry.name);
    let mut left = left.filter(|name| released_number(name).is_some_and(is_given_up));
    left.try_for_each(|name| quarantine::set_aside(disk, ledger, &format!("{SEGMENTS}/{name}"), &ending))?;
    set_aside_beside(disk, ledger, replayed, is_given_up)?;
    if is_missing {
        let (path, end) = replayed.before_last.clone().ok_or(io::ErrorKind::InvalidData)?;
        return Ok(TailState::Whole { path, end, durable: false });
    }
    let until = disk.open(&path, OpenMode::Read)?.len()?;
    let at = if damaged == replayed.last_segment { fault.offset } else { 0 };
    Ok(TailState::Torn { path, name, at, until })
}

/// The same for what lies beside segments that are gone, be it that a crash came before.
pub(crate) fn give_up_beside(disk: &dyn Disk, ledger: &Path, replayed: &ReplayedLog) -> io::Result<()> {
    set_aside_beside(disk, ledger, replayed, |number| number > replayed.last_segment)
}

/// The same for manifests of archives that reach past what is left: their positions are taken by other events now.
pub(crate) fn give_up_manifests(disk: &dyn Disk, ledger: &Path, replayed: &ReplayedLog) -> io::Result<()> {
    let entries = match disk.list(&ledger.join(MANIFESTS)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        listed => listed?,
    };
    let ending = format!("lost-g{}", replayed.generation);
    let last = |name: &str| name.strip_suffix(MANIFEST)?.split_once('-')?.1.parse::<u64>().ok();
    let beyond = |name: &str| last(name).is_some_and(|last| last > replayed.head.position.get());
    let mut beyond = entries.iter().filter(|entry| beyond(&entry.name));
    beyond.try_for_each(|entry| {
        quarantine::set_aside(disk, ledger, &format!("{MANIFESTS}/{}", entry.name), &ending)
    })
}

fn set_aside_beside(
    disk: &dyn Disk,
    ledger: &Path,
    replayed: &ReplayedLog,
    is_given_up: impl Fn(SegmentNumber) -> bool,
) -> io::Result<()> {
    let ending = format!("lost-g{}", replayed.generation);
    let mut beside = beside_segments(disk, ledger, is_given_up)?.into_iter();
    beside.try_for_each(|name| quarantine::set_aside(disk, ledger, &format!("{TREE}/{name}"), &ending))
}

/// The files beside such segments, whether those are there or not: leaves, tree heads, cosignatures, and copies of what is left.
fn beside_segments(
    disk: &dyn Disk,
    ledger: &Path,
    is_wanted: impl Fn(SegmentNumber) -> bool,
) -> io::Result<Vec<String>> {
    let entries = match disk.list(&ledger.join(TREE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed?,
    };
    let is_beside = |name: &String| {
        let number = name.split('.').next().and_then(|digits| digits.parse().ok()).map(SegmentNumber);
        number.is_some_and(|number| {
            let signed = [heads_file_name(number), cosigned_file_name(number), released_file_name(number)];
            is_wanted(number) && (signed.contains(name) || *name == leaves_file_name(number))
        })
    };
    Ok(entries.into_iter().map(|entry| entry.name).filter(is_beside).collect())
}
