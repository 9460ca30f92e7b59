//! Texts of the grammar, and their readings.

use super::{MAX_COMMANDS, MAX_TEXT_BYTES, MAX_WORDS};
use crate::{
    CommandConnector, CommandLine, Construct, RedirectionKind, SimpleCommand, UnreadableCommand, parse,
};

/// Returns a command as the tests write it: its joint, its words, its redirections.
fn shown(command: &SimpleCommand) -> String {
    let joint = match command.joint {
        CommandConnector::First => "",
        CommandConnector::Pipe => "| ",
        CommandConnector::And => "&& ",
        CommandConnector::Or => "|| ",
        CommandConnector::Then => "; ",
    };
    let words: Vec<String> = command
        .words
        .iter()
        .map(|word| format!("{}<{}>", if word.is_glob { "glob" } else { "" }, word.text))
        .collect();
    let redirections: Vec<String> = command
        .redirections
        .iter()
        .map(|redirection| {
            let kind = match redirection.kind {
                RedirectionKind::Reads => "reads",
                RedirectionKind::Writes => "writes",
                RedirectionKind::Harmless => "harmless",
            };
            let file = redirection.file.as_ref().map(|file| format!("<{}>", file.text));
            format!(" {kind}{}", file.unwrap_or_default())
        })
        .collect();
    format!("{joint}{}{}", words.join(" "), redirections.concat())
}

fn read(text: &str) -> String {
    let CommandLine { commands } = parse(text).unwrap();
    commands.iter().map(shown).collect::<Vec<_>>().join(" ")
}

#[test]
fn words_and_quotes() {
    assert_eq!(read("ls"), "<ls>");
    assert_eq!(read(" \n\tls -la  a/b.c \n"), "<ls> <-la> <a/b.c>");
    assert_eq!(read("grep 'a b' \"c d\"'e'f \"\" ''"), "<grep> <a b> <c def> <> <>");
    assert_eq!(read("echo '$x `y` \\ ! \"' \"it's\""), "<echo> <$x `y` \\ ! \"> <it's>");
    assert_eq!(read("echo 'a\nb' \"c\n\td\""), "<echo> <a\nb> <c\n\td>");
    assert_eq!(read("go test -run=TestA --x=\"b c\" a==b"), "<go> <test> <-run=TestA> <--x=b c> <a==b>");
    assert_eq!(read("git log a^..b^2"), "<git> <log> <a^..b^2>");
    assert_eq!(read("git log HEAD~2 a@b:c,d+e%f_g"), "<git> <log> <HEAD~2> <a@b:c,d+e%f_g>");
    assert_eq!(read("git commit -m 'Wörter — “gut” ✓'"), "<git> <commit> <-m> <Wörter — “gut” ✓>");
    assert_eq!(read("/usr/bin/g++-12 x"), "</usr/bin/g++-12> <x>");
    assert_eq!(read("echo if then do"), "<echo> <if> <then> <do>");
}

#[test]
fn backslashes_in_double_quotes() {
    assert_eq!(read(r#"grep "a\|b\.c\d""#), r"<grep> <a\|b\.c\d>");
    assert_eq!(read(r#"echo "\"\\\$\`""#), r#"<echo> <"\$`>"#);
    assert_eq!(read(r#"echo "\\\\n" '\'"#), r"<echo> <\\n> <\>");
}

#[test]
fn joints() {
    assert_eq!(read("a|b&&c||d;e\nf"), "<a> | <b> && <c> || <d> ; <e> ; <f>");
    assert_eq!(read("a |\nb &&\n\n c ||\td ;\n\ne;"), "<a> | <b> && <c> || <d> ; <e>");
}

#[test]
fn lines_that_go_on_behind_a_blank() {
    assert_eq!(read("a \\\n  -b \\\n\t \\\n-c | \\\n d > \\\ne"), "<a> <-b> <-c> | <d> writes<e>");
    assert_eq!(read("a \\\n\nb \\\n"), "<a> ; <b>");
    assert_eq!(read(" \\\na"), "<a>");
    for text in
        ["a\\\n", "a\\\nb", "a 'b'\\\n c", "a \\", "a \\b", "\\\na", "a |\\\nb", "a \\\n\\\n\\b", "a \\ \nb"]
    {
        assert_eq!(parse(text).unwrap_err().construct, Construct::Backslash, "{text:?}");
    }
}

#[test]
fn redirections() {
    assert_eq!(read("a 2>&1|b >&2;c 1>&2"), "<a> harmless | <b> harmless ; <c> harmless");
    assert_eq!(read("a >/dev/null 2> '/dev/null' 2>&1"), "<a> harmless harmless harmless");
    assert_eq!(
        read("a > b >>c 2>d 2>> 'e f' <g h"),
        "<a> <h> writes<b> writes<c> writes<d> writes<e f> reads<g>"
    );
    assert_eq!(read("a 2 </dev/null"), "<a> <2> reads</dev/null>");
}

#[test]
fn globs() {
    assert_eq!(read("ls ./*.rs ./a?/b*"), "<ls> glob<./*.rs> glob<./a?/b*>");
    assert_eq!(read("ls -l -- *.rs '*'"), "<ls> <-l> <--> glob<*.rs> <*>");
    assert_eq!(read("ls './'\"*\""), "<ls> <./*>");
    assert_eq!(read("ls a/b/*.rs ../c/* /d/?"), "<ls> glob<a/b/*.rs> glob<../c/*> glob</d/?>");
    assert_eq!(read("ls ./a*/ ../../*"), "<ls> glob<./a*/> glob<../../*>");
    for text in ["ls a*/b", "ls -a/*", "ls @a/*", "ls a/.*", "ls a/**", "ls a/*/.?", "ls a/*'b'"] {
        assert_eq!(parse(text).unwrap_err().construct, Construct::Glob, "{text}");
    }
    for text in
        ["ls ./a//*", "ls a//*", "ls .//*", "ls //*", "ls a/./*", "ls a/../*", "ls ./*/..", "ls ./*//"]
    {
        assert_eq!(parse(text).unwrap_err().construct, Construct::Glob, "{text}");
    }
}

#[test]
fn builtins_that_evaluate_nothing() {
    for text in [
        "test -f a/b",
        "test a '=' b",
        "test '' '!=' \"a b\"",
        "test 1 -eq 02",
        "printf '%s\\n%-5s 100%%' '$(cmd)' a",
        "printf 'plain'",
        "printf",
        "command -v ls git",
        "command",
        "kill -9 123",
        "kill -TERM 1",
        "echo 'a[$(cmd)]'",
        "cd a",
        "type ls",
    ] {
        assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
    }
}

#[test]
fn the_offset_is_where_the_construct_begins() {
    let offset = |text: &str| parse(text).unwrap_err().offset;
    assert_eq!(offset("ls 'é' $x"), 8);
    assert_eq!(offset("ls; if a"), 4);
    assert_eq!(offset("ls 'a"), 3);
    assert_eq!(offset("ls \"a"), 3);
    assert_eq!(offset("ls a*"), 3);
    assert_eq!(offset("ls \"é!\""), 6);
    assert_eq!(offset("ls 'é\u{202e}'"), 6);
}

#[test]
fn limits_are_met_exactly() {
    let construct = |text: String| parse(&text).map(|_| ()).map_err(|unreadable| unreadable.construct);
    let long = |bytes: usize| format!("ls {}", "a".repeat(bytes - 3));
    assert_eq!(construct(long(MAX_TEXT_BYTES)), Ok(()));
    assert_eq!(construct(long(MAX_TEXT_BYTES + 1)), Err(Construct::TooLong));
    assert_eq!(construct(vec!["ls"; MAX_COMMANDS].join(";")), Ok(()));
    assert_eq!(construct(vec!["ls"; MAX_COMMANDS + 1].join(";")), Err(Construct::TooManyCommands));
    assert_eq!(construct(vec!["a"; MAX_WORDS].join(" ")), Ok(()));
    assert_eq!(construct(vec!["a"; MAX_WORDS + 1].join(" ")), Err(Construct::TooManyWords));
}

#[test]
fn an_error_says_where_and_what_to_do() {
    let shown = parse("ls $x").map(|_| ()).map_err(|unreadable: UnreadableCommand| unreadable.to_string());
    assert_eq!(shown, Err("byte 3: an expansion; write the value out".to_owned()));
}
