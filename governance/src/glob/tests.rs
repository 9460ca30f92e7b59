use bitacora_testkit::SeededRng;

use super::*;

fn matches(glob: &str, dialect: Dialect, text: &str) -> bool {
    GlobPattern::compile(glob, dialect).unwrap().matches(text)
}

#[test]
fn a_star_ends_at_a_slash_in_paths_alone() {
    // Glob, text, whether it matches as a path, whether as a text.
    let table = [
        ("src/*", "src/a.rs", true, true),
        ("src/*", "src/", true, true),
        ("src/*", "src", false, false),
        ("src/*", "src/a/b.rs", false, true),
        ("src/**", "src/a/b.rs", true, true),
        ("src/**", "srcs/a", false, false),
        ("*", "", true, true),
        ("*", "a/b", false, true),
        ("**", "a/b", true, true),
        ("**/.env", ".env", true, false),
        ("**/.env", "a/b/.env", true, true),
        ("**/.env", "a/x.env", false, false),
        ("a/**/b", "a/b", true, false),
        ("a/**/b", "a/x/y/b", true, true),
        ("a/**/b", "ab", false, false),
        ("a/**/b", "a/xb", false, false),
        ("a**/b", "ax/y/b", true, true),
        ("a**/b", "ab", false, false),
        ("*.rs", "a.rs", true, true),
        ("*.rs", ".rs", true, true),
        ("*.rs", "a/b.rs", false, true),
        ("*a*b*", "xaxbx", true, true),
        ("*a*b*", "xbxax", false, false),
        ("*ab", "aab", true, true),
        ("?", "é", true, true),
        ("?", "", false, false),
        ("?", "/", false, true),
        ("[a-c]x", "bx", true, true),
        ("[a-c]x", "dx", false, false),
        ("[!a-c]x", "dx", true, true),
        ("[!a]", "/", false, true),
        ("[a-]", "-", true, true),
        ("[\\]]", "]", true, true),
        ("a\\*", "a*", true, true),
        ("a\\*", "ab", false, false),
        ("rm -rf *", "rm -rf /", false, true),
        ("*curl*|*sh*", "curl x.example/a\n| sh", false, true),
        ("", "", true, true),
        ("", "a", false, false),
        ("a", "A", false, false),
    ];
    for (glob, text, as_path, as_text) in table {
        assert_eq!(matches(glob, Dialect::Path, text), as_path, "{glob} as a path, {text:?}");
        assert_eq!(matches(glob, Dialect::Text, text), as_text, "{glob} as a text, {text:?}");
    }
}

#[test]
fn what_is_no_glob_is_refused() {
    let long = "a".repeat(MAX_GLOB_BYTES + 1);
    for (glob, error) in [
        ("a***", GlobError::TooManyStars),
        ("[a", GlobError::OpenClass),
        ("[", GlobError::OpenClass),
        ("[a-", GlobError::OpenClass),
        ("[]", GlobError::EmptyClass),
        ("[!]", GlobError::EmptyClass),
        ("[z-a]", GlobError::BackwardRange),
        ("a\\", GlobError::OpenEscape),
        ("[\\", GlobError::OpenEscape),
        ("*.{ts,js}", GlobError::Brace),
        (&long, GlobError::TooLong),
    ] {
        assert_eq!(GlobPattern::compile(glob, Dialect::Path).unwrap_err(), error, "{glob}");
    }
}

#[test]
fn the_longest_globs_match_to_their_last_character() {
    let stars = "*a".repeat(MAX_GLOB_BYTES / 2);
    let glob = GlobPattern::compile(&stars, Dialect::Path).unwrap();
    assert!(glob.matches(&"a".repeat(MAX_GLOB_BYTES / 2)));
    assert!(!glob.matches(&"a".repeat(MAX_GLOB_BYTES / 2 - 1)));
}

#[test]
fn hostile_globs_end_within_their_steps() {
    let glob = GlobPattern::compile(&format!("{}*d*", "*a".repeat(200)), Dialect::Text).unwrap();
    let text = "a".repeat(60_000);
    let mut steps = 1_000_000;
    assert_eq!(glob.matches_within(&text, &mut steps), None);
    let mut steps = 60_000 * 404;
    assert_eq!(glob.matches_within(&text, &mut steps), Some(false));
    let mut none = 0;
    assert_eq!(glob.matches_within("", &mut none), None);
}

/// Matches by trying everything, for short texts.
fn slow(glob: &[char], text: &[char], dialect: Dialect, begins_step: bool) -> bool {
    let in_step = |c: &char| dialect == Dialect::Text || *c != '/';
    match glob {
        [] => text.is_empty(),
        ['*', '*', '/', rest @ ..] if dialect == Dialect::Path && begins_step => {
            slow(rest, text, dialect, true)
                || (0..text.len()).any(|at| text[at] == '/' && slow(rest, &text[at + 1..], dialect, true))
        }
        ['*', '*', rest @ ..] => (0..=text.len()).any(|at| slow(rest, &text[at..], dialect, false)),
        ['*', rest @ ..] => {
            let reach = text.iter().take_while(|c| in_step(c)).count();
            (0..=reach).any(|at| slow(rest, &text[at..], dialect, false))
        }
        ['?', rest @ ..] => {
            text.split_first().is_some_and(|(c, text)| in_step(c) && slow(rest, text, dialect, false))
        }
        [plain, rest @ ..] => {
            text.split_first().is_some_and(|(c, text)| c == plain && slow(rest, text, dialect, *plain == '/'))
        }
    }
}

#[test]
fn globs_match_what_a_matcher_that_tries_everything_says() {
    let mut rng = SeededRng::new(1);
    let mut pick = |from: &[char], most: usize| {
        let length = rng.below(most + 1);
        (0..length).map(|_| rng.one_of(from)).collect::<Vec<_>>()
    };
    let mut matched = 0;
    for _ in 0..200_000 {
        let glob = pick(&['*', '*', 'a', 'b', '/', '?'], 7);
        let text = pick(&['a', 'b', '/'], 8);
        let pattern = glob.iter().collect::<String>();
        for dialect in [Dialect::Path, Dialect::Text] {
            let Ok(compiled) = GlobPattern::compile(&pattern, dialect) else { continue };
            let expected = slow(&glob, &text, dialect, true);
            let text = text.iter().collect::<String>();
            assert_eq!(compiled.matches(&text), expected, "{pattern} {dialect:?} {text:?}");
            matched += u64::from(expected);
        }
    }
    assert!(matched > 10_000, "{matched} matched");
}

/// A short glob is matched by one word of states, a long one by several: with the same answer after the same steps, for decisions
/// rest on both.
#[test]
fn one_word_of_states_answers_as_many_do() {
    let globs = ["*curl*|*sh*", "a?[b-d]**x", "**/.env", "a/**/b/*c", "*ab*ab*ab*", "?*?", "**"];
    let texts =
        ["", "ab", "xabyabzab", "a/b/c", "a/x/b/yc", "curl x | sh -s", ".env", "d/.env", "acyx", "éé"];
    for (glob, dialect) in globs.iter().flat_map(|glob| [(glob, Dialect::Path), (glob, Dialect::Text)]) {
        let pattern = GlobPattern::compile(glob, dialect).unwrap();
        for (text, budget) in texts.iter().flat_map(|text| [0, 1, 7, 20, 10_000].map(|budget| (text, budget)))
        {
            let (mut few, mut many) = (budget, budget);
            let one = pattern.run(text, &mut few, States::<1>::default());
            let all = pattern.run(text, &mut many, States::<STATE_WORDS>::default());
            assert_eq!((one, few), (all, many), "{glob}, {text:?}, {budget} steps");
        }
    }
}

#[test]
fn the_text_that_every_match_holds_is_known() {
    let needle = |glob: &str| GlobPattern::compile(glob, Dialect::Path).unwrap().needle.to_string();
    for (glob, expected) in [
        ("**/.env*", ".env"),
        ("**/secrets/**", "secrets/"),
        ("src/**/a", "a"),
        ("a*bc?d", "bc"),
        ("plain", ""),
        ("**", ""),
    ] {
        assert_eq!(needle(glob), expected, "{glob}");
    }
}
