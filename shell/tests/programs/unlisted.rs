//! Arguments of real commands that no entry lists, the most frequent ones first.

use std::collections::BTreeMap;

use bitacora_shell::{Construct, Effect, ShellReading, parse, read};

use crate::sample;

/// Lines of each list that are printed.
const SHOWN: usize = 60;
/// The largest share of all calls that the grammar reads and the table does not, in per cent.
const MOST_UNLISTED: usize = 11;

#[test]
fn real_commands_are_listed() {
    let commands = sample::commands();
    if commands.is_empty() {
        println!("NOT RUN: no real commands in ../shared/data; set BITACORA_SAMPLE_DATA");
        return;
    }
    let (mut in_grammar, mut readable) = (0, 0);
    let mut unlisted: BTreeMap<String, usize> = BTreeMap::new();
    let mut constructs: BTreeMap<Construct, usize> = BTreeMap::new();
    let mut parts: BTreeMap<(Effect, String), usize> = BTreeMap::new();
    for command in &commands {
        if parse(command).is_err() {
            continue;
        }
        in_grammar += 1;
        match read(command) {
            ShellReading::Readable(actions) => {
                readable += 1;
                for action in actions {
                    *parts.entry((action.effect, action.part)).or_default() += 1;
                }
            }
            ShellReading::Unreadable(unreadable, _) => {
                *constructs.entry(unreadable.construct).or_default() += 1;
                *unlisted.entry(reason(command, unreadable.offset)).or_default() += 1;
            }
        }
    }
    println!("{} calls, {in_grammar} in the grammar, {readable} readable", commands.len());
    for (construct, count) in &constructs {
        println!("{count:>5}  {construct:?}: {construct}");
    }
    print("program and argument", unlisted.into_iter().collect());
    let parts = parts.into_iter().map(|((effect, part), count)| (format!("{effect:?} {part}"), count));
    print("parts", parts.collect());
    assert!((in_grammar - readable) * 100 <= commands.len() * MOST_UNLISTED);
}

fn print(what: &str, mut lines: Vec<(String, usize)>) {
    lines.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    println!("count  {what}");
    for (line, count) in lines.iter().take(SHOWN) {
        println!("{count:>5}  {line}");
    }
}

/// The program of the command that a byte is in, with the words before that byte that are no options, and the word at it.
fn reason(text: &str, offset: usize) -> String {
    let line = parse(text).unwrap();
    let command = line.commands.iter().rfind(|command| command.offset <= offset).unwrap();
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let at = command.words.iter().position(|word| word.offset == offset).unwrap_or_default();
    let verbs = words.iter().take(2.min(at)).copied().collect::<Vec<_>>().join(" ");
    let word: String = words[at].chars().take(60).collect();
    format!("{verbs} … {word}")
}
