//! The check of one archive's file: without keys every byte, with keys every event.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bitacora_archive_format::Rows;
use bitacora_archive_format::{
    ArchiveError, ArchiveKey, ArchiveLayout, ContentCheck, PartEntry, PartKind, check_roots, open_group,
    open_part,
};
use bitacora_formats::{Decompressor, Keyring, LedgerKeys, SigningChain, TreeHash};

use super::archive_store::{ArchiveFile, read_layout};
use super::folder::open_regular;
use super::options::Progress;
use super::work_queue::usual_threads;

/// The size of one read of a part: small enough to stay in the processor's cache while it is hashed.
const PIECE_BYTES: usize = 256 * 1024;
/// The most threads that check parts of one archive.
const MAX_THREADS: usize = 8;

/// The reason why an archive was not checked to its end.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveProblem {
    /// The archive is invalid, from an offset on.
    #[error("at byte {offset}: {error}")]
    Wrong {
        /// The offset of the damaged part, in bytes.
        offset: u64,
        /// The fault.
        error: ArchiveError,
    },
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
}

/// An archive all of whose bytes match the ledger's signature.
#[derive(Debug)]
pub struct CheckedArchive {
    file: File,
    outline: ArchiveLayout,
    roots: Vec<TreeHash>,
    bytes: u64,
}

impl CheckedArchive {
    /// Checks the archive in a file, with the ledger's signing keys or, where they are not known, with those in it.
    ///
    /// # Errors
    /// An [`ArchiveProblem`] for the first thing that is wrong, or that cannot be read.
    pub fn check(
        path: &Path,
        chain: Option<&SigningChain>,
        progress: Option<&dyn Progress>,
    ) -> Result<Self, ArchiveProblem> {
        let file = open_regular(path)?;
        let bytes = file.metadata()?.len();
        let archive = ArchiveFile { file, bytes };
        let outline = read_layout(&archive, chain)?;
        let roots = check_parts(&archive.file, &outline, progress)?;
        Ok(Self { file: archive.file, outline, roots, bytes })
    }

    /// Returns header, manifest and table.
    #[must_use]
    pub fn outline(&self) -> &ArchiveLayout {
        &self.outline
    }

    /// Returns the roots of its groups of 256 leaves.
    #[must_use]
    pub fn roots(&self) -> &[TreeHash] {
        &self.roots
    }

    /// Returns the size of the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Opens everything in it. The events have to match the tree, and manifest and index have to match the events.
    /// Gives each group of events with its first position to `take`.
    ///
    /// # Errors
    /// An [`ArchiveProblem`]; a keyring that does not open it is [`ArchiveError::KeyMissing`] or
    /// [`ArchiveError::WrongKey`]. Errors of `take` are returned unchanged.
    pub fn open<E: From<ArchiveProblem>>(
        &self,
        keyring: &Keyring,
        mut take: impl FnMut(u64, &Rows) -> Result<(), E>,
    ) -> Result<(), E> {
        let manifest = self.outline.manifest().manifest();
        let at = |offset| move |error| ArchiveProblem::Wrong { offset, error };
        let manifest_offset = self.outline.table().end();
        let memory = |source| at(manifest_offset)(ArchiveError::Zstd(source));
        let mut decompressor = Decompressor::new().map_err(memory)?;
        let key = ArchiveKey::unwrap(manifest, keyring).map_err(at(manifest_offset))?;
        let keys = LedgerKeys::new(keyring, manifest.origin.ledger);
        let mut check = ContentCheck::new(&self.outline, self.roots.clone(), &key, &keys);
        for entry in self.outline.table().groups() {
            let stored = read_part(&self.file, entry).map_err(ArchiveProblem::from)?;
            let rows = open_group(&key, entry, &stored, &mut decompressor).map_err(at(entry.offset))?;
            check.take(&rows).map_err(at(entry.offset))?;
            take(entry.position, &rows)?;
        }
        let mut unread = None;
        let finished = check.finish(|entry| match read_part(&self.file, entry) {
            Ok(stored) => open_part(&key, entry, &stored, &mut decompressor).map(|plain| plain.to_vec()),
            Err(error) => {
                unread = Some(error);
                Err(ArchiveError::Digest { what: format!("part {}", entry.number) })
            }
        });
        if let Some(error) = unread {
            return Err(ArchiveProblem::from(error).into());
        }
        finished.map_err(|error| at(manifest_offset)(error).into())
    }
}

/// Checks every part, several side by side; returns the roots of groups of leaves.
fn check_parts(
    file: &File,
    outline: &ArchiveLayout,
    progress: Option<&dyn Progress>,
) -> Result<Vec<TreeHash>, ArchiveProblem> {
    // The roots are folded by one while the others hash what is larger: so they come first.
    let groups = outline.table().groups().len();
    let all = outline.table().entries();
    let order: Vec<usize> = (groups..all.len()).chain(0..groups).collect();
    let next = AtomicUsize::new(0);
    let check = || {
        let mut reader = PartReader { file, piece: vec![0; PIECE_BYTES], progress };
        let mut roots = None;
        while let Some(number) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(entry) = all.get(*number) else { break };
            roots = reader.check(entry, outline).map_err(|problem| (*number, problem))?.or(roots);
        }
        Ok::<_, (usize, ArchiveProblem)>(roots)
    };
    let threads = usual_threads().min(MAX_THREADS).min(all.len().max(1));
    let found: Vec<_> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(check)).collect();
        let own = check();
        let joined =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(own).chain(joined).collect()
    });
    let mut roots = Vec::new();
    let mut first: Option<(usize, ArchiveProblem)> = None;
    for found in found {
        match found {
            Ok(found) => roots = found.unwrap_or(roots),
            Err((number, problem)) if first.as_ref().is_none_or(|(first, _)| number < *first) => {
                first = Some((number, problem));
            }
            Err(_) => {}
        }
    }
    first.map_or(Ok(roots), |(_, problem)| Err(problem))
}

/// Reads a part; its size was checked with the table.
fn read_part(file: &File, entry: &PartEntry) -> io::Result<Vec<u8>> {
    let mut stored = vec![0; entry.stored_bytes as usize];
    file.read_exact_at(&mut stored, entry.offset)?;
    Ok(stored)
}

/// A reader of parts, each piece into the same memory.
struct PartReader<'a> {
    file: &'a File,
    piece: Vec<u8>,
    progress: Option<&'a dyn Progress>,
}

impl PartReader<'_> {
    /// Checks a part; returns the roots of groups of leaves, if it holds leaves.
    fn check(
        &mut self,
        entry: &PartEntry,
        outline: &ArchiveLayout,
    ) -> Result<Option<Vec<TreeHash>>, ArchiveProblem> {
        let wrong = |error| ArchiveProblem::Wrong { offset: entry.offset, error };
        let mut check = entry.checked();
        if entry.kind == PartKind::Roots {
            let stored = read_part(self.file, entry)?;
            check.take(&stored);
            check.finish().map_err(wrong)?;
            return check_roots(outline.manifest().manifest(), &stored).map(Some).map_err(wrong);
        }
        self.pieces(entry, |piece| check.take(piece))?;
        check.finish().map_err(wrong)?;
        Ok(None)
    }

    fn pieces(&mut self, entry: &PartEntry, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let mut range = entry.range();
        while !range.is_empty() {
            let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX).min(PIECE_BYTES);
            let piece = self.piece.get_mut(..length).unwrap_or_default();
            self.file.read_exact_at(piece, range.start)?;
            take(piece);
            range.start += length as u64;
            if let Some(progress) = self.progress {
                progress.advance(length as u64);
            }
        }
        Ok(())
    }
}
