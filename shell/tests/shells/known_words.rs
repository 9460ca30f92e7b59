//! The words that the shells of this machine keep for themselves.
//! The grammar has none of them but a few builtins.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use bitacora_shell::parse;

use super::expected::BUILTINS;
use super::sandbox::find;

/// The longest word that a shell could keep for itself, in bytes.
const LONGEST_WORD: usize = 20;

/// Every text in a program's file that could be a word of a shell. A linker stores a text that ends another one within it.
fn texts_in(path: &str) -> BTreeSet<String> {
    let bytes = fs::read(path).unwrap();
    let pieces = bytes.split(|byte| !(byte.is_ascii_alphanumeric() || b"_.:[]!{}-".contains(byte)));
    let suffixes = pieces.flat_map(|piece| {
        let begin = piece.len().saturating_sub(LONGEST_WORD);
        (begin..piece.len()).map(|begin| String::from_utf8_lossy(&piece[begin..]).into_owned())
    });
    suffixes.collect()
}

/// Returns the output of a shell.
fn printed(command: &[&str], script: &str, arguments: &BTreeSet<String>) -> String {
    let path = find(command[0]).unwrap_or_else(|| panic!("apt-get install {}", command[0]));
    let mut shell = Command::new(path);
    shell.args(&command[1..]).arg("-c").arg(script).arg("words").args(arguments);
    shell.env_clear().env("PATH", "/nowhere").env("LC_ALL", "C").stdin(Stdio::null()).stderr(Stdio::null());
    String::from_utf8_lossy(&shell.output().unwrap().stdout).into_owned()
}

/// The words that a shell has, however they are looked for.
fn words_of(command: &[&str], lists: &str) -> BTreeSet<String> {
    let none = BTreeSet::new();
    let mut candidates = texts_in(&find(command[0]).unwrap());
    candidates.extend(printed(command, lists, &none).split_whitespace().map(str::to_owned));
    candidates.extend(BUILTINS.map(str::to_owned));
    let script = "for word in \"$@\"; do type -- \"$word\" >/dev/null 2>&1 && echo \"$word\"; done";
    // Dash and busybox take `--` for a word.
    let script =
        if matches!(command[0], "dash" | "busybox") { script.replace("-- ", "") } else { script.to_owned() };
    let candidates: BTreeSet<String> = candidates.into_iter().filter(|word| !word.starts_with('-')).collect();
    printed(command, &script, &candidates).lines().map(str::to_owned).collect()
}

#[test]
fn every_word_that_a_shell_keeps_is_known() {
    let shells: [(&[&str], &str); 5] = [
        (&["bash"], "compgen -b; compgen -k; compgen -a; compgen -A function"),
        (&["dash"], ""),
        (&["zsh"], "print -l ${(k)builtins} ${(k)reswords} ${(k)aliases} ${(k)functions}"),
        (&["busybox", "sh"], "help"),
        (&["mksh"], ""),
    ];
    for (command, lists) in shells {
        let words = words_of(command, lists);
        for certain in ["eval", "if", "cd", "echo", "test", "exec", "while"] {
            assert!(words.contains(certain), "{} does not say that it has {certain}", command[0]);
        }
        let is_read = |word: &&String| parse(word).is_ok() && !BUILTINS.contains(&word.as_str());
        let read: Vec<&String> = words.iter().filter(is_read).collect();
        assert!(read.is_empty(), "{} keeps {read:?} for itself", command[0]);
    }
}
