//! Any bytes are a list of erased keys, sealed by one ledger, or a typed error; any text is the name of an erased key at an anchor, or none.
//!
//! Bytes are sealed before they are read, so that what lies behind the seal is reached.
#![no_main]

use bitacora_formats::{
    ControlFile, ErasedKeys, Secret, erased_key_name, erased_key_of, limits::MAX_ERASED_KEYS_BYTES,
};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The key of the seeds, too.
    let key = Secret::take(&mut [0x11; 32]);
    let other = Secret::take(&mut [0x12; 32]);
    if let Ok(list) = read(&key, bytes) {
        assert_eq!(list.to_file(&key).as_bytes(), bytes);
        assert!(ErasedKeys::of_file(&other, bytes).is_err());
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let sealed = ControlFile::ErasedKeys.seal(&key, text);
    if let Ok(list) = read(&key, sealed.as_bytes()) {
        assert_eq!(list.to_file(&key), sealed);
        for id in list.keys.keys() {
            let name = erased_key_name(&key, id);
            assert_eq!((erased_key_of(&key, &name), erased_key_of(&other, &name)), (Some(*id), None));
        }
    }
    if let Some(id) = erased_key_of(&key, text) {
        assert_eq!(erased_key_name(&key, &id), text);
    }
});

fn read(key: &Secret, bytes: &[u8]) -> Result<ErasedKeys, ()> {
    match ErasedKeys::of_file(key, bytes) {
        Ok(list) => {
            assert!(bytes.len() <= MAX_ERASED_KEYS_BYTES);
            Ok(list)
        }
        Err(error) => {
            assert_one_line(&error);
            Err(())
        }
    }
}
