//! Times of records.

use bitacora_formats::{Micros, format_time};

/// Returns nanoseconds since 1970 in RFC 3339; `None` for 0, which is no time.
pub(super) fn rfc3339(nanoseconds: u64) -> Option<String> {
    if nanoseconds == 0 {
        return None;
    }
    let mut text = format_time(Micros(nanoseconds / 1_000));
    let rest = nanoseconds % 1_000;
    if rest > 0 && text.pop() == Some('Z') {
        text.push_str(&format!("{rest:03}Z"));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_nanosecond_is_lost() {
        assert_eq!(rfc3339(1_544_712_660_300_000_001).unwrap(), "2018-12-13T14:51:00.300000001Z");
        assert_eq!(rfc3339(1_544_712_660_300_000_000).unwrap(), "2018-12-13T14:51:00.300000Z");
        assert_eq!(rfc3339(u64::MAX).unwrap(), "2554-07-21T23:34:33.709551615Z");
        assert_eq!(rfc3339(0), None);
    }
}
