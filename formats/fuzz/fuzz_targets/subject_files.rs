//! Any bytes are a file of the store of subject keys, for one ledger and one name, or a typed error.
//!
//! A file has one encoding for its nonce. Everything that is sealed opens.
#![no_main]

use bitacora_formats::{
    LedgerId, SUBJECT_KEY_FILE_BYTES, SUBJECT_NAME_FILE_BYTES, SUBJECT_NONCE_BYTES, Secret, SubjectFiles,
};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

/// The ledger and the name of the seeds.
const LEDGER: LedgerId = LedgerId([0xA0; 16]);
const NAME: [u8; 16] = [0xB1; 16];
/// The offset of the nonce in a file.
const NONCE_OFFSET: usize = 44;

fuzz_target!(|bytes: &[u8]| {
    // The key of the seeds, too.
    let files = SubjectFiles::new(LEDGER, Secret::take(&mut [0x11; 32]));
    let nonce = || *bytes[NONCE_OFFSET..].first_chunk::<SUBJECT_NONCE_BYTES>().unwrap();
    match files.open_key(&NAME, bytes) {
        Err(error) => assert_one_line(&error),
        Ok(key) => assert_eq!(files.seal_key(&NAME, &key, &nonce()), bytes),
    }
    match files.open_name(&NAME, bytes) {
        Err(error) => assert_one_line(&error),
        Ok(id) => assert_eq!(files.seal_name(&NAME, &id, &nonce()), bytes),
    }
    check_sealed(&files, bytes);
});

/// Seals the bytes as a file, and opens it under its own name alone.
fn check_sealed(files: &SubjectFiles, bytes: &[u8]) -> Option<()> {
    let (name, rest) = bytes.split_first_chunk::<16>()?;
    let (nonce, rest) = rest.split_first_chunk::<SUBJECT_NONCE_BYTES>()?;
    let mut key = *rest.first_chunk::<32>()?;
    let id = *key.first_chunk::<16>()?;
    let mut other_name = *name;
    other_name[0] ^= 1;

    let key = Secret::take(&mut key);
    let file: [u8; SUBJECT_KEY_FILE_BYTES] = files.seal_key(name, &key, nonce);
    assert_eq!(files.open_key(name, &file), Ok(key));
    assert!(files.open_key(&other_name, &file).is_err() && files.open_name(name, &file).is_err());

    let file: [u8; SUBJECT_NAME_FILE_BYTES] = files.seal_name(name, &id, nonce);
    assert_eq!(files.open_name(name, &file), Ok(id));
    assert!(files.open_name(&other_name, &file).is_err() && files.open_key(name, &file).is_err());
    Some(())
}
