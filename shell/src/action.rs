//! One program that a command line runs.

/// What one simple command does, or one redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The program as it is called: `grep`, `/usr/bin/grep`. Empty for a redirection.
    pub program: String,
    /// What rules and trust see: the program without folders, with the words that say what it does: `git log`, `npm run deploy`,
    /// `grep`, `find -delete`; `>` for a redirection that writes a file.
    pub part: String,
    /// What the program may do.
    pub effect: Effect,
    /// Every argument that can name a file, in order.
    pub files: Vec<FileUse>,
}

/// What a program may do, as its entry in the table claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It only looks: it starts no process, writes no file, opens no connection, and reads only the files in
    /// [`Action::files`] (and what the system's libraries read for every program). What the user's own configuration outside of the
    /// arguments makes of it is not looked at. Git may run its own parts, compare files with its index, and refresh that.
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
    /// What is done with it.
    pub access: Access,
    /// Whether `path` is a glob: of the shell, or one that the program matches names with.
    pub is_pattern: bool,
}

/// What is done with a file.
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
    /// The same, and what is read is shown: `git diff`, `git log -p -- src`, `git show main`. `.` stands for the whole repository. A
    /// name may be that of a file or of a folder. Git leaves out the files that pathspecs exclude, as
    /// `git diff -- . ':(exclude).env'` does. `git add` claims it of what it adds: git tracks and shows that from then on, and pathspecs
    /// exclude files of it in the same way.
    ShowsTracked,
    /// The contents of this file, or of any file in this folder and below it, can be shown if git has ever stored them: files that it
    /// does not track too, which `git add` or `git stash -u` once stored. Of `.`, the folder is the whole repository. A hash names any
    /// object: `git show 1a2b3c4` shows a file without its name, whatever pathspecs exclude.
    ReadsStored,
    /// It is written, made or removed.
    Writes,
    /// The program runs in this folder from here on (`cd`).
    Enters,
}
