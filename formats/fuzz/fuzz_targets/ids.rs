//! Any text is an identity or a place, or a typed error.
//!
//! An accepted text is written back unchanged, except for zeros before a decimal number, which are read and not written.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use bitacora_formats::{
    After, ChainHash, Commitment, EventKey, IdError, LedgerId, LedgerName, Position, Signature, StreamKey,
    StreamVersion, TreeHash,
};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for written in [written::<Position>(text), written::<StreamVersion>(text), written::<After>(text)]
        .into_iter()
        .flatten()
    {
        let digits = text.trim_start_matches('0');
        assert_eq!(written, if digits.is_empty() { "0" } else { digits });
    }
    for written in [
        written::<LedgerId>(text),
        written::<LedgerName>(text),
        written::<ChainHash>(text),
        written::<Commitment>(text),
        written::<TreeHash>(text),
        written::<Signature>(text),
        written::<EventKey>(text),
        written::<StreamKey>(text),
    ]
    .into_iter()
    .flatten()
    {
        assert_eq!(written, text);
    }
    let place: Option<Position> = text.parse().ok();
    let after: Option<After> = text.parse().ok();
    assert_eq!(place, after.and_then(|after| Position::new(after.get())));
});

/// Returns the value read from the text, written again.
fn written<T: FromStr<Err = IdError> + Display + Debug>(text: &str) -> Option<String> {
    match text.parse::<T>() {
        Ok(id) => {
            // Neither way of showing it fails, and there is always something to see.
            assert!(!format!("{id:?}").is_empty());
            Some(id.to_string())
        }
        Err(error) => {
            assert_one_line(&error);
            None
        }
    }
}
