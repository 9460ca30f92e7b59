//! Programs that run what their own arguments say.
//!
//! No list of them is ever complete. It need not be: each stays named in the context, and trust in it is trust in all that it can
//! do. These are followed because what they run is what a rule is about.

use super::words::Word;

/// What a program does with its arguments.
pub(super) enum Following<'w> {
    /// They are its own; this is its name.
    Named(String),
    /// They are a command, from here on.
    Runs(&'w [Word]),
    /// One of them is a script: how to name the program then, and the script.
    Script(String, String),
    /// They run what cannot be read.
    Opaque,
}

const SHELLS: [&str; 7] = ["bash", "sh", "zsh", "dash", "ksh", "fish", "ash"];
/// Run the command that follows, once options are out of the way.
const WRAPPERS: [&str; 18] = [
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
const UNFOLLOWED: [&str; 10] =
    ["ssh", "su", "watch", "parallel", "chroot", "trap", "alias", "script", "docker-exec", "enable"];
/// Take programs of their own language as an argument.
const INTERPRETERS: [&str; 9] = ["python", "python3", "perl", "ruby", "node", "php", "lua", "deno", "bun"];

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
    if INTERPRETERS.contains(&base) {
        let is_script = |word: &Word| {
            matches!(word.text.as_str(), "-c" | "-e" | "-r" | "-p" | "-" | "--eval" | "--print")
        };
        let shown = if args.iter().any(is_script) { format!("{name} -c") } else { name.to_owned() };
        return Following::Named(shown);
    }
    match base {
        "eval" => {
            let literal = args.iter().all(|word| word.is_literal);
            let texts: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
            if literal { Following::Script(name.to_owned(), texts.join(" ")) } else { Following::Opaque }
        }
        "find" | "gfind" | "fd" => found(name, args),
        _ => Following::Named(name.to_owned()),
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
        Some(_) => Following::Runs(rest),
    }
}

fn found<'w>(name: &str, args: &'w [Word]) -> Following<'w> {
    let is = |word: &Word, options: &[&str]| options.contains(&word.text.as_str());
    if args.iter().any(|word| !word.is_literal && !word.is_quoted && word.text.is_empty()) {
        return Following::Opaque;
    }
    let runs = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let mut running = args.iter().enumerate().filter(|(_, word)| is(word, &runs));
    match (running.next(), running.next()) {
        (Some((at, _)), None) if !args.iter().any(|word| is(word, &["-delete"])) => {
            Following::Runs(args.get(at + 1..).unwrap_or_default())
        }
        (Some(_), _) => Following::Opaque,
        (None, _) if args.iter().any(|word| is(word, &["-delete", "-fprint", "-fprintf", "-fls"])) => {
            Following::Named(format!("{name} -delete"))
        }
        (None, _) => Following::Named(name.to_owned()),
    }
}
