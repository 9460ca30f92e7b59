//! Programs that are told by a word what to do.
//!
//! `git status` and `git push` are one program and two acts. The act is named beside the program, so that a rule can be about it. What
//! only looks at things has a name of its own where the same word can also change them: `git branch list`.

use super::Opaque;
use super::options::{are_only, are_plain, are_without, are_without_flags};
use super::words::Word;

/// Options of git's reading commands that run a program or write a file.
const GIT_RUNS: [&str; 8] =
    ["output", "ext-diff", "textconv", "open-files-in-pager", "filters", "edit", "interactive", "patch"];
/// What git's own options may be before its command. Each other one can name programs.
const GIT_BEFORE: [&str; 3] = ["--no-pager", "-P", "--no-optional-locks"];
/// With these words and options alone the commands show what there is.
const GIT_LISTS: [(&str, &[&str]); 6] = [
    (
        "branch",
        &[
            "-a",
            "-r",
            "-v",
            "-vv",
            "-l",
            "--all",
            "--remotes",
            "--list",
            "--show-current",
            "--contains",
            "--merged",
            "--no-merged",
            "--sort",
            "--format",
            "--verbose",
        ],
    ),
    ("remote", &["-v", "--verbose"]),
    ("stash", &["list", "show", "-p", "--stat"]),
    ("tag", &["-l", "--list", "-n", "--sort", "--contains", "--points-at"]),
    ("worktree", &["list", "--porcelain"]),
    ("config", &["--get", "--get-all", "--list", "-l", "--show-origin"]),
];
/// Flags of go that name a program to run, or a file to write.
const GO_RUNS: [&str; 14] = [
    "exec",
    "toolexec",
    "vettool",
    "o",
    "C",
    "overlay",
    "modfile",
    "pkgdir",
    "ldflags",
    "gccgoflags",
    "gcflags",
    "asmflags",
    "compiler",
    "w",
];
/// Options of a request over HTTP that only asks.
const GH_ASKS: [&str; 10] =
    ["--jq", "-q", "--paginate", "--template", "-t", "-i", "--include", "--slurp", "--cache", "--silent"];

/// What a program does with these arguments, where that is told by a word: its name and the word. `None` where there is none, or the
/// program is not one of these.
pub(super) fn doing(base: &str, args: &[Word]) -> Result<Option<String>, Opaque> {
    let doing = match base {
        "git" => git(args)?,
        "gh" => gh(args)?,
        "go" => go(args)?,
        "cargo" => cargo(args)?,
        "npm" | "pnpm" | "yarn" | "bun" => packages(base, args)?,
        "mise" => mise(args)?,
        "docker" | "podman" | "kubectl" | "terraform" | "brew" | "apt" | "apt-get" | "pip" | "pip3"
        | "uv" => args.first().and_then(verb).map(|verb| format!("{base} {verb}")),
        _ => None,
    };
    Ok(doing)
}

/// A word that says what to do.
fn verb(word: &Word) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == ':';
    let is_verb = word.is_literal && word.text.len() <= 40 && word.text.chars().all(is_plain);
    (is_verb && word.text.starts_with(|c: char| c.is_ascii_lowercase())).then_some(word.text.as_str())
}

fn git(args: &[Word]) -> Result<Option<String>, Opaque> {
    let mut args = args;
    loop {
        match args {
            [one, rest @ ..] if one.is_literal && GIT_BEFORE.contains(&one.text.as_str()) => args = rest,
            [option, folder, rest @ ..] if option.text == "-C" && folder.is_literal => args = rest,
            [] => return Ok(None),
            _ => break,
        }
    }
    let Some((first, rest)) = args.split_first() else { return Ok(None) };
    // An alias or a program of the user's own has a name as well; those are not among the commands that rules let pass.
    let verb = verb(first).ok_or(Opaque)?;
    let lists = GIT_LISTS.iter().find(|(name, _)| *name == verb);
    if let Some((_, words)) = lists {
        let shows =
            |word: &Word| word.is_literal && words.contains(&word.text.split('=').next().unwrap_or_default());
        let asks =
            verb == "config" && rest.len() == 2 && rest.first().is_some_and(|word| word.text == "--get");
        // Without a word to them these make something.
        let is_bare = rest.is_empty() && matches!(verb, "config" | "stash" | "worktree");
        let is_list = asks || !is_bare && rest.iter().all(shows);
        return Ok(Some(if is_list { format!("git {verb} list") } else { format!("git {verb}") }));
    }
    let letters = if verb == "add" { "epi" } else { "O" };
    if READS.contains(&verb) && !are_without(rest, &GIT_RUNS, letters) {
        return Err(Opaque);
    }
    Ok(Some(format!("git {verb}")))
}

/// Commands of git that look at things, or note what is to be committed.
const READS: [&str; 20] = [
    "status",
    "log",
    "diff",
    "show",
    "rev-parse",
    "merge-base",
    "ls-files",
    "ls-tree",
    "cat-file",
    "blame",
    "describe",
    "rev-list",
    "shortlog",
    "name-rev",
    "for-each-ref",
    "show-ref",
    "diff-tree",
    "grep",
    "check-ignore",
    "add",
];

fn gh(args: &[Word]) -> Result<Option<String>, Opaque> {
    let Some((first, rest)) = args.split_first() else { return Ok(None) };
    let noun = verb(first).ok_or(Opaque)?;
    // Its filters show the environment, with its tokens, to whoever asks for it.
    if rest.iter().any(|word| word.text.to_ascii_lowercase().contains("env")) {
        return Err(Opaque);
    }
    if noun == "api" {
        let asks = are_only(rest, &GH_ASKS);
        return Ok(Some(if asks { "gh api get".to_owned() } else { "gh api".to_owned() }));
    }
    if rest.iter().any(|word| word.text == "-w" || word.text.starts_with("--web")) {
        return Err(Opaque);
    }
    Ok(Some(
        rest.first().and_then(verb).map_or_else(|| format!("gh {noun}"), |verb| format!("gh {noun} {verb}")),
    ))
}

fn go(args: &[Word]) -> Result<Option<String>, Opaque> {
    let Some((first, rest)) = args.split_first() else { return Ok(None) };
    let verb = verb(first).ok_or(Opaque)?;
    if are_without_flags(rest, &GO_RUNS) { Ok(Some(format!("go {verb}"))) } else { Err(Opaque) }
}

fn cargo(args: &[Word]) -> Result<Option<String>, Opaque> {
    let mut args = args;
    while let [one, rest @ ..] = args {
        if !(one.is_literal && matches!(one.text.as_str(), "-q" | "--quiet" | "--offline" | "--locked")) {
            break;
        }
        args = rest;
    }
    let Some((first, rest)) = args.split_first() else { return Ok(None) };
    let verb = verb(first).ok_or(Opaque)?;
    if are_without(rest, &["config"], "ZC") { Ok(Some(format!("cargo {verb}"))) } else { Err(Opaque) }
}

fn packages(base: &str, args: &[Word]) -> Result<Option<String>, Opaque> {
    let Some((first, rest)) = args.split_first() else { return Ok(None) };
    let verb = verb(first).ok_or(Opaque)?;
    let own = rest.split(|word| word.text == "--").next().unwrap_or_default();
    let is_plain = are_only(own, &["-s", "--silent", "--if-present", "--version"]) && are_plain(rest);
    if is_plain || !matches!(verb, "run" | "test") { Ok(Some(format!("{base} {verb}"))) } else { Err(Opaque) }
}

fn mise(args: &[Word]) -> Result<Option<String>, Opaque> {
    let Some((first, rest)) = args.split_first() else { return Ok(None) };
    let verb = verb(first).ok_or(Opaque)?;
    if verb == "run" && (rest.first().and_then(self::verb).is_none() || !are_plain(rest)) {
        return Err(Opaque);
    }
    Ok(Some(format!("mise {verb}")))
}
