//! The project that programs run in.
//! Its author may have wanted more to happen than a command line says.
//!
//! Every file with a marker shows by it, in the output of any program, that it was read.

/// The folder of the project.
pub(crate) const PROJECT: &str = "/scratch/project";
/// Folders that a program could change. All of them are made anew before a line runs.
pub(crate) const ROOTS: [&str; 4] = ["/scratch", "/outside", "/home", "/tmp"];
/// The home of the user.
pub(crate) const HOME: &str = "/home/ana";
/// The state of a file in git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The same in every commit.
    Committed,
    /// Another text in the first commit, and another one in the working folder.
    Modified,
    /// Another text in the index than in the last commit.
    Staged,
    /// Only in the first commit.
    Removed,
    /// Not known to git.
    Untracked,
    /// Not known to git, and not in the working folder: a stash keeps it.
    Stashed,
    /// Not in the project.
    Outside,
}

use State::{Committed, Modified, Outside, Removed, Staged, Stashed, Untracked};

/// Files with markers. The name of a file in a folder outside of the project is whole.
pub(crate) const FILES: &[(&str, State)] = &[
    ("README.md", Committed),
    (".env.example", Committed),
    (".env", Untracked),
    ("src/main.rs", Modified),
    ("src/lib.rs", Staged),
    ("src/.env", Untracked),
    ("src/deep/notes.txt", Committed),
    ("src/deep/key.pem", Committed),
    ("src/gone.rs", Removed),
    ("data/a.json", Modified),
    ("data/b.json", Committed),
    ("data/list.csv", Committed),
    ("config/prod.env", Committed),
    ("secrets/key.pem", Untracked),
    ("secrets/token.txt", Committed),
    ("build/out.log", Untracked),
    // Names that look like options, revisions and branches.
    ("-x.rs", Committed),
    ("--output=made.txt", Committed),
    ("HEAD/a.txt", Untracked),
    ("a..b", Untracked),
    ("topic", Committed),
    ("config:prod", Modified),
    ("/outside/secret.txt", Outside),
    ("/outside/HEAD/a.txt", Outside),
    ("/outside/a.txt", Outside),
    ("/outside/far/.env", Outside),
    ("/outside/far/folder/a.txt", Outside),
    ("/outside/far/folder/deep/key.pem", Outside),
    ("/home/ana/.ssh/id_ed25519", Outside),
    ("/home/ana/notes.txt", Outside),
    ("/scratch/beside/.env", Outside),
    ("/scratch/beside/a.txt", Outside),
    ("config/local.env", Stashed),
];

/// The hash of the file that a stash keeps, as git shortens it.
pub(crate) const STASHED: &str = "bc21959c2b";
/// A secret in the settings of the repository and of the user. No other question to git may show it.
pub(crate) const SECRET_SETTING: &str = "marksettingx";

/// Links of the project, and where they lead.
pub(crate) const LINKS: &[(&str, &str)] = &[
    ("link-file.txt", "/outside/secret.txt"),
    ("link-folder", "/outside/far/folder"),
    ("src/link-ssh", "/home/ana/.ssh"),
    ("src/link-inside.rs", "../data/b.json"),
    (".gitkeep", "/outside/secret.txt"),
];

/// Files without markers, with their texts. They ask tools to run something, or to look elsewhere.
pub(crate) const HOSTILE: &[(&str, &str)] = &[
    (
        ".gitattributes",
        "*.rs diff=evil filter=evil merge=evil\n*.json diff=evil\n*.md diff=evil text eol=lf\n*.pem export-subst\n",
    ),
    (
        ".gitmodules",
        "[submodule \"nested\"]\n\tpath = nested\n\turl = ../nested\n\tupdate = !/scratch/project/evil.sh\n",
    ),
    (".gitignore", "build/\nignored-*\n"),
    (".mailmap", "Ana <ana@example.org> <ana@old.example.org>\n"),
    (".rgignore", "!build/\n!.env\n"),
    (".ignore", "!secrets/\n"),
    (".fdignore", "!secrets/\n"),
    (".jq", "def needle: input_filename;\n"),
    (".grep", "needle\n"),
    (".lessfilter", "#!/bin/sh\n/scratch/project/evil.sh\n"),
    ("pattern.txt", "needle\n"),
    ("evil.sh", "#!/bin/sh\ntouch /scratch/pwned\ncat\n"),
    // A whole repository without a folder `.git`, whose configuration runs programs.
    ("nested/HEAD", "ref: refs/heads/main\n"),
    ("nested/config", CONFIGURED),
    ("nested/objects/info/alternates", "/scratch/project/.git/objects\n"),
    ("nested/refs/heads/README", "x\n"),
    ("nested/hooks/post-index-change", "#!/bin/sh\n/scratch/project/evil.sh\n"),
];

/// A configuration of git in which every setting that can runs a program.
pub(crate) const CONFIGURED: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = /scratch/project\n\tfsmonitor = /scratch/project/evil.sh\n\
    \tpager = /scratch/project/evil.sh\n\teditor = /scratch/project/evil.sh\n[pager]\n\tlog = /scratch/project/evil.sh\n\
    [diff]\n\texternal = /scratch/project/evil.sh\n[diff \"evil\"]\n\ttextconv = /scratch/project/evil.sh\n\
    [filter \"evil\"]\n\tclean = /scratch/project/evil.sh\n\tsmudge = /scratch/project/evil.sh\n";

/// The whole path of a file of the project.
pub(crate) fn whole(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{PROJECT}/{path}") }
}

/// Returns the marker that only the text of this file holds.
pub(crate) fn marker(number: usize) -> String {
    format!("mark{number:03}x")
}
