//! The nearest of several names to one that is misspelt.

/// The most letters that a misspelt name differs in, for each three of it.
const LETTERS_A_FAULT: usize = 3;

/// Returns the known name that is nearest to this one; `None` where none is near.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Every name that is known is short; a long one is near to none, and is not compared.
    let most = (name.chars().count() / LETTERS_A_FAULT).clamp(1, LETTERS_A_FAULT);
    let longest = |known: &str| known.len() + most;
    let candidates = known.into_iter().filter(|known| name.len() <= longest(known));
    let distances = candidates.map(|known| (strsim::damerau_levenshtein(name, known), known));
    distances.filter(|(distance, _)| *distance <= most).min().map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_has_the_nearest_one_and_another_word_has_none() {
        let known = ["listen", "unix", "open", "idle-heads", "archive-after"];
        let near = |name: &str| nearest(name, known);
        assert_eq!(near("lisen"), Some("listen"));
        assert_eq!(near("idle_heads"), Some("idle-heads"));
        assert_eq!(near("archiveafter"), Some("archive-after"));
        assert_eq!(near("oepn"), Some("open"));
        assert_eq!((near("tls"), near("")), (None, None));
        assert_eq!(near(&"x".repeat(100_000)), None);
    }
}
