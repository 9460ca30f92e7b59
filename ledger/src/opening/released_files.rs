//! The remainders of released segments: each is written twice, and an opening mends one from the other.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bitacora_formats::{Keyring, LedgerKeys, Position, ReleasedSegment, SegmentNumber, service_source};

use crate::append::service_events::signed_release_id;
use crate::host::disk::Disk;
use crate::host::replacement::replace;
use crate::log_fault::LogFault;
use crate::replay::ReplayedLog;
use crate::segment_list::{copies_folder, read_released, released_bytes, released_copy, segment_header};
use crate::segments::{SEGMENTS, Segment, released_file_name, segments_folder};

/// The suffix of a file that is to take its place.
const UNFINISHED: &str = ".new";
/// The suffix under which a damaged file is kept once it was mended.
const DAMAGED: &str = ".damaged";

/// Writes what is left of a segment, and its copy first. Returned `Ok` ⇒ the file is durable; a copy that cannot be written is one that
/// the next opening writes.
pub(crate) fn write_left(
    disk: &dyn Disk,
    folder: &Path,
    number: SegmentNumber,
    left: &[u8],
) -> io::Result<()> {
    write_copy(disk, folder, number, left);
    replace(disk, folder, &released_file_name(number), UNFINISHED, |file| file.write_all_at(left, 0))
}

fn write_copy(disk: &dyn Disk, folder: &Path, number: SegmentNumber, left: &[u8]) {
    let (name, folder) = (released_file_name(number), copies_folder(folder));
    if let Err(error) = replace(disk, &folder, &name, UNFINISHED, |file| file.write_all_at(left, 0)) {
        tracing::warn!(file = name, %error, "the copy of a released segment's file could not be written");
    }
}

/// Returns the damage of the first released segment whose file has no signature, although the log says that it was signed. A thief can
/// take the signature away, the file and its copy; the log's word stays.
pub(crate) fn unsigned_again(
    disk: &dyn Disk,
    folder: &Path,
    keyring: &Keyring,
    replayed: &ReplayedLog,
) -> io::Result<Option<LogFault>> {
    let (folder, keys) = (segments_folder(folder), LedgerKeys::new(keyring, replayed.ledger));
    let source = service_source(replayed.ledger);
    for segment in replayed.segments.iter().take_while(|segment| segment.is_released()) {
        let released = read_released(disk, &folder, segment.number, Some(keyring.signing_chain()))?;
        let Some(released) = released.filter(|released| released.signed.is_none()) else { continue };
        let (first, last) = (segment.first, released.last_position);
        let said = keys.event_key(&source, &signed_release_id(first, last));
        if replayed.ids.look_up([&said].into_iter())?.known(0).is_some() {
            return Ok(Some(unsigned_fault(segment.number, first, last)));
        }
    }
    Ok(None)
}

fn unsigned_fault(number: SegmentNumber, first: Position, last: Position) -> LogFault {
    LogFault {
        file: format!("{SEGMENTS}/{}", released_file_name(number)),
        offset: 8,
        first_position: first.get(),
        last_position: Some(last.get()),
        what: "found format 1, which has no signature, and the log says that the file was signed; restore it from a copy"
            .to_owned(),
    }
}

/// Writes the files of released segments again that are damaged or of the old format, and their copies. The replay has seen that each is
/// certified and goes on from the one before it. Damaged bytes stay beside the file. A crash leaves the old file, or both.
pub(crate) fn mend(disk: &dyn Disk, folder: &Path, keyring: &Keyring, segments: &[Arc<Segment>]) {
    let folder = segments_folder(folder);
    for number in segments.iter().take_while(|segment| segment.is_released()).map(|segment| segment.number) {
        if let Err(error) = mend_one(disk, &folder, keyring, number) {
            let file = released_file_name(number);
            tracing::warn!(file, %error, "the file of a released segment could not be written again");
        }
    }
}

fn mend_one(disk: &dyn Disk, folder: &Path, keyring: &Keyring, number: SegmentNumber) -> io::Result<()> {
    let found = match released_bytes(disk, folder, number) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read?),
    };
    let left = read_released(disk, folder, number, Some(keyring.signing_chain()))?;
    let left = left.ok_or(io::ErrorKind::InvalidData)?;
    let is_old = left.signed.is_none();
    let left = if is_old { sign(disk, folder, keyring, left)? } else { left }.encode();
    match found {
        Some(found) if found == left => {}
        Some(found) => write_again(disk, folder, number, (&found, &left), is_old)?,
        None => {
            let name = released_file_name(number);
            replace(disk, folder, &name, UNFINISHED, |file| file.write_all_at(&left, 0))?;
            tracing::warn!(
                file = name,
                "the file of a released segment was missing; its copy was written in its place"
            );
        }
    }
    // After the file: a verifier that looks meanwhile finds a copy of it, or none.
    if released_copy(disk, folder, number).as_deref() != Some(&left) {
        write_copy(disk, folder, number, &left);
    }
    Ok(())
}

fn write_again(
    disk: &dyn Disk,
    folder: &Path,
    number: SegmentNumber,
    (found, left): (&[u8], &[u8]),
    is_old: bool,
) -> io::Result<()> {
    let name = released_file_name(number);
    let is_damaged = !is_old || ReleasedSegment::parse(found).is_err();
    if is_damaged {
        let damaged = format!("{name}{DAMAGED}");
        replace(disk, folder, &damaged, UNFINISHED, |file| file.write_all_at(found, 0))?;
    }
    replace(disk, folder, &name, UNFINISHED, |file| file.write_all_at(left, 0))?;
    if is_damaged {
        tracing::warn!(
            file = name,
            "the file of a released segment was damaged; it was written again as its copy and its signature say"
        );
    } else {
        tracing::info!(file = name, "the file of a released segment was signed");
    }
    Ok(())
}

/// Signs what has no signature, with times that are signed elsewhere.
fn sign(
    disk: &dyn Disk,
    folder: &Path,
    keyring: &Keyring,
    left: ReleasedSegment,
) -> io::Result<ReleasedSegment> {
    let next = left.header.number.next().map(|next| segment_header(disk, folder, next)).transpose()?;
    let next = next.flatten().ok_or(io::ErrorKind::InvalidData)?;
    Ok(left.with_covered_times(&next).sign(keyring.signing()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "what is in the folder is changed behind the ledger's back")]
mod tests {
    use std::fs;

    use bitacora_formats::{Event, Micros};

    use super::*;
    use crate::{AppendRequest, Entropy, Environment, Ledger, Options, SystemEntropy};

    const FIRST: SegmentNumber = SegmentNumber::FIRST;

    /// The folder of segments of a ledger whose first one was released, and its keyring.
    fn released(folder: &Path) -> (std::path::PathBuf, Arc<Keyring>) {
        let path = folder.join("main");
        let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
        let name = "main".parse().unwrap();
        let options = Options { name: Some("main".parse().unwrap()), ..Options::small() };
        let environment = Environment::real();
        Ledger::create(&environment, &path, &name, &keyring, &options).unwrap();
        let ledger = Ledger::open(&environment, &path, Arc::clone(&keyring), options).unwrap();
        let event = Event::new("e1", "urn:test", "x.kind", "s");
        ledger.append(AppendRequest::of(vec![event])).unwrap().wait().unwrap();
        while !ledger.status().is_proven {
            std::thread::yield_now();
        }
        ledger.release(Position::FIRST, "it is tried").unwrap().unwrap();
        ledger.close().unwrap();
        (segments_folder(&path), keyring)
    }

    #[test]
    fn a_file_of_the_old_format_is_signed_with_times_that_are_signed() {
        let scene = tempfile::tempdir().unwrap();
        let (folder, keyring) = released(scene.path());
        let (disk, chain) = (Environment::real().disk, keyring.signing_chain());
        let (file, copy) = (folder.join(released_file_name(FIRST)), copies_folder(&folder));
        let copy = copy.join(released_file_name(FIRST));
        let whole = fs::read(&file).unwrap();
        assert_eq!(fs::read(&copy).unwrap(), whole);
        let signed = ReleasedSegment::parse(&whole).unwrap();
        let next = segment_header(&*disk, &folder, SegmentNumber(2)).unwrap().unwrap();
        for footer in [signed.footer, None] {
            fs::remove_file(&copy).unwrap();
            let old = ReleasedSegment { signed: None, footer, ..signed.clone() };
            let old = match footer {
                Some(_) => old,
                None => ReleasedSegment { first_time: Micros(1), last_time: Micros(2), ..old },
            };
            fs::write(&file, old.encode()).unwrap();
            mend_one(&*disk, &folder, &keyring, FIRST).unwrap();
            let found = ReleasedSegment::parse(&fs::read(&file).unwrap()).unwrap();
            found.check_signature(chain).unwrap();
            assert!(found.signed.is_some() && found.footer.is_none());
            assert_eq!((found.first_time, found.last_time), (signed.header.created, next.created));
            assert_eq!(fs::read(&copy).unwrap(), found.encode());
        }
    }

    #[test]
    fn the_copy_counts_where_the_file_lost_its_signature() {
        let scene = tempfile::tempdir().unwrap();
        let (folder, keyring) = released(scene.path());
        let (disk, file) = (Environment::real().disk, folder.join(released_file_name(FIRST)));
        let whole = fs::read(&file).unwrap();
        let signed = ReleasedSegment::parse(&whole).unwrap();
        let old = ReleasedSegment { signed: None, footer: None, first_time: Micros(1), ..signed.clone() };
        fs::write(&file, old.encode()).unwrap();
        let read = || read_released(&*disk, &folder, FIRST, Some(keyring.signing_chain())).unwrap();
        assert_eq!(read(), Some(signed.clone()));
        mend_one(&*disk, &folder, &keyring, FIRST).unwrap();
        assert_eq!(fs::read(&file).unwrap(), whole);
        let other = Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap());
        fs::write(&file, signed.sign(other.signing()).encode()).unwrap();
        fs::remove_file(copies_folder(&folder).join(released_file_name(FIRST))).unwrap();
        assert_eq!(read(), None, "another ledger's key");
    }
}
