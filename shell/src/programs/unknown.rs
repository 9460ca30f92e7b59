//! Programs without an entry.

use super::arguments::unlisted;
use crate::action::{Access, Effect, FileUse, ShellAction};
use crate::line::ShellWord;
use crate::unreadable::{Construct, UnreadableCommand};

/// Programs that run their arguments, or texts and files in a language of their own, or their piped input. Nothing is known of a
/// command with one of them that the table does not list.
const RUN_OTHERS: &str = "\
    ash at bash batch bunx busybox caffeinate chroot chrt cmd coproc crontab csh dash doas docker-exec entr env expect fish flock \
    gawk gdb gtimeout ionice ipython ksh launchctl ld lldb lua mawk mksh nawk newgrp nice node nodejs nsenter numactl osascript \
    parallel perl php pkexec powershell prlimit pwsh pypy pypy3 python python2 python3 rbash rlwrap Rscript rsh ruby runuser \
    screen script scriptreplay setarch setpriv setsid sg sh ssh start-stop-daemon stdbuf strace su sudo systemd-run taskset tclsh \
    tcsh time timeout tmux toybox ts-node tsx unbuffer unshare valgrind watch xargs xvfb-run zsh";

/// Returns the action of a program without an entry: its name, with every word as a possible file.
///
/// # Errors
/// It runs others, or one of its arguments is a glob: nobody knows that it takes files.
pub(super) fn action(program: &ShellWord, args: &[ShellWord]) -> Result<ShellAction, UnreadableCommand> {
    let name = program.text.rsplit('/').next().unwrap_or_default();
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if RUN_OTHERS.split_whitespace().any(|other| other == name || other == plain) {
        return Err(UnreadableCommand { construct: Construct::RunsOthers, offset: program.offset });
    }
    let mut files = possible_files(args)?;
    if program.text.contains('/') {
        files.insert(0, FileUse { path: program.text.clone(), access: Access::Reads, is_pattern: false });
    }
    Ok(ShellAction { program: program.text.clone(), part: name.to_owned(), effect: Effect::Unknown, files })
}

/// Returns every text in these words that could be a file. Its use is not known, so that it counts as written.
///
/// # Errors
/// One of the words is a glob.
pub(super) fn possible_files(args: &[ShellWord]) -> Result<Vec<FileUse>, UnreadableCommand> {
    let mut files: Vec<FileUse> = Vec::new();
    for word in args {
        if word.is_glob {
            return Err(unlisted(word.offset));
        }
        for path in possible_paths(&word.text) {
            if !files.iter().any(|file| file.path == path) {
                files.push(FileUse { path: path.to_owned(), access: Access::Writes, is_pattern: false });
            }
        }
    }
    Ok(files)
}

/// Returns the word itself if it is no option, and its pieces: `-Ifolder`, `--file=name`, `@name`, `host:name`, `from:to`.
fn possible_paths(text: &str) -> Vec<&str> {
    let whole = if text.starts_with("--") {
        None
    } else if text.starts_with('-') {
        text.char_indices().nth(2).and_then(|(at, _)| text.get(at..))
    } else {
        Some(text)
    };
    let is_joint = |c: char| matches!(c, '=' | ':' | ',' | '@');
    let has_joint = text.contains(is_joint);
    let pieces = text.split(is_joint).filter(move |piece| has_joint && !piece.starts_with('-'));
    whole.into_iter().chain(pieces).filter(|path| !path.is_empty()).collect()
}
