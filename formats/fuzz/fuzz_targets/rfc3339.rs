//! Any text is a time or a typed error.
//!
//! A time has many spellings, so it is not written back as it came, but as the same microsecond. Any number of
//! microseconds can be written.
#![no_main]

use bitacora_formats::{Micros, TimeError, check_time, format_time, parse_time};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

/// 9999-12-31T23:59:59.999999Z, the last that can be written.
const LAST: Micros = Micros(253_402_300_799_999_999);

fuzz_target!(|bytes: &[u8]| {
    if let Some(number) = bytes.first_chunk() {
        let time = Micros(u64::from_le_bytes(*number));
        assert_eq!(parse_time(&format_time(time)), Ok(time.min(LAST)));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match (check_time(text), parse_time(text)) {
        (Ok(()), Ok(time)) => check_written(text, time),
        (Ok(()), Err(error)) => assert_eq!(error, TimeError::BeforeEpoch),
        (Err(one), other) => {
            assert_one_line(&one);
            assert_eq!(other, Err(one));
        }
    }
});

fn check_written(text: &str, time: Micros) {
    let written = format_time(time);
    // An offset can carry a time past the year 9999, where it can be told but not written.
    assert_eq!(parse_time(&written), Ok(time.min(LAST)));
    let leap_second = text.get(17..19) == Some("60");
    if text.len() == written.len() && text.ends_with('Z') && text.contains('T') && !leap_second {
        assert_eq!(written, text, "a text in the form that is written is written back");
    }
}
