//! The reader's claims about a line, as questions about paths.

use bitacora_shell::{Access, Effect, FileUse, ShellAction, ShellReading, ShellWord, parse, read_in};

use super::project::{FILES, HOSTILE, LINKS, State, whole};
use super::trace::absolute;

/// A line with the claims about it.
pub(crate) struct ClaimedLine {
    pub(crate) text: String,
    pub(crate) commands: Vec<ClaimedCommand>,
    /// The folders that its paths may be seen from.
    bases: Vec<String>,
}

/// A command with the claims about it.
pub(crate) struct ClaimedCommand {
    pub(crate) words: Vec<ShellWord>,
    /// Its own actions, then those of its redirections.
    pub(crate) actions: Vec<ShellAction>,
}

impl ClaimedLine {
    /// Reads a line that is given in this folder. Nothing if it is not readable.
    pub(crate) fn read(text: &str, cwd: &str) -> Option<Self> {
        let line = parse(text).ok()?;
        let ShellReading::Readable(all) = read_in(text, Some(cwd)) else { return None };
        let mut commands = Vec::new();
        let mut told = 0;
        for (at, command) in line.commands.iter().enumerate() {
            let end = line.commands.get(at + 1).map_or(text.len(), |next| next.offset);
            let before = text[..end].trim_end_matches([' ', '|', '&', ';', '\n']);
            let ShellReading::Readable(actions) = read_in(before, Some(cwd)) else {
                panic!("{before:?} is not readable, and {text:?} is")
            };
            assert_eq!(all[..actions.len()], actions, "{text:?}");
            commands.push(ClaimedCommand {
                words: command.words.clone(),
                actions: all[told..actions.len()].to_vec(),
            });
            told = actions.len();
        }
        Some(Self::new(text, cwd, commands))
    }

    /// Takes a line for one that only looks and names no file at all.
    pub(crate) fn without_claims(text: &str, cwd: &str) -> Self {
        let line = parse(text).unwrap();
        let action = |program: &ShellWord| ShellAction {
            program: program.text.clone(),
            part: program.text.clone(),
            effect: Effect::Looks,
            files: Vec::new(),
        };
        let commands = line
            .commands
            .into_iter()
            .map(|command| ClaimedCommand { actions: vec![action(&command.words[0])], words: command.words });
        Self::new(text, cwd, commands.collect())
    }

    fn new(text: &str, cwd: &str, commands: Vec<ClaimedCommand>) -> Self {
        let mut bases = vec![cwd.to_owned()];
        let files = commands.iter().flat_map(|command| &command.actions).flat_map(|action| &action.files);
        for entered in files.filter(|file| file.access == Access::Enters) {
            // Each `cd` may have failed.
            let more: Vec<String> = bases.iter().map(|base| absolute(base, &entered.path)).collect();
            bases.extend(more.iter().cloned());
            bases.extend(more.iter().map(|path| resolved(path)));
        }
        Self { text: text.to_owned(), commands, bases }
    }

    /// Everything that is claimed of any command.
    pub(crate) fn all(&self) -> CommandClaims<'_> {
        CommandClaims {
            actions: self.commands.iter().flat_map(|command| &command.actions).collect(),
            line: self,
        }
    }

    /// Returns the claims about the commands that are not git.
    pub(crate) fn besides_git(&self) -> CommandClaims<'_> {
        let is_other = |action: &&ShellAction| action.program.rsplit('/').next() != Some("git");
        let actions = self.commands.iter().flat_map(|command| &command.actions).filter(is_other);
        CommandClaims { actions: actions.collect(), line: self }
    }

    /// Returns the claims about one command.
    pub(crate) fn of(&self, command: usize) -> CommandClaims<'_> {
        CommandClaims { actions: self.commands[command].actions.iter().collect(), line: self }
    }
}

/// The claims about some commands of a line.
pub(crate) struct CommandClaims<'l> {
    pub(crate) actions: Vec<&'l ShellAction>,
    line: &'l ClaimedLine,
}

impl CommandClaims<'_> {
    /// Returns `true` if the contents of a file may be read that was named so, and that lies there.
    pub(crate) fn reads(&self, given: &str, real: &str) -> bool {
        self.any(|access, path| match access {
            Access::Reads => path == given || path == real,
            Access::ReadsTree => path == given || is_below(real, &resolved(path)),
            // Without a path, git shows what it tracks anywhere in the repository.
            Access::ReadsTracked | Access::ShowsTracked | Access::ReadsStored => {
                let is_whole = self.line.bases.iter().any(|base| base == path);
                let is_known = is_tracked(real) || access == Access::ReadsStored && is_stored(real);
                path == given || is_known && (is_below(real, path) || is_whole)
            }
            Access::Writes | Access::Lists | Access::Enters => false,
        }) || self.leads(Access::ReadsTree, real)
            || self.writes(given)
            || self.writes(real)
            || self.matches(|access| access != Access::Lists, given)
            || self.matches(|access| access != Access::Lists, real)
    }

    /// Returns `true` if the names in a folder may be looked at.
    pub(crate) fn lists(&self, folder: &str) -> bool {
        let is_near = |path: &str| {
            is_below(folder, path) || is_below(path, folder) || is_below(folder, &resolved(path))
        };
        let by_glob = |(link, target): &(&str, &str)| {
            let link = whole(link);
            let target = absolute(link.rsplit_once('/').map_or("/", |(folder, _)| folder), target);
            is_below(folder, &target) && self.matches(|_| true, &link)
        };
        self.any(|_, path| is_near(path))
            || self.any_pattern() && self.line.bases.iter().any(|base| is_below(folder, base))
            || ancestors(folder).any(|path| self.matches(|_| true, path))
            || LINKS.iter().any(by_glob)
    }

    /// Returns `true` if a file may be made, changed or removed. Below a folder that is named, only a command that goes through
    /// whole folders does that.
    pub(crate) fn writes(&self, path: &str) -> bool {
        let goes_through = self.actions.iter().any(|action| action.effect == Effect::Acts) && {
            let recursive = ["-r", "-R", "-a", "-rf", "-fr", "-d", "--recursive", "--archive", "-delete"];
            let words = self.line.commands.iter().flat_map(|command| &command.words);
            let mut texts = words.map(|word| word.text.as_str());
            texts.any(|word| {
                recursive.contains(&word)
                    || word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R', 'a'])
                    || word.rsplit('/').next() == Some("mv")
            })
        };
        self.any(|access, claimed| {
            let is_it = claimed == path || resolved(claimed) == path;
            access == Access::Writes
                && (is_it || goes_through && (is_below(path, claimed) || is_below(path, &resolved(claimed))))
        }) || self.matches(|access| access == Access::Writes, path)
            || goes_through && self.leads(Access::Writes, path)
            || goes_through
                && ancestors(path).any(|path| self.matches(|access| access == Access::Writes, path))
    }

    /// Returns `true` if a glob of the shell matches a link that leads to this path, or above it.
    fn leads(&self, access: Access, path: &str) -> bool {
        let is_of_shell =
            |file: &&FileUse| file.is_pattern && file.access == access && !file.path.ends_with("/**");
        let globs: Vec<String> = self
            .files()
            .filter(is_of_shell)
            .flat_map(|file| self.line.bases.iter().map(|base| absolute(base, &file.path)))
            .collect();
        LINKS.iter().any(|(link, _)| {
            let link = whole(link);
            is_below(path, &resolved(&link)) && globs.iter().any(|glob| is_match(glob, &link))
        })
    }

    /// Returns `true` if another file of the same folder may be written.
    pub(crate) fn writes_beside(&self, path: &str) -> bool {
        let folder =
            |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
        let mut written = self.files().filter(|file| file.access == Access::Writes);
        written.any(|file| {
            let path = &folder(path);
            let is_it = |base: &String| {
                let beside = folder(&absolute(base, &file.path));
                is_match(&beside, path) || resolved(&beside) == *path
            };
            self.line.bases.iter().any(is_it)
        })
    }

    fn files(&self) -> impl Iterator<Item = &FileUse> {
        self.actions.iter().flat_map(|action| &action.files)
    }

    /// Returns `true` if this path, or one below it, may be written.
    pub(crate) fn writes_below(&self, path: &str) -> bool {
        // A glob that matches nothing is a path itself.
        let mut globs = self.files().filter(|file| file.is_pattern && file.access == Access::Writes);
        self.any(|access, claimed| access == Access::Writes && is_below(claimed, path))
            || globs
                .any(|glob| self.line.bases.iter().any(|base| is_below(&absolute(base, &glob.path), path)))
    }

    /// Returns `true` if `holds` is true of a claim without wildcards.
    fn any(&self, holds: impl Fn(Access, &str) -> bool) -> bool {
        let mut files = self.files().filter(|file| !file.is_pattern);
        files.any(|file| self.line.bases.iter().any(|base| holds(file.access, &absolute(base, &file.path))))
    }

    fn any_pattern(&self) -> bool {
        self.files().any(|file| file.is_pattern)
    }

    /// Returns `true` if a pattern with such an access matches. One without a slash is for names in any folder.
    fn matches(&self, is_meant: impl Fn(Access) -> bool, path: &str) -> bool {
        let mut files = self.files().filter(|file| file.is_pattern);
        files.any(|file| {
            let whole = |base: &str| {
                if file.path.contains('/') { absolute(base, &file.path) } else { format!("**/{}", file.path) }
            };
            let globs = |base: &String| [whole(base), resolved(&whole(base))];
            let matches = |base: &String| {
                globs(base).iter().flat_map(|glob| alternatives(glob)).any(|glob| is_match(&glob, path))
            };
            is_meant(file.access) && self.line.bases.iter().any(matches)
        })
    }
}

/// Returns `true` if a path is a folder, or lies below it.
pub(crate) fn is_below(path: &str, folder: &str) -> bool {
    folder == "/" || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A path, and every folder above it.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above))
}

/// Returns the target of a path, if a link of the project is on it.
pub(crate) fn resolved(path: &str) -> String {
    for (link, target) in LINKS {
        let link = whole(link);
        if let Some(rest) = path.strip_prefix(&link).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            let folder = link.rsplit_once('/').map_or("/", |(folder, _)| folder);
            return absolute(&absolute(folder, target), rest.trim_start_matches('/'));
        }
    }
    path.to_owned()
}

/// Returns `true` if git has stored a file of the project that it does not track.
fn is_stored(path: &str) -> bool {
    FILES.iter().any(|(file, state)| *state == State::Stashed && whole(file) == path)
}

/// Returns `true` if git tracks a file of the project, or did once.
pub(crate) fn is_tracked(path: &str) -> bool {
    let is_state = |state: State| !matches!(state, State::Untracked | State::Stashed | State::Outside);
    let files = FILES.iter().filter(|(_, state)| is_state(*state)).map(|(path, _)| *path);
    let others = HOSTILE.iter().map(|(path, _)| *path).chain(LINKS.iter().map(|(path, _)| *path));
    files.chain(others).any(|file| whole(file) == path)
}

/// The globs that one with braces stands for.
fn alternatives(glob: &str) -> Vec<String> {
    let Some((before, rest)) = glob.split_once('{') else { return vec![glob.to_owned()] };
    let Some((inside, after)) = rest.split_once('}') else { return vec![glob.to_owned()] };
    inside.split(',').flat_map(|one| alternatives(&format!("{before}{one}{after}"))).collect()
}

/// Returns `true` if a glob in the dialect of policies matches a path, letters in either case.
pub(crate) fn is_match(glob: &str, path: &str) -> bool {
    let letters = |text: &str| text.to_lowercase().chars().collect::<Vec<char>>();
    is_match_of(&letters(glob), &letters(path))
}

fn is_match_of(glob: &[char], path: &[char]) -> bool {
    match glob {
        [] => path.is_empty(),
        ['*', '*', '/', rest @ ..] if is_match_of(rest, path) => true,
        ['*', '*', rest @ ..] => (0..=path.len()).any(|taken| is_match_of(rest, &path[taken..])),
        ['*', rest @ ..] => {
            let end = path.iter().position(|letter| *letter == '/').unwrap_or(path.len());
            (0..=end).any(|taken| is_match_of(rest, &path[taken..]))
        }
        ['\\', letter, rest @ ..] => path.first() == Some(letter) && is_match_of(rest, &path[1..]),
        ['[', rest @ ..] => is_of_class(rest, path),
        ['?', rest @ ..] => {
            path.first().is_some_and(|letter| *letter != '/') && is_match_of(rest, &path[1..])
        }
        [letter, rest @ ..] => path.first() == Some(letter) && is_match_of(rest, &path[1..]),
    }
}

/// Returns `true` if a path begins with a letter of a class, and goes on as the glob behind it. `!` alone turns a class around.
fn is_of_class(class: &[char], path: &[char]) -> bool {
    let Some(end) = class.iter().position(|letter| *letter == ']') else { return false };
    let (inside, rest) = (&class[..end], &class[end + 1..]);
    let (is_negated, inside) = match inside {
        ['!', inside @ ..] => (true, inside),
        inside => (false, inside),
    };
    let Some(letter) = path.first().filter(|letter| **letter != '/') else { return false };
    let is_in_range =
        inside.windows(3).any(|range| range[1] == '-' && (range[0]..=range[2]).contains(letter));
    (is_in_range || inside.contains(letter)) != is_negated && is_match_of(rest, &path[1..])
}

#[test]
fn globs_match_as_policies_read_them() {
    assert!(
        is_match("**/*.rs", "/a/b.rs") && is_match("/a/**", "/a/b/c") && is_match("**/[!x]env", "/a/.ENV")
    );
    assert!(!is_match("/a/*", "/a/b/c") && !is_match("**/[^x]env", "/a/.env") && !is_match("/a/?", "/a//"));
    assert_eq!(alternatives("*.{rs,e}{n,v}"), ["*.rsn", "*.rsv", "*.en", "*.ev"]);
}
