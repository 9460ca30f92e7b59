//! Any text is a request to a witness, its answer or a typed error; each has one text.
#![no_main]

use bitacora_formats::limits::MAX_ADD_CHECKPOINT_HASHES;
use bitacora_formats::{AddCheckpoint, UnverifiedNote, parse_added_cosignatures, parse_known_size};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match AddCheckpoint::parse(text) {
        Err(error) => assert_one_line(&error),
        Ok(asked) => {
            assert_eq!(asked.to_string(), text);
            assert!(asked.proof().len() <= MAX_ADD_CHECKPOINT_HASHES);
            assert!(asked.old() > 0 || asked.proof().is_empty());
            let note = UnverifiedNote::parse(asked.checkpoint()).unwrap();
            assert!(text.ends_with(&note.to_string()));
            let again = AddCheckpoint::new(asked.old(), asked.proof(), asked.checkpoint());
            assert_eq!(again.as_ref(), Ok(&asked));
        }
    }
    match parse_added_cosignatures(text) {
        Err(error) => assert_one_line(&error),
        Ok(lines) => {
            let written: String = lines.iter().map(|line| format!("{line}\n")).collect();
            assert_eq!(written, text);
            // The lines are what a note ends in.
            let note = UnverifiedNote::parse(&format!("text\n\n{text}")).unwrap();
            assert_eq!(note.signatures(), lines);
        }
    }
    match parse_known_size(text) {
        Err(error) => assert_one_line(&error),
        Ok(size) => assert_eq!(format!("{size}\n"), text),
    }
});
