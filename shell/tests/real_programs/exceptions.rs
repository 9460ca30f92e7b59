//! Events of programs besides the claims of their entries.
//! Each is named here with its reason, and documented where the entry stands.

use super::claims::{CommandClaims, is_below, is_tracked};
use super::project::{HOME, PROJECT};

/// Programs that are scripts, and the program that each becomes.
const SCRIPTS: [(&str, &str); 2] = [("egrep", "grep"), ("fgrep", "grep")];
/// Parts of git that run another part of git, and which one.
const GIT_RUNS: [(&str, &str); 3] =
    [("git stash list", "log"), ("git fsck", "commit-graph"), ("git fsck", "multi-pack-index")];
/// Parts of git that compare the working folder with the index. They read tracked files to hash them, and show nothing of them.
const GIT_COMPARES: [&str; 6] =
    ["git status", "git diff", "git describe", "git ls-files", "git diff-index", "git diff-files"];
/// Those of them that note in the index which files have not changed.
const GIT_REFRESHES: [&str; 3] = ["git status", "git diff", "git describe"];
/// Files of a tree in which git finds the names to leave out, and the way to show the others.
const GIT_RULES: [&str; 4] = [".gitignore", ".gitattributes", ".gitmodules", ".mailmap"];
/// The same of programs that search trees.
const SEARCH_RULES: [&str; 5] = [".git", ".gitignore", ".ignore", ".rgignore", ".fdignore"];

/// The socket at which the system's libraries ask for the names of users and groups.
const NAMES_OF_USERS: &str = "sun_path=\"/var/run/nscd/socket\"";

/// Returns `true` if a call is one of the system's libraries, which they make for every program.
pub(crate) fn is_of_libraries(call: &str) -> bool {
    call.starts_with("connect(") && call.contains("sa_family=AF_UNIX") && call.contains(NAMES_OF_USERS)
}

fn is_of(claims: &CommandClaims<'_>, program: &str) -> bool {
    claims.actions.iter().any(|action| name_of(&action.program) == program)
}

fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Returns `true` if a program may become this one.
pub(crate) fn may_start(program: &str, part: &str, started: &str, argv: &[String]) -> bool {
    let runs_git = GIT_RUNS.iter().any(|(of, word)| *of == part && argv.iter().any(|arg| arg == word));
    SCRIPTS.contains(&(name_of(program), started)) || runs_git && started == "git"
}

/// Returns `true` if a program may make a process.
pub(crate) fn may_fork(program: &str, part: &str) -> bool {
    name_of(program) == "git" && GIT_RUNS.iter().any(|(of, _)| *of == part)
}

/// Returns `true` if a program may change a file that its entry does not name.
pub(crate) fn may_change(claims: &CommandClaims<'_>, path: &str) -> bool {
    let refreshes = claims.actions.iter().any(|action| GIT_REFRESHES.contains(&action.part.as_str()));
    let is_index =
        path.strip_prefix(PROJECT).is_some_and(|path| matches!(path, "/.git/index" | "/.git/index.lock"));
    // `tac` keeps a copy of what cannot be read backwards, and `sort -m` of a file that is its output too.
    let is_copy = ["tac", "sort"]
        .iter()
        .any(|program| path.starts_with(&format!("/tmp/{program}")) && is_of(claims, program));
    // `sed -i` writes a file beside the one that it replaces.
    let is_beside = file_name(path).starts_with("sed")
        && claims.actions.iter().any(|action| action.part == "sed -i")
        && claims.writes_beside(path);
    // `ln -f` makes a link under another name, and gives it the right one.
    let is_link = file_name(path).starts_with("Cu") && file_name(path).len() == 8 && is_of(claims, "ln");
    refreshes && is_index || is_copy || is_beside || is_link && claims.writes_beside(path)
}

/// Returns `true` if a program may list a folder that its entry does not name.
pub(crate) fn may_list(claims: &CommandClaims<'_>, path: &str) -> bool {
    is_of(claims, "git") && is_below(path, PROJECT)
}

/// Returns `true` if a program may read a file that its entry does not name.
pub(crate) fn may_read(claims: &CommandClaims<'_>, given: &str, path: &str) -> bool {
    let name = file_name(path);
    // They open what they are asked about, so that it gets mounted or stays the same, and read nothing of it.
    if is_of(claims, "df") || is_of(claims, "find") {
        return claims.lists(given) || claims.lists(path);
    }
    if is_of(claims, "git") {
        let compares = claims.actions.iter().any(|action| GIT_COMPARES.contains(&action.part.as_str()));
        let own = format!("{PROJECT}/.git");
        let is_own = is_below(path, &own) || is_below(given, &own) || GIT_RULES.contains(&name);
        // Git looks whether the folder that it stands in, or one above, is a repository itself, or a file says where one is.
        let is_sought = matches!(name, "HEAD" | ".git") && is_below(path, PROJECT);
        return is_own || is_sought || is_setting(path) || compares && is_tracked(path);
    }
    let searches = ["rg", "fd", "fdfind"].iter().any(|program| is_of(claims, program));
    searches
        && (SEARCH_RULES.contains(&name) || is_setting(path) || path.starts_with(&format!("{PROJECT}/.git/")))
}

fn is_setting(path: &str) -> bool {
    path.strip_prefix(HOME).is_some_and(|path| path == "/.gitconfig" || path.starts_with("/.config/git/"))
}
