//! Lines that are made of the table: a use with some of its options, each with a value, and operands.

use bitacora_shell::{ListedOption, ListedUse};

use super::random::RandomNumbers;
use super::scripts::{AWK, HOSTILE, JQ, PREDICATES, SED, TESTS};
use super::words::{
    COUNTS, FILES, GLOBS, INSIDES, NEW_FILES, NUMBERS, PATHSPECS, PATTERNS, REVISIONS, TEXTS, WORDS,
};

/// One line in so many has an argument that no entry should list.
const HOSTILE_SHARE: usize = 12;

/// Makes lines of these uses.
pub(crate) struct LineGenerator {
    /// Each with the program that it is made of.
    pub(crate) uses: Vec<(&'static str, ListedUse)>,
}

impl LineGenerator {
    /// Makes a line.
    pub(crate) fn next(&self, random: &mut RandomNumbers) -> String {
        let mut line = match random.below(12) {
            0 => "cd src && ".to_owned(),
            1 if random.below(2) == 0 => "cd link-folder; ".to_owned(),
            _ => String::new(),
        };
        let count = [1, 1, 1, 1, 2, 2, 3][random.below(7)];
        for number in 0..count {
            if number > 0 {
                line.push_str([" | ", " | ", " && ", "; ", " || "][random.below(5)]);
            }
            line.push_str(&self.command(random));
            line.push_str(match random.below(20) {
                0 => " > made.txt",
                1 => " 2>/dev/null",
                2 => " 2>&1",
                3 => " < src/main.rs",
                4 => " >> build/out.log",
                _ => "",
            });
        }
        line
    }

    /// Makes one command.
    fn command(&self, random: &mut RandomNumbers) -> String {
        let (program, used) = &self.uses[random.below(self.uses.len())];
        let mut words: Vec<String> = vec![(*program).to_owned()];
        let is_builtin = matches!(*program, "cd" | "command" | "type" | "test" | "kill" | "which");
        if !is_builtin && random.below(4) == 0 {
            words = vec![format!("/usr/bin/{program}")];
        }
        if *program == "git" && random.below(8) == 0 {
            words.push(["--no-pager", "-P", "--no-optional-locks"][random.below(3)].to_owned());
        }
        words.extend(used.words.iter().map(|word| (*word).to_owned()));
        let mut options = Vec::new();
        let most = if *program == "find" || used.operands.is_empty() { 3 } else { 4 };
        for _ in 0..random.below(most) {
            let of_values = used.options.len();
            let total = used.flags.len() + of_values * 2;
            if total == 0 {
                break;
            }
            let at = random.below(total);
            match used.flags.get(at) {
                Some(flag) => options.push(flag.replace('#', random.one(NUMBERS))),
                None => options.push(option(program, &used.options[(at - used.flags.len()) / 2], random)),
            }
        }
        if !used.needs.is_empty() && random.below(8) > 0 {
            options.push((*random.one(&used.needs)).to_owned());
        }
        if random.below(HOSTILE_SHARE) == 0 {
            options.push(random.one(HOSTILE).to_owned());
        }
        let operands = self.operands(program, used, random);
        let behind = options.len() > 1 && !used.is_leading && random.below(5) == 0;
        if behind {
            let last = options.pop();
            words.extend(options);
            words.extend(operands);
            words.extend(last);
        } else {
            words.extend(options);
            words.extend(operands);
        }
        words.join(" ")
    }

    fn operands(&self, program: &str, used: &ListedUse, random: &mut RandomNumbers) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let is_listed = |start: &str| used.operands.starts_with(start);
        match program {
            "sed" | "gsed" => words.push(quoted(random.one(SED))),
            "awk" | "gawk" | "mawk" => words.push(quoted(random.one(AWK))),
            "jq" => {
                if random.below(4) == 0 {
                    let named = [
                        "--arg x 1",
                        "--argjson x 2",
                        "--rawfile f src/main.rs",
                        "--slurpfile f data/b.json",
                    ];
                    words.push(random.one(&named).to_owned());
                }
                words.push(quoted(random.one(JQ)));
            }
            "grep" | "egrep" | "fgrep" | "rg" | "fd" | "fdfind"
                if !used.words.contains(&"--files") && random.below(8) > 0 =>
            {
                words.push(quoted(random.one(TEXTS)));
            }
            "test" => return vec![random.one(TESTS).to_owned()],
            "find" => {
                words.extend((0..random.below(2)).map(|_| file(random)));
                words.extend((0..random.below(4)).map(|_| random.one(PREDICATES).to_owned()));
                return words;
            }
            "timeout" => return vec![random.one(&["1", "5s"]).to_owned(), self.command(random)],
            "chmod" => words.push(random.one(&["644", "+x", "u+w", "a-x", "-x"]).to_owned()),
            "seq" => return vec![random.one(NUMBERS).to_owned()],
            "git" => return git_operands(used, random),
            _ => {}
        }
        if is_listed("texts: ") {
            words.extend((0..random.below(3)).map(|_| text(&used.operands["texts: ".len()..], &[], random)));
        } else if !used.operands.is_empty() {
            if random.below(10) == 0 {
                words.push("--".to_owned());
            }
            words.extend((0..random.below(4)).map(|_| file(random)));
            if ["cp", "mv", "ln", "mkdir", "touch", "tee"].contains(&program) {
                words.push(random.one(NEW_FILES).to_owned());
            }
        }
        words
    }
}

fn git_operands(used: &ListedUse, random: &mut RandomNumbers) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    if used.operands.is_empty() {
        return words;
    }
    if used.words == ["grep"] && random.below(6) > 0 {
        words.push(quoted(random.one(TEXTS)));
    }
    let is_of_names =
        used.words.first().is_some_and(|word| matches!(*word, "config" | "symbolic-ref" | "remote"));
    for _ in 0..random.below(3) {
        words.push(match random.below(6) {
            0..3 => quoted(random.one(REVISIONS)),
            3 => quoted(random.one(WORDS)),
            _ if is_of_names => quoted(random.one(WORDS)),
            _ => file(random),
        });
    }
    if random.below(3) == 0 {
        words.push("--".to_owned());
        for _ in 0..=random.below(2) {
            words.push(if random.below(2) == 0 { quoted(random.one(PATHSPECS)) } else { file(random) });
        }
    }
    words
}

/// An option with its value, in one word or in two.
fn option(program: &str, option: &ListedOption, random: &mut RandomNumbers) -> String {
    let name = random.one(&option.names);
    if option.is_optional && random.below(3) == 0 {
        return name.to_owned();
    }
    let value = match (program, name) {
        ("sed", "-e" | "--expression") => quoted(random.one(SED)),
        ("awk" | "gawk" | "mawk", "-v") => "n=2".to_owned(),
        _ => text(&option.value, &option.choices, random),
    };
    if name.starts_with("--") {
        if option.is_optional || random.below(2) == 0 {
            format!("{name}={value}")
        } else {
            format!("{name} {value}")
        }
    } else if option.is_optional || random.below(2) == 0 && !value.starts_with('\'') {
        format!("{name}{value}")
    } else {
        format!("{name} {value}")
    }
}

/// A value of the kind that these words name.
fn text(kind: &str, choices: &[&'static str], random: &mut RandomNumbers) -> String {
    if !choices.is_empty() && random.below(10) > 0 {
        return random.one(choices).to_owned();
    }
    match kind {
        "a file" => file(random),
        "a glob for names of files" => quoted(random.one(PATTERNS)),
        "a number" => random.one(NUMBERS).to_owned(),
        "a number with a sign and a unit" => random.one(COUNTS).to_owned(),
        "a plain word" => {
            let list = if random.below(4) == 0 { REVISIONS } else { WORDS };
            quoted(random.one(list))
        }
        "a text that the reader looks into" => quoted(random.one(INSIDES)),
        _ => {
            let list = [TEXTS, WORDS, PATTERNS, FILES, REVISIONS][random.below(5)];
            quoted(random.one(list))
        }
    }
}

fn file(random: &mut RandomNumbers) -> String {
    if random.below(8) == 0 {
        return random.one(GLOBS).to_owned();
    }
    quoted(random.one(FILES))
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:,+@%".contains(letter);
    if word.is_empty() || !word.chars().all(is_plain) { format!("'{word}'") } else { word.to_owned() }
}
