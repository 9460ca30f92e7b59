use bitacora_testkit::SeededRng;
use globset::GlobBuilder;

use super::*;

/// The reading that recorded registrations were made with.
fn by_globset(glob: &str) -> Option<globset::GlobSet> {
    let glob = GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build().ok()?;
    globset::GlobSet::builder().add(glob).build().ok()
}

/// Returns `true` if a class lists `/`, which it no longer matches.
fn has_slash_in_class(glob: &str) -> bool {
    let lists_slash = |token: &Token| match token {
        Token::Class { ranges, .. } => ranges.iter().any(|(first, last)| (*first..=*last).contains(&'/')),
        _ => false,
    };
    read(glob).is_ok_and(|all| all.iter().flatten().any(lists_slash))
}

#[test]
fn recorded_globs_match_what_they_matched() {
    const PIECES: &[&str] = &[
        "*",
        "**",
        "**/",
        "/**",
        "/**/",
        "?",
        "a",
        "b",
        "ab",
        "/",
        "{",
        "{a,",
        "b}",
        ",",
        "}",
        "[ab]",
        "[a-b",
        "]",
        "[-",
        "\\*",
        "\\",
        "{a,b}",
        "{**/a,b/**}",
        "{,a}",
    ];
    let mut rng = SeededRng::new(42);
    let (mut read, mut matched) = (0, 0);
    for _ in 0..4_000 {
        let glob: String = (0..=rng.below(6_usize)).map(|_| rng.one_of(PIECES)).collect();
        let (ours, theirs) = (DestinationGlob::recorded(&glob), by_globset(&glob));
        if matches!(ours, Err(GlobError::TooManyAlternatives)) || has_slash_in_class(&glob) {
            continue;
        }
        let (ours, theirs) = match (ours, theirs) {
            (Ok(ours), Some(theirs)) => (ours, theirs),
            (ours, theirs) => {
                assert_eq!(ours.is_ok(), theirs.is_some(), "`{glob}` is a glob for one alone: {ours:?}");
                continue;
            }
        };
        read += 1;
        for _ in 0..6 {
            let place: String =
                (0..rng.below(7_usize)).map(|_| rng.one_of(&['a', 'b', '/', '*', ','])).collect();
            assert_eq!(ours.matches(&place), theirs.is_match(&place), "`{glob}` on `{place}`: {ours:?}");
            matched += usize::from(ours.matches(&place));
        }
    }
    assert!(read > 1_000 && matched > 500, "{read} read, {matched} matched");
}

#[test]
fn a_class_no_longer_matches_a_slash_and_counts_characters() {
    let glob = DestinationGlob::recorded("a[!b]c").unwrap();
    assert_eq!(["axc", "aéc", "a/c", "abc"].map(|place| glob.matches(place)), [true, true, false, false]);
    let before = by_globset("a[!b]c").unwrap();
    assert_eq!(["axc", "aéc", "a/c", "abc"].map(|place| before.is_match(place)), [true, false, true, false]);
}

#[test]
fn a_new_glob_has_one_meaning() {
    for glob in
        ["src/**", "**", "**/*.rs", "a/**/b", "*.example.com", "+34*", "team-[0-9]*", "[!a-c]?", "a\\{b", ""]
    {
        assert_eq!(DestinationGlob::check_new(glob), Ok(()), "{glob}");
    }
    for (glob, error) in [
        ("*.{rs,toml}", GlobError::Brace),
        ("src**", GlobError::TwoReadings),
        ("**/", GlobError::TwoReadings),
        ("[^a]", GlobError::TwoReadings),
        ("[\\]]", GlobError::TwoReadings),
        ("[a", GlobError::OpenClass),
        ("a***", GlobError::TooManyStars),
    ] {
        assert_eq!(DestinationGlob::check_new(glob), Err(error), "{glob}");
    }
}

#[test]
fn braces_with_too_many_choices_are_no_glob() {
    let single = format!("{{{}}}", ["a"; 255].join(","));
    assert!(DestinationGlob::recorded(&single).is_ok());
    let error = DestinationGlob::recorded(&"{a,b}".repeat(9)).unwrap_err();
    assert_eq!(error, GlobError::TooManyAlternatives);
}
