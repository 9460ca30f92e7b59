//! Names of files as file systems compare them: a guarded file is found by every name that opens it.
//!
//! Some systems take upper and lower case, composed and decomposed letters, or letters of compatibility for the same. Some drop
//! invisible characters. Windows drops dots and blanks at the end of a name, opens streams behind a colon, and has short names
//! (`GIT~1`).

use icu_normalizer::ComposingNormalizerBorrowed;
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};
use unicase::UniCase;

/// The characters of wildcards in a glob.
const WILDCARDS: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// Returns a text as it is compared: NFKC, full case folding, and nothing that is not shown.
#[must_use]
pub(in crate::policy) fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let normalizer = ComposingNormalizerBorrowed::new_nfkc();
    let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    let shown: String = text.chars().filter(|c| !ignorable.contains(*c)).collect();
    let folded = UniCase::unicode(&*normalizer.normalize(&shown)).to_folded_case();
    normalizer.normalize(&folded).into_owned()
}

/// Returns a text in which a name is looked for, however it is spelled: as file systems compare names, with one letter for the i with and
/// without a dot of Turkish, one sign for all dashes, and one for slashes. White space is one blank.
#[must_use]
pub fn folded_loosely(text: &str) -> String {
    let categories = CodePointMapData::<GeneralCategory>::new();
    let letters = folded(text).replace("i\u{307}", "i");
    let letters = letters.chars().map(|letter| match letter {
        '\u{131}' => 'i',
        '\u{2044}' | '\u{2215}' => '/',
        // The sign of subtraction is no dash, and looks like one.
        '\u{2212}' => '-',
        letter if categories.get(letter) == GeneralCategory::DashPunctuation => '-',
        letter => letter,
    });
    letters.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the glob of a call as it is compared; `None` if another glob would come of it. A class that tells letters apart becomes `?`:
/// folded, it would match other names (`[!E]` is no `[!e]`).
pub(in crate::policy) fn folded_glob(glob: &str) -> Option<String> {
    let wildcards = |text: &str| text.chars().filter(|c| WILDCARDS.contains(c)).collect::<String>();
    if glob.contains("\\[") {
        return None;
    }
    let widened = without_classes(glob);
    let folded = folded(&widened);
    (wildcards(&folded) == wildcards(&widened)).then_some(folded)
}

/// Returns a glob with `?` for each class but those of digits alone.
fn without_classes(glob: &str) -> String {
    let mut text = String::new();
    let mut rest = glob;
    while let Some((before, class)) = rest.split_once('[') {
        text.push_str(before);
        // The first character of a class does not close it, nor does one behind its negation.
        let first = class.strip_prefix(['!', '^']).unwrap_or(class).chars().next().map_or(0, char::len_utf8);
        let negation = class.len() - class.strip_prefix(['!', '^']).unwrap_or(class).len();
        let Some((inside, behind)) = class
            .get(negation + first..)
            .and_then(|later| later.find(']'))
            .and_then(|end| class.split_at_checked(negation + first + end))
        else {
            text.push('[');
            rest = class;
            continue;
        };
        if negation == 0 && inside.chars().all(|c| c.is_ascii_digit() || c == '-') {
            text.push('[');
            text.push_str(inside);
            text.push(']');
        } else {
            text.push('?');
        }
        rest = behind.get(1..).unwrap_or_default();
    }
    text + rest
}

/// Returns a folded path with each name as Windows opens it; `None` if that is the same.
pub(in crate::policy) fn as_windows_opens(path: &str) -> Option<String> {
    let mut steps = path.split('/');
    let first = steps.next().map(|step| if is_drive(step) { step } else { opened_name(step) });
    let opened: Vec<&str> = first.into_iter().chain(steps.map(opened_name)).collect();
    Some(opened.join("/")).filter(|opened| opened != path)
}

/// Returns whether a path of Windows has a name that may be short for another one: up to eight letters with `~` and a digit.
pub(in crate::policy) fn may_be_shortened(path: &str) -> bool {
    let is_short = |step: &str| {
        let (stem, _) = step.split_once('.').unwrap_or((step, ""));
        let behind = stem.rsplit_once('~').map(|(_, number)| number);
        stem.len() <= MAX_SHORT_NAME_BYTES
            && behind.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    path.split('/').next().is_some_and(is_drive) && path.split('/').any(is_short)
}

/// Bytes of a short name before its dot.
const MAX_SHORT_NAME_BYTES: usize = 8;

fn is_drive(step: &str) -> bool {
    matches!(step.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic())
}

/// Returns a name without its stream, and without dots and blanks at its end. Names of nothing but these stay.
fn opened_name(name: &str) -> &str {
    let (file, _) = name.split_once(':').unwrap_or((name, ""));
    let opened = file.trim_end_matches(['.', ' ']);
    if opened.is_empty() { name } else { opened }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_file_system_takes_for_the_same_are_folded_to_the_same() {
        for (name, expected) in [
            (".SSH", ".ssh"),
            (".\u{17f}sh", ".ssh"),
            (".\u{df}h", ".ssh"),
            (".\u{1e9e}h", ".ssh"),
            (".s\u{200c}sh", ".ssh"),
            (".g\u{feff}it\u{ad}", ".git"),
            ("\u{ff0e}env", ".env"),
            (".\u{ff45}nv", ".env"),
            ("\u{212a}ey", "key"),
            ("cafe\u{301}", "caf\u{e9}"),
            ("\u{39f}\u{394}\u{39f}\u{3a3}", "\u{3bf}\u{3b4}\u{3bf}\u{3c3}"),
        ] {
            assert_eq!(folded(name), expected, "{name}");
        }
    }

    #[test]
    fn a_glob_stays_the_glob_that_it_is() {
        assert_eq!(folded_glob("**/.E\u{17f}*").as_deref(), Some("**/.es*"));
        for (glob, expected) in [
            ("a/.[!E]nv", "a/.?nv"),
            ("id[A-z]rsa", "id?rsa"),
            ("[]a]x[^]b]y", "?x?y"),
            ("key[0-9].db", "key[0-9].db"),
            ("key[!0-9].db", "key?.db"),
            ("a[b", "a[b"),
        ] {
            assert_eq!(folded_glob(glob).as_deref(), Some(expected), "{glob}");
        }
        assert_eq!(folded_glob("**/\u{ff0a}.pem"), None);
        assert_eq!(folded_glob("a\u{ff1f}"), None);
        assert_eq!(folded_glob("\\[!E]"), None);
    }

    #[test]
    fn windows_opens_names_without_their_ends() {
        for (path, expected) in [
            ("/p/.env.", Some("/p/.env")),
            ("/p/.ssh. ./id_rsa ", Some("/p/.ssh/id_rsa")),
            ("c:/p/.env::$data", Some("c:/p/.env")),
            ("c:/p/.env:x", Some("c:/p/.env")),
            ("/p/.env", None),
            ("../...", None),
            ("c:/p", None),
        ] {
            assert_eq!(as_windows_opens(path).as_deref(), expected, "{path}");
        }
        for path in ["c:/p/env~1", "c:/git~1/config", "c:/p/longna~1.pem", "c:/a~12"] {
            assert!(may_be_shortened(path), "{path}");
        }
        for path in ["/p/env~1", "c:/p/~", "c:/p/a~b", "c:/p/verylongname~1", "c:/p/.env"] {
            assert!(!may_be_shortened(path), "{path}");
        }
    }
}
