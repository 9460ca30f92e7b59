//! The check of the keyring's blinding key against the commitments of the log's first frames.

use std::io;
use std::path::Path;

use bitacora_formats::{
    Decompressor, FRAME_HEADER_BYTES, FrameHeader, FrameOpener, Frontier, Keyring, LedgerKeys, SegmentHeader,
    StoredFrame, decode_body, decode_record, leaf_hash,
};

use crate::host::disk::{Disk, OpenMode};
use crate::open_error::OpenError;
use crate::segments::{segment_file_name, segments_folder};

/// Refuses a keyring whose blinding key is another one, where the segment of this header, which the keyring's other keys open, has a
/// whole frame. Its records are authentic under the data key, and the root that it states is of their commitments.
///
/// Syscalls: `openat`, `pread64` of the segment.
pub(crate) fn refuse_another(
    disk: &dyn Disk,
    ledger: &Path,
    keyring: &Keyring,
    header: &SegmentHeader,
) -> Result<(), OpenError> {
    let name = segment_file_name(header.number);
    let frame = first_frame(disk, &segments_folder(ledger).join(&name), header).ok().flatten();
    match frame.and_then(|frame| commits(&frame, keyring, header)) {
        Some(false) => Err(OpenError::Keyring {
            file: format!("segments/{name}"),
            what: "its events were committed under another blinding key than the keyring's".to_owned(),
        }),
        Some(true) | None => Ok(()),
    }
}

/// The bytes of the first frame; `None` where there is none.
fn first_frame(disk: &dyn Disk, path: &Path, header: &SegmentHeader) -> io::Result<Option<Vec<u8>>> {
    let file = disk.open(path, OpenMode::Read)?;
    let at = header.stored_bytes() as u64;
    let mut start = vec![0; FRAME_HEADER_BYTES];
    file.read_exact_at(&mut start, at)?;
    let Ok(frame) = FrameHeader::parse(&start) else { return Ok(None) };
    // At most what a frame has: the header was checked.
    let mut bytes = vec![0; frame.stored_bytes()];
    file.read_exact_at(&mut bytes, at)?;
    Ok(Some(bytes))
}

/// `true`: the keyring's blinds give the root that the frame states; `None` where the frame does not open.
fn commits(frame: &[u8], keyring: &Keyring, header: &SegmentHeader) -> Option<bool> {
    let stored = StoredFrame::parse(frame).ok()?;
    let opener = FrameOpener::new(&header.unwrap_key(keyring).ok()?);
    let body = opener.open_body(&stored, &mut Decompressor::new().ok()?).ok()?;
    let (keys, of) = (LedgerKeys::new(keyring, header.ledger), stored.header());
    let mut tree: Frontier = header.frontier.clone();
    let mut position = of.first_position;
    for entry in decode_body(&body, of.count).ok()?.entries() {
        let record = decode_record(entry.record).ok()?;
        let commitment = keys.commitment_of(&record, entry.record);
        tree.push(leaf_hash(position, of.time, &commitment));
        position = position.next()?;
    }
    Some((tree.size(), tree.root()) == (of.tree_size, of.tree_root))
}
