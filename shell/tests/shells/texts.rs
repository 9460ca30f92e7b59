//! Texts for shells: made of the grammar's parts, then changed; attacks and real commands, changed.

use super::random::RandomNumbers;

/// Programs of texts. The builtins are here too, and two names with a folder.
const PROGRAMS: [&str; 31] = [
    "ls",
    "ls",
    "cat",
    "git",
    "git",
    "grep",
    "grep",
    "cmd",
    "rm",
    "find",
    "sort",
    "fail",
    "go",
    "gh",
    "mise",
    "jq",
    "x",
    "a.b",
    "c-d",
    "g++",
    "/usr/bin/ls",
    "/bin/cmd",
    "./run",
    "sub/run",
    "echo",
    "echo",
    "true",
    "false",
    "cd",
    "pwd",
    "type",
];
/// Commands of builtins that take only some arguments.
const BUILTINS: [&str; 12] = [
    "printf '%s %5s%%\\n' '$(cmd)' a",
    "printf \"%s\" ./*",
    "printf",
    "test -f a.txt",
    "test -z ''",
    "test 1 -eq 02",
    "test a '=' b",
    "test \"a b\" '!=' a",
    "command -v ls cmd",
    "command -V x",
    "kill -0 1",
    "kill -TERM 99999",
];
/// Arguments without quotes.
const PLAIN: [&str; 46] = [
    "a.txt",
    "a",
    "sub",
    "./sub/a.txt",
    "-la",
    "-x",
    "--all",
    "--x=y",
    "--",
    "-",
    "HEAD~1",
    "HEAD^",
    "a^..b",
    "a=b",
    "A=b",
    "x:y",
    "a,b",
    "@u",
    "user@host",
    "+x",
    "%d",
    "%1",
    "1",
    "2",
    "12",
    "..",
    ".",
    "/",
    "if",
    "then",
    "do",
    "done",
    "in",
    "eval",
    "exec",
    "cmd",
    "ls",
    "-exec",
    "-c",
    "-v",
    "-f",
    "-n",
    "PATH=.",
    "a==b",
    "https://x/y",
    "1-5",
];
/// Globs that the grammar has.
const GLOBS: [&str; 12] = [
    "./*",
    "./*.rs",
    "./?",
    "./sub/*",
    "./*/*.txt",
    "sub/*",
    "sub/d*/?.rs",
    "../s*/a",
    "./s*/-?",
    "-- *",
    "-- *.txt a",
    "-- ?",
];
/// Redirections that the grammar has.
const REDIRECTIONS: [&str; 14] = [
    "2>&1",
    "1>&2",
    ">&2",
    ">/dev/null",
    "2>/dev/null",
    "> new",
    ">> 'new b'",
    "2> \"err\"",
    "2>>err",
    "< a.txt",
    "</dev/null",
    "> 1",
    ">-x",
    "< sub/a.txt",
];
/// The operators that join commands.
const JOINTS: [&str; 12] =
    ["|", " | ", " && ", "&&", " || ", "||", ";", "; ", "\n", "\n\n  ", " |\n", " &&\n"];
/// The texts in quotes, beside single characters.
const QUOTED: [&str; 30] = [
    "a",
    "b c",
    " ",
    "$(cmd)",
    "`cmd`",
    "; cmd",
    "| cmd",
    "&& cmd",
    "$X",
    "${X:-cmd}",
    "!!",
    "!cmd",
    "\\n",
    "\\",
    "{a,b}",
    "*",
    "~",
    "=cmd",
    "a[$(cmd)]",
    "#",
    "\n",
    "\ncmd\n",
    "\t",
    "é",
    "—",
    "“日本”",
    "✓",
    "-x",
    "()",
    "<ls",
];
/// The pieces by which texts are changed: each operator and construct of some shell.
const PIECES: [&str; 96] = [
    "'",
    "\"",
    "\\",
    "$",
    "`",
    "!",
    "^",
    "~",
    "=",
    "#",
    "*",
    "?",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    "|",
    "&",
    ";",
    "\n",
    " ",
    "\t",
    "%",
    "@",
    "+",
    "-",
    "\\\n",
    "\\\\",
    "\\\"",
    "\\'",
    "''",
    "\"\"",
    "$(cmd)",
    "`cmd`",
    "$((1))",
    "${X:-cmd}",
    "$'\\x41'",
    "$\"a\"",
    "$=X",
    "$X",
    "\"$(cmd)\"",
    "<<ls\n",
    "<<'ls'\n",
    "\nls\n",
    "<<<a",
    " <(cmd)",
    " >(cmd)",
    "((",
    "))",
    "((0<<ls))\n",
    "{cmd,a}",
    "{1..3}",
    "{ cmd; }",
    "(cmd)",
    " #",
    "#;",
    "\n#",
    " ~",
    " ~root",
    "a=~",
    " =cmd",
    "=(cmd)",
    "path=",
    "PATH=. ",
    "a+=b ",
    "&>x",
    "&>>x",
    ">&x",
    ">|x",
    "<>x",
    "|&",
    " & ",
    ";;",
    " 3>x",
    "<1-5>",
    ".*",
    "**",
    "[a]",
    "if ",
    "then ",
    "; fi",
    "time ",
    "coproc ",
    "noglob ",
    "eval ",
    "exec ",
    "command ",
    ". ./run ",
    "alias ls=cmd\n",
    "nohup ",
    "\u{a0}",
    "r",
];

/// Makes texts.
pub(crate) struct Texts<'t> {
    /// Texts that hide the programs they run.
    pub(crate) attacks: &'t [String],
    /// Commands that were given to real shells.
    pub(crate) sample: &'t [String],
}

impl Texts<'_> {
    /// Makes the next text.
    pub(crate) fn next(&self, random: &mut RandomNumbers) -> String {
        match random.below(100) {
            0..54 => line(random),
            54..80 => {
                let text = line(random);
                changed(random, &text)
            }
            80..87 => {
                let attack = &self.attacks[random.below(self.attacks.len())];
                let text = format!("{}{}{attack}", line(random), random.one(&JOINTS));
                let text = if random.below(3) == 0 { text } else { attack.clone() };
                changed(random, &text)
            }
            _ if self.sample.is_empty() => line(random),
            87..91 => self.sample[random.below(self.sample.len())].clone(),
            _ => {
                let text = &self.sample[random.below(self.sample.len())];
                changed(random, text)
            }
        }
    }
}

/// Makes a text of the grammar, or nearly so.
fn line(random: &mut RandomNumbers) -> String {
    let mut text = command(random);
    while random.below(2) == 0 {
        text.push_str(random.one(&JOINTS));
        text.push_str(&command(random));
    }
    if random.below(12) == 0 {
        text.push_str(random.one(&["\n", ";", " ", " ;\n"]));
    }
    text
}

fn command(random: &mut RandomNumbers) -> String {
    if random.below(10) == 0 {
        return random.one(&BUILTINS).to_owned();
    }
    let mut text = random.one(&PROGRAMS).to_owned();
    for _ in 0..random.below(5) {
        text.push_str(random.one(&[" ", " ", " ", "  ", "\t", " \\\n"]));
        match random.below(14) {
            0 => text.push_str(random.one(&GLOBS)),
            1 => text.push_str(random.one(&REDIRECTIONS)),
            _ => text.push_str(&word(random)),
        }
    }
    text
}

fn word(random: &mut RandomNumbers) -> String {
    let mut text = String::new();
    for _ in 0..=random.below(8) / 5 {
        match random.below(6) {
            0 | 1 => single_quotes(random, &mut text),
            2 => double_quotes(random, &mut text),
            _ => text.push_str(random.one(&PLAIN)),
        }
    }
    text
}

fn single_quotes(random: &mut RandomNumbers, text: &mut String) {
    text.push('\'');
    for _ in 0..random.below(4) {
        let piece = quoted(random);
        text.push_str(&piece.replace('\'', "\""));
    }
    text.push('\'');
}

fn double_quotes(random: &mut RandomNumbers, text: &mut String) {
    text.push('"');
    for _ in 0..random.below(4) {
        for letter in quoted(random).chars() {
            match letter {
                '$' | '`' | '"' | '\\' => text.extend(['\\', letter]),
                '!' => text.push('.'),
                _ if random.below(12) == 0 && letter.is_ascii_graphic() => text.extend(['\\', letter]),
                _ => text.push(letter),
            }
        }
    }
    text.push('"');
}

fn quoted(random: &mut RandomNumbers) -> String {
    if random.below(2) == 0 {
        return random.one(&QUOTED).to_owned();
    }
    let printable = u32::from(b' ') + u32::try_from(random.below(95)).unwrap_or_default();
    char::from_u32(printable).unwrap_or(' ').to_string()
}

/// Changes a text at one place, or at a few.
fn changed(random: &mut RandomNumbers, text: &str) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(6) / 3 {
        let at = random.below(letters.len() + 1);
        let piece: Vec<char> = random.one(&PIECES).chars().collect();
        let end = letters.len().min(at + 1 + random.below(3));
        match random.below(7) {
            0 | 1 => drop(letters.splice(at..at, piece)),
            2 => drop(letters.splice(at..end, piece)),
            3 => drop(letters.drain(at..end)),
            4 => {
                let copy: Vec<char> = letters[at..end].to_vec();
                let to = random.below(letters.len() + 1);
                letters.splice(to..to, copy);
            }
            5 => {
                // A quote of another kind, or none.
                let quote =
                    letters.iter().enumerate().skip(at).find(|(_, letter)| matches!(letter, '\'' | '"'));
                if let Some((index, _)) = quote {
                    letters[index] = random.one(&['\'', '"', '`', ' ']);
                }
            }
            _ => {
                let other = line(random);
                letters.splice(at..end, other.chars());
            }
        }
    }
    letters.into_iter().collect()
}
