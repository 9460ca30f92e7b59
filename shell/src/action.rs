//! One program that a command line runs.

/// The action of one simple command, or of one redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellAction {
    /// The program as it is called: `grep`, `/usr/bin/grep`. Empty for a redirection.
    pub program: String,
    /// The text that rules and trust see: the program without folders, with the words that name its action, as in `git log`,
    /// `npm run deploy`, `grep`, `find -delete`. It is `>` for a redirection that writes a file.
    pub part: String,
    /// The most that the program may do.
    pub effect: Effect,
    /// Every argument that can name a file, in order.
    pub files: Vec<FileUse>,
}

/// The most that a program may do, as its entry in the table claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It only looks: it starts no process, writes no file, and opens no connection. It reads only the files in [`ShellAction::files`],
    /// and those that the system's libraries read for every program. Effects of the user's own configuration outside of the
    /// arguments are not looked at. Git may run its own parts, compare files with its index, and refresh that.
    Looks,
    /// Its entry lists these arguments. It may run the project's code, write files or talk to other machines.
    Acts,
    /// The table has no entry for it. Nothing is known of its arguments.
    Unknown,
}

/// An argument that can name a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUse {
    /// The path or pattern as it stands in the argument, without the option's name. Behind `cd` it is seen from one of the folders that
    /// were entered, or from where the line began.
    pub path: String,
    /// The use that is made of it.
    pub access: Access,
    /// `true` if `path` is a glob: of the shell, or one that the program matches names with.
    pub is_pattern: bool,
}

/// The use that is made of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Its name or its properties are looked at.
    Lists,
    /// Its contents are read.
    Reads,
    /// The contents of every file in this folder and below it can be read.
    ReadsTree,
    /// The contents of this file can be read, or of every file that git tracks in this folder and below it, of older versions too.
    /// Of `.`, the folder is the whole repository.
    ReadsTracked,
    /// The same, and the contents are shown: `git diff`, `git log -p -- src`, `git show main`. `.` stands for the whole repository.
    /// A name may be that of a file or of a folder. Git leaves out the files that pathspecs exclude, as
    /// `git diff -- . ':(exclude).env'` does. `git add` claims it of the files that it adds: git tracks and shows them from then
    /// on, and pathspecs exclude files of it in the same way.
    ShowsTracked,
    /// The contents of this file, or of any file in this folder and below it, can be shown if git has ever stored them. These
    /// include files that it does not track, which `git add` or `git stash -u` once stored. Of `.`, the folder is the whole
    /// repository. A hash names any object: `git show 1a2b3c4` shows a file without its name, and pathspecs exclude nothing of it.
    ReadsStored,
    /// It is written, made or removed.
    Writes,
    /// The program runs in this folder from here on (`cd`).
    Enters,
}
