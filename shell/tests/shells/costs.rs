//! The cost of each construct that the grammar lacks: the real commands that it makes unreadable.

use std::collections::{BTreeMap, BTreeSet};

use bitacora_shell::{Construct, UnreadableCommand, parse};

use super::sample;

/// Constructs of one command that are looked for.
const MAX_REPAIRS: usize = 2000;

#[test]
fn costs_of_what_the_grammar_does_not_have() {
    let commands = sample::commands();
    if commands.is_empty() {
        println!("NOT RUN: no real commands in ../shared/data; set BITACORA_SAMPLE_DATA");
        return;
    }
    let found: Vec<BTreeSet<Construct>> = commands.iter().map(|command| constructs(command)).collect();
    let readable = found.iter().filter(|constructs| constructs.is_empty()).count();
    println!(
        "{} calls, {readable} readable by the grammar ({} %)",
        found.len(),
        readable * 100 / found.len()
    );
    let mut costs: BTreeMap<Construct, (usize, usize)> = BTreeMap::new();
    for constructs in &found {
        for construct in constructs {
            let (alone, with_others) = costs.entry(*construct).or_default();
            *if constructs.len() == 1 { alone } else { with_others } += 1;
        }
    }
    let mut costs: Vec<_> = costs.into_iter().collect();
    costs.sort_by_key(|(_, (alone, with_others))| std::cmp::Reverse((*alone, *with_others)));
    println!("alone  with others  construct");
    for (construct, (alone, with_others)) in costs {
        println!("{alone:>5}  {with_others:>11}  {construct:?}: {construct}");
    }
    let first = |command: &String| parse(command).err().map(|unreadable| unreadable.construct);
    assert!(commands.iter().zip(&found).all(|(command, found)| first(command).is_none() == found.is_empty()));
}

/// Every construct of a command that makes it unreadable: each is put out of the way, and the rest is read again.
fn constructs(command: &str) -> BTreeSet<Construct> {
    let mut found = BTreeSet::new();
    let mut text = command.to_owned();
    for _ in 0..MAX_REPAIRS {
        let Err(unreadable) = parse(&text) else { break };
        found.insert(unreadable.construct);
        let Some(repaired) = repaired(&text, &unreadable) else { break };
        text = repaired;
    }
    found
}

/// The text with something plain in the place of a construct. `None` where nothing behind it can be read.
fn repaired(text: &str, unreadable: &UnreadableCommand) -> Option<String> {
    let (before, rest) = text.split_at(unreadable.offset);
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let (length, plain) = match unreadable.construct {
        Construct::Empty | Construct::OpenQuote | Construct::TooLong => return None,
        Construct::TooManyCommands | Construct::TooManyWords => return None,
        Construct::Expansion | Construct::QuotedExpansion => (expansion(rest), "X"),
        Construct::Backquote => (rest[1..].find('`').map_or(rest.len(), |end| end + 2), "X"),
        Construct::Backslash if rest.starts_with("\\\n") => (2, " "),
        Construct::Backslash | Construct::QuotedBackslash => (1 + following(rest), "X"),
        Construct::ProcessSubstitution => (1 + parenthesis(&rest[1..]), " X"),
        Construct::HereDocument => return Some(format!("{before} {}", behind_document(rest))),
        Construct::Comment => (rest.find('\n').unwrap_or(rest.len()), " "),
        Construct::Background if rest.starts_with("&>") => (1, " "),
        Construct::Background => (1, ";X "),
        Construct::Redirection => {
            (rest.find(|letter| !"0123456789<>&|!-".contains(letter)).unwrap_or(rest.len()), " ")
        }
        Construct::Assignment => (rest.find('=').map_or(1, |end| end + 1), "X"),
        Construct::Glob => {
            let glob = rest.find(['*', '?'])?;
            return Some(format!("{before}{}X{}", &rest[..glob], &rest[glob + 1..]));
        }
        Construct::ShellWord | Construct::MissingCommand | Construct::AdjacentQuotes => (0, "X"),
        Construct::ProgramName => (0, "X "),
        Construct::EvaluatedArgument => {
            let builtins = ["printf", "test", "kill", "command"];
            let begin = builtins.iter().filter_map(|builtin| before.rfind(builtin)).max()?;
            return Some(format!("{}X{}{rest}", &before[..begin], &before[begin..]));
        }
        _ => (first, "X"),
    };
    Some(format!("{before}{plain}{}", rest.get(length.max(usize::from(plain.is_empty()))..)?))
}

/// The bytes of the character behind the first one.
fn following(rest: &str) -> usize {
    rest.chars().nth(1).map_or(0, char::len_utf8)
}

/// The bytes of an expansion that begins here.
fn expansion(rest: &str) -> usize {
    match rest.as_bytes().get(1) {
        Some(b'(') => 1 + parenthesis(&rest[1..]),
        Some(b'{') => rest.find('}').map_or(rest.len(), |end| end + 1),
        _ => {
            1 + rest[1..]
                .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
                .unwrap_or(rest.len() - 1)
        }
    }
}

/// The bytes up to the parenthesis that closes the one that begins here.
fn parenthesis(rest: &str) -> usize {
    let mut depth = 0;
    for (index, letter) in rest.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 1 => return index + 1,
            ')' => depth -= 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the rest of a text that begins with `<<`, without the mark and the document.
fn behind_document(rest: &str) -> String {
    if let Some(text) = rest.strip_prefix("<<<") {
        return text.to_owned();
    }
    let mark = rest.trim_start_matches(['<', '-', ' ']);
    let end =
        mark.find(|letter: char| letter.is_whitespace() || ";|&)".contains(letter)).unwrap_or(mark.len());
    let (mark, line) = mark.split_at(end);
    let mark = mark.trim_matches(['\'', '"']);
    let (line, document) = line.split_once('\n').unwrap_or((line, ""));
    let lines = document.split('\n').skip_while(|one| one.trim_start_matches('\t') != mark).skip(1);
    [line].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}
