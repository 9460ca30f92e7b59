//! The words of a request that would name a data subject in the log, where they stay for good.

use bitacora_governance::folded_loosely;

/// Returns the first member whose text holds the subject's name. The comparison passes over letter case, Unicode forms, the
/// kinds of dashes, characters that are not shown, and the amount of white space.
pub(crate) fn naming_member(subject: &str, members: &[(&'static str, Option<&str>)]) -> Option<&'static str> {
    let subject = folded_loosely(subject);
    let holds_name = |text: &str| !subject.is_empty() && folded_loosely(text).contains(&subject);
    members.iter().find(|(_, text)| text.is_some_and(holds_name)).map(|(member, _)| *member)
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
            ("\u{130}stanbul", "to istanbul"),
            ("istanbul", "to \u{130}STANBUL"),
            ("\u{131}pek", "asked by ipek"),
            ("ipek", "asked by \u{131}pek, I\u{307}PEK"),
            ("D\u{130}L", "dil"),
            ("anna-b", "for anna\u{2010}b"),
            ("anna\u{2011}b", "for Anna-B"),
            ("anna-b", "for anna\u{2013}b"),
            ("anna-b", "for anna\u{2212}b"),
            ("a/b", "for a\u{2044}b"),
        ] {
            assert!(names(subject, words), "{subject} in {words}");
        }
        assert!(!names("person/ada", "ticket 4711") && !names("Max Muster", "Maximilian Mustermann"));
        assert!(!names(" ", "no name at all"));
    }
}
