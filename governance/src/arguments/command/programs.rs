//! Programs that run what their own arguments say.
//!
//! What a rule may allow is what is understood here: a program that is not known stays named, and a policy allows it by that name or
//! not at all. Of those that are known each argument is either harmless, or makes the command opaque.

use super::options::{are_only, are_plain, are_without};
use super::verbs;
use super::words::Word;

/// What a program does with its arguments.
pub(super) enum Following<'w> {
    /// They are its own; this is its name.
    Named(String),
    /// They are its own, and this is what it does with them.
    Doing(String),
    /// They are a command, from here on.
    Runs(&'w [Word]),
    /// One of them is a script: how to name the program then, and the script.
    Script(String, String),
    /// They run what cannot be read.
    Opaque,
}

const SHELLS: [&str; 7] = ["bash", "sh", "zsh", "dash", "ksh", "fish", "ash"];
/// Run the command that follows, once options are out of the way.
const WRAPPERS: [&str; 19] = [
    // A program behind a pipe, a word of the shell elsewhere.
    "time",
    "sudo",
    "doas",
    "env",
    "nohup",
    "nice",
    "timeout",
    "setsid",
    "stdbuf",
    "xargs",
    "exec",
    "command",
    "builtin",
    "ionice",
    "caffeinate",
    "unbuffer",
    "busybox",
    "gtimeout",
    "strace",
];
/// Run texts, or commands in places, that cannot be followed.
const UNFOLLOWED: [&str; 26] = [
    "ssh",
    "su",
    "watch",
    "parallel",
    "chroot",
    "trap",
    "alias",
    "script",
    "docker-exec",
    "enable",
    "source",
    ".",
    "entr",
    "at",
    "batch",
    "crontab",
    "expect",
    "screen",
    "tmux",
    "nsenter",
    "unshare",
    "systemd-run",
    "osascript",
    "pwsh",
    "cmd",
    "powershell",
];
/// Take programs of their own language as an argument.
const INTERPRETERS: [&str; 13] = [
    "python", "pypy", "ipython", "perl", "ruby", "node", "nodejs", "php", "lua", "deno", "tclsh", "Rscript",
    "ts-node",
];
/// Words with which an interpreter does nothing else.
const VERSIONS: [&str; 3] = ["--version", "-V", "-v"];
/// Options of these programs that run a program or write a file: by their names, and by letters.
const RUNS_BY_OPTION: [(&str, &[&str], &str); 12] = [
    ("jq", &["from-file", "library-path"], "fL"),
    ("sort", &["compress-program", "output", "temporary-directory"], "oT"),
    ("rg", &["pre", "search-zip", "hostname-bin"], "z"),
    ("tree", &["output"], "oR"),
    ("date", &["set", "file"], "sf"),
    ("file", &["compile", "uncompress", "magic-file"], "CZzm"),
    ("diff", &["paginate"], "l"),
    ("gofmt", &["cpuprofile"], "c"),
    ("printf", &[], "v"),
    ("make", &["eval", "file", "makefile", "directory", "include-dir", "environment-overrides"], "fCIEe"),
    ("just", &["justfile", "working-directory", "command", "shell", "edit", "choose", "set"], "fdce"),
    ("mkdir", &["mode", "context"], "mZ"),
];
/// Options of tests that say which and how loudly, and name no code.
const TEST_OPTIONS: [&str; 14] = [
    "-q",
    "-v",
    "-vv",
    "-x",
    "-s",
    "-k",
    "-m",
    "--lf",
    "--ff",
    "--maxfail",
    "--tb",
    "-n",
    "--quiet",
    "--verbose",
];

/// What the program of this name does with these arguments.
pub(super) fn follow<'w>(name: &str, args: &'w [Word]) -> Following<'w> {
    let base = name.rsplit('/').next().unwrap_or(name);
    if SHELLS.contains(&base) {
        return shell(name, args);
    }
    if WRAPPERS.contains(&base) {
        return wrapped(name, base, args);
    }
    if UNFOLLOWED.contains(&base) {
        return Following::Opaque;
    }
    if is_interpreter(base) {
        return Following::Named(interpreted(name, args));
    }
    if let Some((_, long, short)) = RUNS_BY_OPTION.iter().find(|(program, ..)| *program == base)
        && !are_without(args, long, short)
    {
        return Following::Opaque;
    }
    let is_plain = match base {
        "eval" => {
            let literal = args.iter().all(|word| word.is_literal);
            let texts: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
            let script = || Following::Script(name.to_owned(), texts.join(" "));
            return if literal { script() } else { Following::Opaque };
        }
        "find" | "gfind" | "fd" => return found(name, args),
        // Its second file is one that it writes.
        "uniq" => args.iter().all(|word| word.text.starts_with('-') && !word.may_be_any_option()),
        // Variables of a makefile can be commands, and what a task is given can become part of one.
        "make" | "just" => are_plain(args),
        "pytest" => are_only(args, &TEST_OPTIONS),
        // Shows the environment to whoever asks for it, and more in files of its own.
        "jq" => args.iter().all(|word| {
            let text = word.text.to_ascii_lowercase();
            !["env", "import", "include"].iter().any(|odd| text.contains(odd))
        }),
        "sed" | "gsed" => return edited(name, args),
        "awk" | "gawk" | "mawk" => return awk(name, args),
        // Without a folder it goes home; with a dash where it was before.
        "cd" => {
            args.len() == 1 && args.iter().all(|word| !word.text.starts_with('-') && !word.text.is_empty())
        }
        _ => true,
    };
    if !is_plain {
        return Following::Opaque;
    }
    match verbs::doing(base, args) {
        Ok(None) => Following::Named(name.to_owned()),
        Ok(Some(doing)) => Following::Doing(doing),
        Err(_) => Following::Opaque,
    }
}

/// Also with a version behind its name.
fn is_interpreter(base: &str) -> bool {
    let plain = base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&plain) || INTERPRETERS.contains(&base)
}

/// With a file before all options it runs that. Else the program is in its arguments, in what is piped into it, or in a module.
fn interpreted(name: &str, args: &[Word]) -> String {
    let is_file = args.first().is_some_and(|word| word.is_literal && !word.text.starts_with(['-', '+', '/']));
    let is_version = matches!(args, [word] if VERSIONS.contains(&word.text.as_str()));
    if is_file || is_version { name.to_owned() } else { format!("{name} -c") }
}

/// Shows lines by their numbers; every other script of it can write files, and of one kind run commands.
fn edited<'w>(name: &str, args: &'w [Word]) -> Following<'w> {
    let shows = |script: &Word| {
        let is_lines = |c: char| c.is_ascii_digit() || ",$p;".contains(c);
        script.is_literal && script.text.ends_with('p') && script.text.chars().all(is_lines)
    };
    match args {
        [option, script, files @ ..]
            if option.text == "-n"
                && shows(script)
                && files.iter().all(|file| !file.text.starts_with('-') && !file.may_be_any_option()) =>
        {
            Following::Named(name.to_owned())
        }
        _ => Following::Doing(format!("{name} script")),
    }
}

/// Prints fields; without brackets, a pipe and a redirection it calls nothing, looks nothing up and writes nothing.
fn awk<'w>(name: &str, args: &'w [Word]) -> Following<'w> {
    let mut args = args;
    while let [option, rest @ ..] = args {
        if !(option.is_literal && option.text.starts_with("-F") && option.text.len() > 2) {
            break;
        }
        args = rest;
    }
    match args {
        [script, files @ ..]
            if script.is_literal
                && !script.text.starts_with('-')
                && !script.text.contains(['(', '|', '<', '>', '@', '`', '['])
                && files.iter().all(|file| !file.text.starts_with('-') && !file.may_be_any_option()) =>
        {
            Following::Named(name.to_owned())
        }
        _ => Following::Doing(format!("{name} script")),
    }
}

fn shell<'w>(name: &str, args: &'w [Word]) -> Following<'w> {
    if args.iter().any(|word| !word.is_literal && !word.is_quoted) {
        return Following::Opaque;
    }
    let Some(first) = args.iter().find(|word| !matches!(word.text.as_str(), "-e" | "-x" | "-u" | "-l"))
    else {
        // Reads its commands from whatever is piped into it.
        return Following::Opaque;
    };
    if matches!(first.text.as_str(), "-c" | "-lc" | "-ec" | "-xc") && first.is_literal {
        let at = args.iter().position(|word| word == first).unwrap_or_default();
        return match args.get(at + 1) {
            Some(script) if script.is_literal => Following::Script(format!("{name} -c"), script.text.clone()),
            _ => Following::Opaque,
        };
    }
    if first.text == "-n" || first.text == "--version" {
        return Following::Named(name.to_owned());
    }
    if first.text.starts_with(['-', '+']) || first.text.starts_with("/dev/") || !first.is_literal {
        return Following::Opaque;
    }
    Following::Named(name.to_owned())
}

fn wrapped<'w>(name: &str, base: &str, args: &'w [Word]) -> Following<'w> {
    let mut rest = args;
    if base == "env" {
        while let Some((_, after)) = rest.split_first().filter(|(first, _)| first.is_assignment) {
            rest = after;
        }
    }
    if matches!(base, "timeout" | "gtimeout") {
        let is_time = |word: &Word| word.text.starts_with(|c: char| c.is_ascii_digit()) && word.is_literal;
        let Some((_, after)) = rest.split_first().filter(|(first, _)| is_time(first)) else {
            return Following::Opaque;
        };
        rest = after;
    }
    match rest.first() {
        None => Following::Named(name.to_owned()),
        Some(first) if base == "command" && matches!(first.text.as_str(), "-v" | "-V") => {
            Following::Named(name.to_owned())
        }
        // Whether an option takes a value decides where the command begins.
        Some(first) if first.text.starts_with('-') || first.is_assignment => Following::Opaque,
        // What a word of the shell begins goes on behind `;`.
        Some(first) if first.is_reserved() || first.is_bare("for") => Following::Opaque,
        Some(_) => Following::Runs(rest),
    }
}

fn found<'w>(name: &str, args: &'w [Word]) -> Following<'w> {
    let is = |word: &Word, options: &[&str]| options.contains(&word.text.as_str());
    if args.iter().any(Word::may_be_any_option) {
        return Following::Opaque;
    }
    let runs = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let mut running = args.iter().enumerate().filter(|(_, word)| is(word, &runs));
    match (running.next(), running.next()) {
        (Some((at, _)), None) if !args.iter().any(|word| is(word, &["-delete"])) => {
            Following::Runs(args.get(at + 1..).unwrap_or_default())
        }
        (Some(_), _) => Following::Opaque,
        (None, _)
            if args.iter().any(|word| is(word, &["-delete", "-fprint", "-fprint0", "-fprintf", "-fls"])) =>
        {
            Following::Named(format!("{name} -delete"))
        }
        (None, _) => Following::Named(name.to_owned()),
    }
}
