//! The fuzz target of the mentions: any text gives a bounded number, and none is said to be known.
//! A text that can be read mentions each of its programs.
#![no_main]

use std::collections::BTreeSet;

use bitacora_shell::{Effect, mentions, parse};
use libfuzzer_sys::fuzz_target;

/// The bound in `shell/src/mentions.rs`.
const MAX_MENTIONS: usize = 256;
/// The bound in `shell/src/mentions.rs`.
const MAX_MENTIONED_FILES: usize = 64;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let found = mentions(text);
    assert!(found.len() <= MAX_MENTIONS);
    assert!(found.iter().all(|action| action.effect == Effect::Unknown));
    assert!(found.iter().all(|action| action.files.len() <= MAX_MENTIONED_FILES));
    let Ok(line) = parse(text) else { return };
    let named: BTreeSet<&str> = found.iter().map(|action| action.program.as_str()).collect();
    if found.len() < MAX_MENTIONS {
        let mut programs = line.commands.iter().map(|command| command.words[0].text.as_str());
        assert!(programs.all(|program| named.contains(program)), "{text:?}: {found:?}");
    }
});
