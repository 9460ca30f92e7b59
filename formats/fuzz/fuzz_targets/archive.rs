//! Any bytes are an archive that a key in it signed, or give a typed error.
//!
//! Every byte of an archive is under the signature of a key in it. Its parts open or give a typed error. With one byte
//! changed, the archive is refused.
#![no_main]

use bitacora_archive_format::{
    ARCHIVE_TRAILER_BYTES, ArchiveError, ArchiveKey, ArchiveLayout, ArchiveTrailer, PartEntry, PartKind,
    UnverifiedManifest, check_roots, open_group, open_part,
};
use bitacora_formats::Decompressor;
use bitacora_formats_fuzz::assert_one_line;
use bitacora_formats_fuzz::signed::{KEYRING, archive};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    archive(data, size, seed)
});

fuzz_target!(|bytes: &[u8]| {
    let layout = match check(bytes) {
        Err(error) => return assert_one_line(&error),
        Ok(layout) => layout,
    };
    let manifest = layout.manifest();
    let text = manifest.note().to_string();
    let again = UnverifiedManifest::parse(text.as_bytes()).unwrap().verify_alone().unwrap();
    assert_eq!(again.manifest(), manifest.manifest());
    let changed = usize::from(bytes[bytes.len() / 2]) * 251 % bytes.len();
    let mut other = bytes.to_vec();
    other[changed] ^= 1;
    assert!(check(&other).is_err(), "byte {changed}");

    let key = match ArchiveKey::unwrap(manifest.manifest(), &KEYRING) {
        Err(error) => return assert_one_line(&error),
        Ok(key) => key,
    };
    let mut decompressor = Decompressor::new().expect("zstd finds memory");
    for entry in layout.table().entries() {
        let opened = match entry.kind {
            PartKind::Events => open_group(&key, entry, part(bytes, entry), &mut decompressor).map(drop),
            PartKind::Roots => Ok(()),
            _ => open_part(&key, entry, part(bytes, entry), &mut decompressor).map(drop),
        };
        if let Err(error) = opened {
            assert_one_line(&error);
        }
    }
});

/// All that is checked without keys.
fn check(bytes: &[u8]) -> Result<ArchiveLayout, ArchiveError> {
    let trailer = bytes.get(bytes.len().saturating_sub(ARCHIVE_TRAILER_BYTES)..).unwrap_or_default();
    let length = bytes.len() as u64;
    let start = ArchiveTrailer::parse(trailer, length)?.table().start;
    let layout = ArchiveLayout::parse(bytes, &bytes[usize::try_from(start).unwrap()..], length, None)?;
    for entry in layout.table().entries() {
        entry.check(part(bytes, entry))?;
        if entry.kind == PartKind::Roots {
            check_roots(layout.manifest().manifest(), part(bytes, entry))?;
        }
    }
    Ok(layout)
}

fn part<'a>(bytes: &'a [u8], entry: &PartEntry) -> &'a [u8] {
    let range = entry.range();
    &bytes[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()]
}
