//! The files of signed tree heads, one beside each segment that holds the event of one.
//! Layout: `docs/formats/heads.md`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::limits::MAX_HEADS_BYTES;
use bitacora_formats::{
    Generation, HEADS_HEADER_BYTES, HeadEntry, HeadStep, HeadsError, HeadsHeader, HeadsWalk, LedgerId,
    Position, Secret, SegmentNumber, SignedTreeHead, SigningChain, TreeHead, UnverifiedTreeHead,
};

use crate::host::disk::{Disk, DiskFile, OpenMode, is_no_file};
use crate::host::index_folder::make_folder;
use crate::host::replacement::open_anew;
use crate::segments::quarantine;
use crate::tree::leaves::TREE;

/// The suffix of the name of a file of heads.
const SUFFIX: &str = ".heads";
/// Bytes of a file of heads at which its segment is ended: half a day of a head a second. The heads that are added while it ends stay far
/// below the limit.
const FULL_HEADS_BYTES: u64 = MAX_HEADS_BYTES as u64 / 2;

/// The name of the file of a segment's heads.
pub(crate) fn heads_file_name(number: SegmentNumber) -> String {
    format!("{:010}{SUFFIX}", number.0)
}

/// The file that heads are added to; the head signer owns it.
pub(crate) struct LiveHeads {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    ledger: LedgerId,
    current: Option<LiveHeadsFile>,
}

struct LiveHeadsFile {
    number: SegmentNumber,
    /// `None` after a failure: what it holds is written again before anything is added.
    file: Option<Arc<dyn DiskFile>>,
    /// The offset behind its last whole entry.
    end: u64,
}

impl LiveHeads {
    pub(crate) fn new(disk: Arc<dyn Disk>, ledger_folder: &Path, ledger: LedgerId) -> Self {
        Self { disk, folder: ledger_folder.join(TREE), ledger, current: None }
    }

    /// Adds a head to the file of its segment.
    ///
    /// Returned `Ok` ⇒ durable. A crash before may leave a part of the entry, which is no entry.
    ///
    /// Syscalls: `pwrite64`, `fsync`; for the first of a segment also `openat` and `fsync` of the folder.
    pub(crate) fn add(&mut self, number: SegmentNumber, entry: &HeadEntry) -> io::Result<()> {
        let mut bytes = Vec::new();
        entry.encode(&mut bytes).map_err(io::Error::other)?;
        let (file, end) = self.file_of(number)?;
        let added = file.write_all_at(&bytes, end).and_then(|()| file.sync_all());
        if let Some(current) = &mut self.current {
            match &added {
                Ok(()) => current.end += bytes.len() as u64,
                // A second sync of the same file would prove nothing.
                Err(_) => current.file = None,
            }
        }
        added
    }

    /// Returns `true` if the segment should end, so that the next heads begin another file.
    pub(crate) fn is_full(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.end >= FULL_HEADS_BYTES)
    }

    fn file_of(&mut self, number: SegmentNumber) -> io::Result<(Arc<dyn DiskFile>, u64)> {
        let (file, end) = match &self.current {
            Some(LiveHeadsFile { number: same, file: Some(file), end }) if *same == number => {
                return Ok((Arc::clone(file), *end));
            }
            Some(LiveHeadsFile { number: same, file: None, end }) if *same == number => {
                (self.reopen(number, *end)?, *end)
            }
            _ => (self.begin(number)?, HEADS_HEADER_BYTES as u64),
        };
        self.current = Some(LiveHeadsFile { number, file: Some(Arc::clone(&file)), end });
        Ok((file, end))
    }

    /// A new file. One that stands there is of a segment of that number which was cut off as torn before it held an event.
    fn begin(&self, number: SegmentNumber) -> io::Result<Arc<dyn DiskFile>> {
        make_folder(&*self.disk, &self.folder)?;
        let path = self.folder.join(heads_file_name(number));
        let file = open_anew(&*self.disk, &path)?;
        file.write_all_at(&HeadsHeader { ledger: self.ledger, segment: number }.encode(), 0)?;
        file.sync_all()?;
        self.disk.sync_folder(&self.folder)?;
        Ok(file)
    }

    /// Writes again what the file is to hold up to `end`: after a failed sync the page cache may show what the disk lacks.
    fn reopen(&self, number: SegmentNumber, end: u64) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.disk.open(&self.folder.join(heads_file_name(number)), OpenMode::Write)?;
        let mut bytes = vec![0; usize::try_from(end.min(MAX_HEADS_BYTES as u64)).unwrap_or(0)];
        file.read_exact_at(&mut bytes, 0)?;
        file.write_all_at(&bytes, 0)?;
        file.sync_all()?;
        Ok(file)
    }
}

/// The last head in the folder that the ledger has signed in this generation, and the file it lies in. A file of heads is no evidence against
/// the log where it is damaged or missing: only a head whose signature holds is.
pub(crate) fn last_head(
    disk: &dyn Disk,
    ledger_folder: &Path,
    ledger: LedgerId,
    generation: Option<Generation>,
    signers: &SigningChain,
) -> Option<(SignedTreeHead, String)> {
    let folder = ledger_folder.join(TREE);
    let mut names: Vec<String> = disk.list(&folder).ok()?.into_iter().map(|entry| entry.name).collect();
    names.retain(|name| name.ends_with(SUFFIX));
    names.sort_unstable();
    names.iter().rev().find_map(|name| {
        let bytes = read(disk, &folder.join(name));
        let bytes = bytes
            .inspect_err(|error| tracing::warn!(file = name, %error, "tree heads could not be read"))
            .ok()?;
        let header = HeadsHeader::parse(&bytes).ok().filter(|header| header.ledger == ledger)?;
        let of_ledger = |TreeHead { origin, .. }: &TreeHead| {
            origin.ledger == ledger && generation.is_none_or(|wanted| origin.generation == wanted)
        };
        let head = last_signed(&bytes, signers, of_ledger)?;
        Some((head, format!("{TREE}/{}", heads_file_name(header.segment))))
    })
}

/// Sets aside, durably, what a crash left of an entry at the end of these files: those of the segments from this number on, and the
/// newest one. A whole head is never cut, and what is damaged elsewhere stays for a verifier to find.
///
/// No ledger is refused for it: a file that cannot be read or cut stays as it is, which is logged.
///
/// Syscalls: those of [`quarantine::keep`], then `openat`, `ftruncate` or `unlink`, and `fsync` of the file and the folder.
pub(crate) fn settle(disk: &dyn Disk, ledger_folder: &Path, key: &Secret, from: SegmentNumber) {
    // A folder that is not there holds none; the search for the last head reports one that cannot be listed.
    let Ok(entries) = disk.list(&ledger_folder.join(TREE)) else { return };
    let names: Vec<_> =
        entries.into_iter().map(|entry| entry.name).filter(|name| name.ends_with(SUFFIX)).collect();
    let oldest = heads_file_name(from);
    let first = names.partition_point(|name| *name < oldest).min(names.len().saturating_sub(1));
    for name in names.iter().skip(first) {
        if let Err(error) = settle_one(disk, ledger_folder, key, name) {
            tracing::warn!(%error, file = name, "a torn tree head could not be set aside");
        }
    }
}

/// Sets aside what a crash left of an entry at the end of one segment's file of heads, if there is one.
///
/// Returned `Ok` ⇒ durable.
pub(crate) fn settle_one(disk: &dyn Disk, ledger_folder: &Path, key: &Secret, name: &str) -> io::Result<()> {
    let folder = ledger_folder.join(TREE);
    let path = folder.join(name);
    let bytes = match read(disk, &path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    let Some(end) = torn_from(&bytes) else { return Ok(()) };
    let torn = bytes.get(end..).unwrap_or_default();
    tracing::warn!(
        file = name,
        offset = end,
        bytes = torn.len(),
        "a tree head that was not written whole is set aside"
    );
    quarantine::keep(disk, ledger_folder, key, (name, end as u64), torn)?;
    if end == 0 {
        disk.remove_file(&path)?;
    } else {
        let file = disk.open(&path, OpenMode::Write)?;
        file.set_len(end as u64)?;
        file.sync_all()?;
    }
    disk.sync_folder(&folder)
}

/// Returns the offset in a file of heads at which a write was cut short; `None` if none was.
fn torn_from(bytes: &[u8]) -> Option<usize> {
    match HeadsHeader::parse(bytes) {
        Err(HeadsError::Unwritten { .. }) => return Some(0),
        Err(_) => return None,
        Ok(_) => {}
    }
    let mut walk = HeadsWalk::new(bytes);
    loop {
        match walk.step() {
            HeadStep::Entry(_) => {}
            HeadStep::Torn(_) => return Some(walk.offset()),
            HeadStep::End | HeadStep::Corrupt(_) => return None,
        }
    }
}

/// Moves into quarantine each file with a head over more events than are left: they are not the ledger's any more.
pub(crate) fn set_aside_beyond(
    disk: &dyn Disk,
    ledger_folder: &Path,
    retained: Position,
    generation: Generation,
) -> io::Result<()> {
    let folder = ledger_folder.join(TREE);
    let entries = match disk.list(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        listed => listed?,
    };
    for name in entries.into_iter().map(|entry| entry.name).filter(|name| name.ends_with(SUFFIX)) {
        let bytes = match read(disk, &folder.join(&name)) {
            Err(error) if is_no_file(&error) => continue,
            read => read?,
        };
        let sizes =
            notes(&bytes).into_iter().filter_map(|note| Some(UnverifiedTreeHead::parse(&note).ok()?.size()));
        if sizes.max().is_some_and(|size| size > retained.get()) {
            quarantine::set_aside(
                disk,
                ledger_folder,
                &format!("{TREE}/{name}"),
                &format!("lost-g{generation}"),
            )?;
        }
    }
    Ok(())
}

fn last_signed(
    bytes: &[u8],
    signers: &SigningChain,
    is_wanted: impl Fn(&TreeHead) -> bool,
) -> Option<SignedTreeHead> {
    notes(bytes).iter().rev().find_map(|note| {
        let head = UnverifiedTreeHead::parse(note).and_then(|head| head.verify_with_chain(signers));
        head.ok().filter(|head| is_wanted(head.head()))
    })
}

/// The notes of a file of heads, in their order.
fn notes(bytes: &[u8]) -> Vec<String> {
    let mut walk = HeadsWalk::new(bytes);
    let mut notes = Vec::new();
    while let HeadStep::Entry(entry) = walk.step() {
        notes.push(entry.note);
    }
    notes
}

fn read(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let file = disk.open(path, OpenMode::Read)?;
    let length = file.len()?;
    if length > MAX_HEADS_BYTES as u64 {
        return Err(io::Error::other(format!("{length} bytes; at most {MAX_HEADS_BYTES} are read")));
    }
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}
