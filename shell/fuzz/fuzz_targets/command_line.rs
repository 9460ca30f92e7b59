//! The fuzz target of the reader: any text is read, or refused for a construct that stands in it.
//! A readable text is written again with every word quoted, and must then be read as the same commands. A text is read alike
//! before, behind and between others.
#![no_main]

use bitacora_shell::{
    CommandConnector, CommandLine, RedirectionKind, ShellWord, SimpleCommand, UnreadableCommand, parse, read,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = read(text);
    let line = match parse(text) {
        Ok(line) => line,
        Err(unreadable) => return assert_names_a_place(text, &unreadable),
    };
    assert!(!line.commands.is_empty());
    assert_eq!(meaning(&parse(&written(&line)).unwrap()), meaning(&line));
    assert_eq!(meaning(&parse(&format!(" \n{text}\n")).unwrap()), meaning(&line));
    if let Ok(twice) = parse(&format!("{text}\n{text}")) {
        let commands = twice.commands.len();
        assert_eq!(commands, line.commands.len() * 2);
    }
});

fn assert_names_a_place(text: &str, unreadable: &UnreadableCommand) {
    assert!(text.is_char_boundary(unreadable.offset), "{unreadable:?}");
    let message = unreadable.to_string();
    assert!(!message.is_empty() && !message.contains(['\n', '\r']), "{message:?}");
}

/// A command without the places of its words.
type CommandMeaning = (CommandConnector, Vec<(String, bool)>, Vec<(RedirectionKind, Option<String>)>);

fn meaning(line: &CommandLine) -> Vec<CommandMeaning> {
    let word = |word: &ShellWord| (word.text.clone(), word.is_glob);
    let of = |command: &SimpleCommand| {
        let files = command.redirections.iter();
        let files = files.map(|one| (one.kind, one.file.as_ref().map(|file| file.text.clone())));
        (command.joint, command.words.iter().map(word).collect(), files.collect())
    };
    line.commands.iter().map(of).collect()
}

/// The line with each word in quotes, but for programs and globs.
fn written(line: &CommandLine) -> String {
    let mut text = String::new();
    for command in &line.commands {
        text.push_str(match command.joint {
            CommandConnector::First => "",
            CommandConnector::Pipe => " | ",
            CommandConnector::And => " && ",
            CommandConnector::Or => " || ",
            CommandConnector::Then => "\n",
        });
        for (index, word) in command.words.iter().enumerate() {
            text.push(' ');
            text.push_str(&if index == 0 || word.is_glob { word.text.clone() } else { quoted(&word.text) });
        }
        for redirection in &command.redirections {
            let operator = match redirection.kind {
                RedirectionKind::Reads => "<",
                RedirectionKind::Writes => ">",
                RedirectionKind::Harmless => ">&2",
            };
            let file = redirection.file.as_ref().map(|file| quoted(&file.text)).unwrap_or_default();
            text.push_str(&format!(" {operator}{file}"));
        }
    }
    text
}

fn quoted(text: &str) -> String {
    let pieces: Vec<String> = text.split('\'').map(|piece| format!("'{piece}'")).collect();
    pieces.join("\"'\"")
}
