//! The tail of one transcript: lines that were added since the last look.
//!
//! A transcript belongs to another program, which may replace, cut or rewrite it at any time. Each look compares the file's
//! identity, its length and the bytes before the position. If one differs, the tail begins again.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::TranscriptFault;
use crate::limits::{ANCHOR_BYTES, MAX_LINE_BYTES};

/// A transcript's tail.
#[derive(Debug, Default)]
pub(crate) struct TranscriptTail {
    file: Option<(u64, u64)>,
    /// The beginning of the next line.
    offset: u64,
    anchor: Option<blake3::Hash>,
    /// `true` within a line that is too long.
    is_skipping: bool,
    /// Length and time of change at the last look.
    seen: Option<(u64, i64, i64)>,
}

/// The lines that a look at a tail found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TailNews {
    /// `true` if the file is not the one that was read: its lines come from the beginning.
    pub(crate) restarted: bool,
    /// The bytes that were read.
    pub(crate) bytes: u64,
    /// The lines, each with its beginning. `None`: it is too long.
    pub(crate) lines: Vec<(u64, Option<Vec<u8>>)>,
}

impl TranscriptTail {
    /// Returns the tail behind a position of an earlier process.
    pub(crate) fn behind(file: (u64, u64), offset: u64, anchor: blake3::Hash) -> Self {
        Self { file: Some(file), offset, anchor: Some(anchor), ..Self::default() }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn file(&self) -> Option<(u64, u64)> {
        self.file
    }

    /// Returns the length at the last look; the position, while there is more to read.
    pub(crate) fn length(&self) -> u64 {
        self.seen.map_or(self.offset, |(length, ..)| length)
    }

    /// Returns `true` if there is more to read than the last look took.
    pub(crate) fn has_more(&self) -> bool {
        self.file.is_some() && self.seen.is_none()
    }

    /// Reads the lines that are whole, at most so many bytes.
    ///
    /// # Errors
    /// The file cannot be read, or is none.
    pub(crate) fn look(&mut self, path: &Path, most: u64) -> Result<TailNews, TranscriptFault> {
        let mut file = open(path)?;
        let metadata = file.metadata().map_err(unreadable)?;
        let (seen, identity) = (seen_of(&metadata), identity(&metadata));
        let mut found = TailNews::default();
        // A rest without a line feed is looked at again only when the file has changed.
        if self.seen == Some(seen) && self.file == Some(identity) {
            return Ok(found);
        }
        let mut recent = match self.continued(&file, &metadata).map_err(unreadable)? {
            Some(recent) => recent,
            None => {
                found.restarted = self.file.is_some();
                *self = Self { file: Some(identity), ..Self::default() };
                Vec::new()
            }
        };
        file.seek(SeekFrom::Start(self.offset)).map_err(unreadable)?;
        let mut text = Vec::new();
        let read = (&mut file).take(most).read_to_end(&mut text).map_err(unreadable)?;
        found.bytes = u64::try_from(read).unwrap_or(u64::MAX);
        let before = self.offset;
        let is_changed = file.metadata().map(|now| seen_of(&now) != seen).map_err(unreadable)?;
        if is_changed && !still_holds(&file, &text, before) {
            // Cut or rewritten while it was read: what was read may be of both.
            *self = Self { file: Some(identity), ..Self::default() };
            return Ok(TailNews { restarted: true, bytes: found.bytes, lines: Vec::new() });
        }
        self.split(&text, &mut found.lines);
        self.seen = (before.saturating_add(found.bytes) >= seen.0).then_some(seen);
        if self.offset > before {
            // Of the bytes that were read, since the file may have others by now.
            let taken = usize::try_from(self.offset.saturating_sub(before)).unwrap_or(usize::MAX);
            recent.extend_from_slice(text.get(..taken).unwrap_or(&text));
            self.anchor = Some(blake3::hash(end_of(&recent)));
        }
        Ok(found)
    }

    /// Returns `true` if a file is the one that was read, as far as it was read.
    pub(crate) fn continues(&self, file: &File) -> io::Result<bool> {
        Ok(self.continued(file, &file.metadata()?)?.is_some())
    }

    /// Returns the last bytes before the position of a file that is the one that was read; `None` for any other.
    fn continued(&self, file: &File, metadata: &Metadata) -> io::Result<Option<Vec<u8>>> {
        if self.file != Some(identity(metadata)) || metadata.len() < self.offset {
            return Ok(None);
        }
        let recent = bytes_before(file, self.offset)?;
        let is_same = match self.anchor {
            Some(anchor) => blake3::hash(&recent) == anchor,
            None => self.offset == 0,
        };
        Ok(is_same.then_some(recent))
    }

    /// Takes the whole lines of a text that begins at the offset, and moves on behind them.
    fn split(&mut self, text: &[u8], lines: &mut Vec<(u64, Option<Vec<u8>>)>) {
        let mut rest = text;
        while let Some(feed) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, behind) = rest.split_at(feed.saturating_add(1));
            if !std::mem::take(&mut self.is_skipping) {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                lines.push((self.offset, Some(line.to_vec())));
            }
            self.offset = self.offset.saturating_add(length(line));
            rest = behind;
        }
        if length(rest) > MAX_LINE_BYTES || (self.is_skipping && !rest.is_empty()) {
            if !self.is_skipping {
                lines.push((self.offset, None));
            }
            self.is_skipping = true;
            self.offset = self.offset.saturating_add(length(rest));
        }
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Opens a transcript. Links are not followed, and a pipe does not block.
pub(crate) fn open(path: &Path) -> Result<File, TranscriptFault> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(TranscriptFault::Link);
        }
        Err(error) => return Err(unreadable(error)),
    };
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(TranscriptFault::NoFile);
    }
    Ok(file)
}

pub(crate) fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Returns the digest of the last bytes before an offset.
pub(crate) fn anchor_at(file: &File, offset: u64) -> io::Result<blake3::Hash> {
    Ok(blake3::hash(&bytes_before(file, offset)?))
}

fn bytes_before(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let start = offset.saturating_sub(ANCHOR_BYTES);
    let size = usize::try_from(offset.saturating_sub(start)).unwrap_or_default();
    let mut before = vec![0; size];
    file.read_exact_at(&mut before, start)?;
    Ok(before)
}

/// Returns the end of the bytes before a position, by which it is known again.
fn end_of(bytes: &[u8]) -> &[u8] {
    let most = usize::try_from(ANCHOR_BYTES).unwrap_or(usize::MAX);
    bytes.get(bytes.len().saturating_sub(most)..).unwrap_or(bytes)
}

/// Returns `true` if a file has these bytes at an offset.
fn still_holds(file: &File, bytes: &[u8], offset: u64) -> bool {
    let mut now = vec![0; bytes.len()];
    file.read_exact_at(&mut now, offset).is_ok() && now == bytes
}

/// Returns the length and the time of change, which no program sets as it likes.
fn seen_of(metadata: &Metadata) -> (u64, i64, i64) {
    (metadata.len(), metadata.ctime(), metadata.ctime_nsec())
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn unreadable(error: io::Error) -> TranscriptFault {
    TranscriptFault::Unreadable(error.to_string())
}
