//! The newest tree head of each segment that witnesses cosigned, one note beside it. Layout:
//! `docs/formats/cosignature.md`.

use std::io;
use std::path::Path;

use bitacora_formats::limits::MAX_NOTE_BYTES;
use bitacora_formats::{
    Generation, LedgerId, Position, SegmentNumber, SignedTreeHead, SigningChain, UnverifiedTreeHead,
};

use crate::host::disk::{Disk, OpenMode, is_no_file};
use crate::host::index_folder::make_folder;
use crate::host::replacement::replace;
use crate::segments::quarantine;
use crate::tree::leaves::TREE;

/// The suffix of such a note's file name.
const SUFFIX: &str = ".cosigned";
/// The suffix of the file name while it is written.
const UNFINISHED: &str = ".new";

/// The name of the note beside a segment.
pub(crate) fn cosigned_file_name(number: SegmentNumber) -> String {
    format!("{:010}{SUFFIX}", number.0)
}

/// Keeps a cosigned head beside the segment that its last event lies in, in the place of the one there.
///
/// Returned `Ok` ⇒ durable; a crash before leaves the old note or the new one.
///
/// Syscalls: those of [`replace`], with `pwrite64`.
pub(crate) fn keep(disk: &dyn Disk, ledger: &Path, number: SegmentNumber, note: &str) -> io::Result<()> {
    let folder = ledger.join(TREE);
    make_folder(disk, &folder)?;
    let write = |file: &dyn crate::host::disk::DiskFile| file.write_all_at(note.as_bytes(), 0);
    replace(disk, &folder, &cosigned_file_name(number), UNFINISHED, write)
}

/// A cosigned head as it lies beside a segment.
pub(crate) struct CosignedFile {
    pub(crate) segment: SegmentNumber,
    /// Signed by the ledger. Its cosignatures are not verified.
    pub(crate) head: SignedTreeHead,
}

impl CosignedFile {
    /// Its file, from the ledger's folder.
    pub(crate) fn file(&self) -> String {
        format!("{TREE}/{}", cosigned_file_name(self.segment))
    }
}

/// The rank of a cosigned head beside another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CosignedExtent {
    pub(crate) segment: SegmentNumber,
    pub(crate) size: u64,
    /// The number of witnesses that cosigned it.
    pub(crate) cosigned: usize,
    /// `true` if they make a quorum.
    pub(crate) is_met: bool,
}

impl CosignedExtent {
    /// Returns `true` if it takes the place of `there`. A head that meets the quorum gives way only to another that does.
    pub(crate) fn displaces(&self, there: Option<&Self>) -> bool {
        let Some(there) = there else { return self.cosigned > 0 };
        if self == there || self.cosigned == 0 || self.size < there.size {
            return false;
        }
        there.segment != self.segment || self.is_met || (!there.is_met && self.cosigned >= there.cosigned)
    }
}

/// The heads that witnesses cosigned and the ledger has signed in this generation, the newest first. A note that is damaged or missing is no
/// evidence against the log: only one whose signature holds is.
pub(crate) fn kept(
    disk: &dyn Disk,
    ledger_folder: &Path,
    (ledger, generation): (LedgerId, Generation),
    signers: &SigningChain,
) -> Vec<CosignedFile> {
    let Ok(names) = names(disk, ledger_folder) else { return Vec::new() };
    let read = |(segment, name): (SegmentNumber, String)| {
        let note = read(disk, &ledger_folder.join(TREE).join(&name));
        let note = note
            .inspect_err(
                |error| tracing::warn!(file = name, %error, "a cosigned tree head could not be read"),
            )
            .ok()?;
        let head = UnverifiedTreeHead::parse(&note).and_then(|head| head.verify_with_chain(signers));
        let head = head
            .inspect_err(|error| tracing::warn!(file = name, %error, "a cosigned tree head is not believed"))
            .ok()?;
        let origin = &head.head().origin;
        (origin.ledger == ledger && origin.generation == generation).then_some(CosignedFile { segment, head })
    };
    names.into_iter().rev().filter_map(read).collect()
}

/// Moves into quarantine each note over more events than are left: it is not the ledger's any more.
pub(crate) fn set_aside_beyond(
    disk: &dyn Disk,
    ledger_folder: &Path,
    retained: Position,
    generation: Generation,
) -> io::Result<()> {
    for (_, name) in names(disk, ledger_folder)? {
        let note = match read(disk, &ledger_folder.join(TREE).join(&name)) {
            Err(error) if is_no_file(&error) => continue,
            read => read?,
        };
        let size = UnverifiedTreeHead::parse(&note).map(|head| head.size());
        if size.is_ok_and(|size| size > retained.get()) {
            let (file, ending) = (format!("{TREE}/{name}"), format!("lost-g{generation}"));
            quarantine::set_aside(disk, ledger_folder, &file, &ending)?;
        }
    }
    Ok(())
}

/// The notes there are, in the order of their segments.
fn names(disk: &dyn Disk, ledger_folder: &Path) -> io::Result<Vec<(SegmentNumber, String)>> {
    let entries = match disk.list(&ledger_folder.join(TREE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed?,
    };
    let numbered = |name: String| {
        let number = name.strip_suffix(SUFFIX)?.parse().ok().map(SegmentNumber)?;
        (cosigned_file_name(number) == name).then_some((number, name))
    };
    let mut names: Vec<_> = entries.into_iter().filter_map(|entry| numbered(entry.name)).collect();
    names.sort_unstable_by_key(|(number, _)| number.0);
    Ok(names)
}

fn read(disk: &dyn Disk, path: &Path) -> io::Result<String> {
    let file = disk.open(path, OpenMode::Read)?;
    let length = file.len()?;
    if length > MAX_NOTE_BYTES as u64 {
        return Err(io::Error::other(format!("{length} bytes; at most {MAX_NOTE_BYTES} are read")));
    }
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, 0)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}
