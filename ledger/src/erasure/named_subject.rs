//! The words of a request that would name a data subject in the log, where they stay for good.

use bitacora_governance::folded;

/// Returns the first member whose text holds the subject's name. The comparison passes over letter case, Unicode forms, characters that are
/// not shown, and the amount of white space.
pub(crate) fn naming_member(subject: &str, members: &[(&'static str, Option<&str>)]) -> Option<&'static str> {
    let subject = compared(subject);
    let holds_name = |text: &str| !subject.is_empty() && compared(text).contains(&subject);
    members.iter().find(|(_, text)| text.is_some_and(holds_name)).map(|(member, _)| *member)
}

fn compared(text: &str) -> String {
    let folded = folded(text);
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_however_it_is_spelled() {
        let names = |subject: &str, words: &str| naming_member(subject, &[("reason", Some(words))]).is_some();
        for (subject, words) in [
            ("person/ada", "asked for by Person/Ada"),
            ("Jos\u{e9} Stra\u{df}e", "for Jose\u{301} Stra\u{df}e"),
            ("Anna Stra\u{df}e", "for ANNA STRASSE"),
            ("Max  Muster", "Max Muster"),
            ("Max Muster", "case of Max\u{a0}\tMus\u{ad}ter"),
        ] {
            assert!(names(subject, words), "{subject} in {words}");
        }
        assert!(!names("person/ada", "ticket 4711") && !names("Max Muster", "Maximilian Mustermann"));
        assert!(!names(" ", "no name at all"));
    }
}
