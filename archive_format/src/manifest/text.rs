//! The text of a manifest: a keyword and its values a line, in a fixed order.

use std::fmt::Write;

use super::{
    ChainLink, ExpiryLine, MANIFEST_FIRST_LINE, Manifest, SegmentLink, StateLine, TableDigest, TreeHeadProof,
    WrappedKey,
};
use crate::error::ManifestError;
use crate::range::{ArchiveRange, Revision};
use bitacora_formats::Frontier;
use bitacora_formats::MAX_INCLUSION_HASHES;
use bitacora_formats::limits::{MAX_MANIFEST_LINES, MAX_NOTE_BYTES};
use bitacora_formats::plain_number;
use bitacora_formats::{ChainHash, Epoch, Generation, KekId, Micros, Position, SegmentNumber, TreeHash};
use bitacora_formats::{SIGNING_KEYS_FIRST_LINE, SigningChain, parse_signing_chain};

/// The beginning of the first line in any version.
const FIRST_WORD: &str = "bitacora-archive ";

pub(super) const KIND: &str = "type";
pub(super) const SEGMENT: &str = "segment";
const EXPIRED: &str = "expired";
const PEAK: &str = "peak";
const SUBTREE: &str = "subtree";
const TREE_HEAD: &str = "tree-head";
const CONSISTENCY: &str = "consistency";
const SIGNING_KEY: &str = "signing-key";

pub(super) fn write(manifest: &Manifest) -> String {
    let mut text = format!("{MANIFEST_FIRST_LINE}\n");
    // Writing to a String cannot fail.
    let _ = write_lines(manifest, &mut text);
    text
}

fn write_lines(manifest: &Manifest, text: &mut String) -> std::fmt::Result {
    let Manifest { range, times, key, table, .. } = manifest;
    writeln!(text, "origin {}", manifest.origin)?;
    writeln!(text, "positions {} {}", range.first(), range.last())?;
    writeln!(text, "times {} {}", times.0.0, times.1.0)?;
    writeln!(text, "made {}", manifest.made.0)?;
    writeln!(text, "reactor {}", manifest.reactor)?;
    writeln!(text, "content {}", manifest.content_bytes)?;
    if let Some(expiry) = &manifest.expiry {
        writeln!(text, "{EXPIRED} {} {}", expiry.revision.get(), expiry.events)?;
    }
    for (kind, count) in &manifest.kinds {
        writeln!(text, "{KIND} {count} {kind}")?;
    }
    for (keyword, link) in [("chain-before", manifest.chain_before), ("chain-after", manifest.chain_after)] {
        writeln!(text, "{keyword} {} {}", link.position, link.hash)?;
    }
    for segment in &manifest.segments {
        let SegmentLink { number, first, epoch, generation, hash } = segment;
        writeln!(text, "{SEGMENT} {number} {first} {epoch} {generation} {hash}")?;
    }
    writeln!(text, "tree-before {}", manifest.tree_before.size())?;
    for peak in manifest.tree_before.peaks() {
        writeln!(text, "{PEAK} {peak}")?;
    }
    for subtree in &manifest.subtrees {
        writeln!(text, "{SUBTREE} {subtree}")?;
    }
    writeln!(text, "tree-after {} {}", range.last(), manifest.root_after)?;
    if let Some(TreeHeadProof { note, consistency }) = &manifest.tree_head {
        for line in note.lines() {
            writeln!(text, "{TREE_HEAD} {line}")?;
        }
        for hash in consistency {
            writeln!(text, "{CONSISTENCY} {hash}")?;
        }
    }
    if let Some(state) = &manifest.state {
        writeln!(text, "state {} {}", state.position, state.bytes)?;
    }
    writeln!(text, "encryption-key {}", key.kek)?;
    writeln!(text, "wrap-salt {}", hex::encode(key.salt))?;
    writeln!(text, "wrapped-key {}", hex::encode(key.sealed))?;
    writeln!(text, "key-commitment {}", hex::encode(key.commitment))?;
    manifest.signing_keys.write_lines(text);
    writeln!(text, "parts {} {} {}", table.parts, table.bytes, hex::encode(table.digest))
}

pub(super) fn parse(text: &str) -> Result<Manifest, ManifestError> {
    let mut lines = NoteLines { rest: text, number: 0 };
    match lines.next() {
        Some(MANIFEST_FIRST_LINE) => {}
        Some(other) if other.starts_with(FIRST_WORD) => return Err(ManifestError::Version),
        _ => return Err(ManifestError::FirstLine),
    }
    let origin =
        lines.one("origin", "origin <ledger name>/<ledger id>/g<generation>", |words| words.parse().ok())?;
    let (first, last) = lines.one("positions", "positions <first> <last>", two)?;
    let range = ArchiveRange::new(first, last)
        .map_err(|_| ManifestError::Line { line: lines.number, form: "positions of whole groups of 256" })?;
    let (from, to) = lines.one("times", "times <first> <last>", two)?;
    let made = Micros(lines.one("made", "made <microseconds>", plain_number)?);
    let reactor = lines.one("reactor", "reactor <version>", plain_number)?;
    let content_bytes = lines.one("content", "content <bytes>", plain_number)?;
    let expiry = lines.many(EXPIRED, "expired <revision> <events>", |words| {
        let (revision, events) = words.split_once(' ')?;
        Some(ExpiryLine {
            revision: Revision::from(plain_number::<u32>(revision)?),
            events: plain_number(events)?,
        })
    })?;
    let ([] | [_]) = expiry.as_slice() else {
        return Err(ManifestError::Line { line: lines.number, form: "at most one line of expired events" });
    };
    let kinds = lines.many(KIND, "type <count> <type>", |words| {
        let (count, kind) = words.split_once(' ')?;
        Some((kind.to_owned(), plain_number(count)?))
    })?;
    let chain_before = lines.one("chain-before", "chain-before <position> <hash>", link)?;
    let chain_after = lines.one("chain-after", "chain-after <position> <hash>", link)?;
    let segments = lines.many(SEGMENT, "segment <number> <first> <epoch> <generation> <hash>", segment)?;
    let tree_before = tree_before(&mut lines)?;
    let subtrees = lines.many(SUBTREE, "subtree <hash>", |words| words.parse().ok())?;
    let (size, root_after) = lines.one("tree-after", "tree-after <size> <root>", |words| {
        let (size, root) = words.split_once(' ')?;
        Some((plain_number::<u64>(size)?, root.parse::<TreeHash>().ok()?))
    })?;
    if size != last {
        return Err(ManifestError::Contradiction { problem: "the tree after it has another size" });
    }
    let tree_head = tree_head(&mut lines)?;
    let state = lines.many("state", "state <position> <bytes>", |words| {
        let (position, bytes) = words.split_once(' ')?;
        Some(StateLine { position: position.parse().ok()?, bytes: plain_number(bytes)? })
    })?;
    let ([] | [_]) = state.as_slice() else {
        return Err(ManifestError::Line { line: lines.number, form: "at most one state" });
    };
    Ok(Manifest {
        origin,
        range,
        times: (Micros(from), Micros(to)),
        made,
        reactor,
        content_bytes,
        expiry: expiry.first().copied(),
        kinds,
        chain_before,
        chain_after,
        segments,
        tree_before,
        subtrees,
        root_after,
        tree_head,
        state: state.first().copied(),
        key: wrapped_key(&mut lines)?,
        signing_keys: signing_keys(&mut lines)?,
        table: table(&mut lines)?,
    })
}

fn two(words: &str) -> Option<(u64, u64)> {
    let (one, other) = words.split_once(' ')?;
    Some((plain_number(one)?, plain_number(other)?))
}

fn link(words: &str) -> Option<ChainLink> {
    let (position, hash) = words.split_once(' ')?;
    Some(ChainLink { position: position.parse().ok()?, hash: hash.parse().ok()? })
}

fn segment(words: &str) -> Option<SegmentLink> {
    let mut words = words.split(' ');
    let segment = SegmentLink {
        number: SegmentNumber(plain_number(words.next()?)?),
        first: words.next()?.parse::<Position>().ok()?,
        epoch: Epoch(plain_number(words.next()?)?),
        generation: Generation(plain_number(words.next()?)?),
        hash: words.next()?.parse::<ChainHash>().ok()?,
    };
    words.next().is_none().then_some(segment)
}

fn tree_before(lines: &mut NoteLines<'_>) -> Result<Frontier, ManifestError> {
    let size = lines.one("tree-before", "tree-before <size>", plain_number)?;
    let peaks = lines.many(PEAK, "peak <hash>", |words| words.parse().ok())?;
    Frontier::from_parts(size, &peaks)
        .ok_or(ManifestError::Contradiction { problem: "the tree before it has another number of peaks" })
}

fn tree_head(lines: &mut NoteLines<'_>) -> Result<Option<TreeHeadProof>, ManifestError> {
    let head = lines.many(TREE_HEAD, "tree-head <line of its note>", |line| Some(format!("{line}\n")))?;
    let consistency: Vec<TreeHash> =
        lines.many(CONSISTENCY, "consistency <hash>", |words| words.parse().ok())?;
    let note = head.concat();
    let too_long = note.len() > MAX_NOTE_BYTES || consistency.len() > MAX_INCLUSION_HASHES + 1;
    if too_long || head.is_empty() && !consistency.is_empty() {
        return Err(ManifestError::Line { line: lines.number, form: "a tree head and its consistency" });
    }
    Ok((!head.is_empty()).then_some(TreeHeadProof { note, consistency }))
}

fn wrapped_key(lines: &mut NoteLines<'_>) -> Result<WrappedKey, ManifestError> {
    Ok(WrappedKey {
        kek: KekId(lines.one("encryption-key", "encryption-key <16 digits>", lower_hex)?),
        salt: lines.one("wrap-salt", "wrap-salt <32 digits>", lower_hex)?,
        sealed: lines.one("wrapped-key", "wrapped-key <96 digits>", lower_hex)?,
        commitment: lines.one("key-commitment", "key-commitment <64 digits>", lower_hex)?,
    })
}

fn signing_keys(lines: &mut NoteLines<'_>) -> Result<SigningChain, ManifestError> {
    let keys = lines.many(SIGNING_KEY, "signing-key <number> <keys>", |words| Some(words.to_owned()))?;
    let mut note = format!("{SIGNING_KEYS_FIRST_LINE}\n");
    for key in keys {
        let _ = writeln!(note, "{SIGNING_KEY} {key}");
    }
    Ok(parse_signing_chain(&note)?)
}

/// The last line: behind it stands nothing.
fn table(lines: &mut NoteLines<'_>) -> Result<TableDigest, ManifestError> {
    const FORM: &str = "parts <count> <bytes> <64 digits>, and nothing behind it";
    let table = lines.one("parts", FORM, |words| {
        let (parts, words) = words.split_once(' ')?;
        let (bytes, digest) = words.split_once(' ')?;
        Some(TableDigest {
            parts: plain_number(parts)?,
            bytes: plain_number(bytes)?,
            digest: lower_hex(digest)?,
        })
    })?;
    if lines.rest.is_empty() {
        Ok(table)
    } else {
        Err(ManifestError::Line { line: lines.number + 1, form: "nothing" })
    }
}

fn lower_hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let lower = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    (lower && hex::decode_to_slice(digits, &mut bytes).is_ok()).then_some(bytes)
}

/// A text taken line by line. A note's text ends in a newline.
struct NoteLines<'a> {
    rest: &'a str,
    /// The line that was taken last, from 1.
    number: usize,
}

impl<'a> NoteLines<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (line, rest) = self.rest.split_once('\n')?;
        self.rest = rest;
        self.number += 1;
        Some(line)
    }

    /// The line that is due, which begins with the keyword.
    fn one<T>(
        &mut self,
        keyword: &str,
        form: &'static str,
        read: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<T, ManifestError> {
        let line = self.next().and_then(|line| words_after(line, keyword)).and_then(read);
        line.ok_or(ManifestError::Line { line: self.number, form })
    }

    /// All lines from here on that begin with the keyword.
    fn many<T>(
        &mut self,
        keyword: &'static str,
        form: &'static str,
        read: impl Fn(&'a str) -> Option<T>,
    ) -> Result<Vec<T>, ManifestError> {
        let mut values = Vec::new();
        while let Some(words) = self.rest.split_once('\n').and_then(|(line, _)| words_after(line, keyword)) {
            self.next();
            if values.len() >= MAX_MANIFEST_LINES {
                return Err(ManifestError::TooMany { keyword });
            }
            values.push(read(words).ok_or(ManifestError::Line { line: self.number, form })?);
        }
        Ok(values)
    }
}

fn words_after<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    line.strip_prefix(keyword)?.strip_prefix(' ')
}
