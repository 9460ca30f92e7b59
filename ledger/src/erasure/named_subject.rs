//! The words of a request that would name a data subject in the log, where they stay for good.

/// Returns the first member whose text holds the subject's name. The comparison passes over the case of letters.
pub(crate) fn naming_member(subject: &str, members: &[(&'static str, Option<&str>)]) -> Option<&'static str> {
    let subject = subject.to_lowercase();
    let holds_name = |text: &str| !subject.is_empty() && text.to_lowercase().contains(&subject);
    members.iter().find(|(_, text)| text.is_some_and(holds_name)).map(|(member, _)| *member)
}
