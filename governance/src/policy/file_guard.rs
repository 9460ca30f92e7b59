//! Files that a policy guards by their names, against every tool and command.

use bitacora_vocabulary::{FileAccess, FileGuard, Glob};
use serde::{Deserialize, Serialize};

use super::PolicyError;
use super::names::{as_windows_opens, folded, folded_glob, may_be_shortened};
use crate::glob::{Dialect, GlobPattern};
use crate::tools::arguments::{PlaceText, Reach, clean_folder, is_cut};

/// Alternatives that the braces of one pattern may come to.
const MAX_ALTERNATIVES: usize = 8;
/// Patterns of one call that are compared; the others may meet anything.
const MAX_COMPARED_PATTERNS: usize = 16;
/// Texts in place of the wildcards of a pattern. The same finding on all of them holds for all matches.
const SAMPLES: [&str; 2] = ["", "q7"];

/// The guarded files of a policy, ready to compare.
#[derive(Debug, Clone, Default)]
pub(crate) struct GuardedFiles {
    secret: Box<[GlobPattern]>,
    not_secret: Box<[GlobPattern]>,
    reviewed: Box<[GlobPattern]>,
    run_by_themselves: Box<[GlobPattern]>,
}

/// The findings of the guarded files on a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "struct Guarded")]
pub struct FileGuardResult {
    /// The reason against simply letting it pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<GuardFinding>,
    /// `true` if the call has to leave secret files out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub excludes: bool,
}

/// The reason against simply letting a call pass, from the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardFinding {
    /// It writes a file that runs by itself.
    RunsByItself,
    /// It may read a secret, and cannot leave it out; or it reads a file that a person looks at first.
    SecretPossible,
    /// It names a secret.
    Secret,
}

/// The overlap of a pattern with a list of globs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Overlap {
    None,
    Some,
    /// Everything that it matches is listed.
    Whole,
}

impl GuardedFiles {
    /// Makes the lists ready.
    ///
    /// # Errors
    /// The first glob that is none.
    pub(super) fn compile(guard: &FileGuard) -> Result<Self, PolicyError> {
        let list = |member: &'static str, globs: &[Glob]| {
            let one =
                |glob: &Glob| {
                    GlobPattern::compile(&folded(glob), Dialect::Path)
                        .map_err(|problem| PolicyError::Setting { member, glob: glob.to_string(), problem })
                };
            globs.iter().map(one).collect::<Result<Box<[_]>, _>>()
        };
        Ok(Self {
            secret: list("files.secret", &guard.secret)?,
            not_secret: list("files.not_secret", &guard.not_secret)?,
            reviewed: list("files.reviewed", &guard.reviewed)?,
            run_by_themselves: list("files.run_by_themselves", &guard.run_by_themselves)?,
        })
    }

    /// Judges a call that reaches these places.
    pub(crate) fn judge(&self, places: &[PlaceText], reach: &Reach, cwd: Option<&str>) -> FileGuardResult {
        let mut guarded = FileGuardResult::default();
        let named = places.iter().zip(&reach.uses).filter_map(|(place, access)| Some((place, (*access)?)));
        // A pattern for the names that are read narrows the tree that it is looked for in.
        let is_narrowed = reach.patterns.iter().any(|(access, _)| *access == FileAccess::Read);
        for (place, access) in named {
            let is_own = is_narrowed && !reach.is_command;
            guarded.place(self, (place, cwd), access, is_own, reach.is_command);
        }
        if self.guards_reading() {
            // Git can leave files out of what it tracks, and cannot tell what an object by its hash was called.
            guarded.excludes |= reach.shows_tracked;
            if reach.reads_stored {
                guarded.find(GuardFinding::SecretPossible);
            }
        }
        if reach.patterns.len() > MAX_COMPARED_PATTERNS {
            guarded.find(GuardFinding::SecretPossible);
        }
        for (access, pattern) in reach.patterns.iter().take(MAX_COMPARED_PATTERNS) {
            guarded.pattern(self, pattern, *access, reach.is_command);
        }
        guarded
    }

    /// Returns `true` if a place is a secret under any name by which a file system opens it.
    fn is_secret(&self, place: &str, opened: Option<&str>, cwd: Option<&str>) -> bool {
        [Some(place), opened].into_iter().flatten().any(|place| self.is_secret_name(place, cwd))
    }

    fn guards_reading(&self) -> bool {
        !self.secret.is_empty() || !self.reviewed.is_empty()
    }

    fn is_reviewed(&self, place: &str, opened: Option<&str>) -> bool {
        let names = [Some(place), opened];
        self.reviewed.iter().any(|glob| names.iter().flatten().any(|name| glob.matches(name)))
    }

    fn runs_by_itself(&self, place: &str, opened: Option<&str>) -> bool {
        let names = [Some(place), opened];
        self.run_by_themselves.iter().any(|glob| names.iter().flatten().any(|name| glob.matches(name)))
    }

    /// Exceptions are of a project's own folders: above it, and elsewhere, only the file's name can make one.
    fn is_secret_name(&self, place: &str, cwd: Option<&str>) -> bool {
        let matches = |globs: &[GlobPattern], text: &str| globs.iter().any(|glob| glob.matches(text));
        let below = cwd.and_then(|cwd| place.strip_prefix(cwd)?.strip_prefix('/'));
        let own = below.or(place.rsplit('/').next()).unwrap_or(place);
        matches(&self.secret, place) && !matches(&self.not_secret, own)
    }
}

impl FileGuardResult {
    fn find(&mut self, finding: GuardFinding) {
        self.finding = self.finding.max(Some(finding));
    }

    fn place(
        &mut self,
        files: &GuardedFiles,
        (place, cwd): (&PlaceText, Option<&str>),
        access: FileAccess,
        narrowed: bool,
        command: bool,
    ) {
        let text = folded(place);
        if is_cut(place) || may_be_shortened(&text) {
            // The rest of a long place tells neither, and a short name may stand for any.
            return self.find(GuardFinding::SecretPossible);
        }
        let opened = as_windows_opens(&text);
        let is_list = access == FileAccess::List;
        let cwd = cwd.and_then(clean_folder).map(|cwd| folded(&cwd));
        if files.is_secret(&text, opened.as_deref(), cwd.as_deref()) {
            self.find(if is_list { GuardFinding::SecretPossible } else { GuardFinding::Secret });
        } else if matches!(access, FileAccess::Read | FileAccess::ReadTree)
            && files.is_reviewed(&text, opened.as_deref())
        {
            self.find(GuardFinding::SecretPossible);
        } else if access == FileAccess::ReadTree && !narrowed && files.guards_reading() {
            self.may_read(command);
        }
        if access == FileAccess::Write && files.runs_by_itself(&text, opened.as_deref()) {
            self.find(GuardFinding::RunsByItself);
        }
    }

    fn pattern(&mut self, files: &GuardedFiles, pattern: &PlaceText, access: FileAccess, command: bool) {
        // The rest of a long pattern tells nothing, and one that only looks like another glob may match anything.
        let Some(text) = folded_glob(pattern).filter(|_| !is_cut(pattern)) else {
            return self.find(GuardFinding::SecretPossible);
        };
        match overlap(&text, &files.secret) {
            Overlap::Whole if access == FileAccess::List => self.find(GuardFinding::SecretPossible),
            Overlap::Whole if !files.is_secret_exempt(&text) => self.find(GuardFinding::Secret),
            Overlap::Some if access != FileAccess::List => self.may_read(command),
            Overlap::Whole | Overlap::Some | Overlap::None => {}
        }
        if matches!(access, FileAccess::Read | FileAccess::ReadTree) {
            match overlap(&text, &files.reviewed) {
                Overlap::Whole => self.find(GuardFinding::SecretPossible),
                Overlap::Some if !files.is_secret_exempt(&text) => self.may_read(command),
                Overlap::Some | Overlap::None => {}
            }
        }
        if access == FileAccess::Write && overlap(&text, &files.run_by_themselves) > Overlap::None {
            self.find(GuardFinding::RunsByItself);
        }
    }

    /// Notes that the call may read a secret. A tool leaves files out on request; a command runs as it is.
    fn may_read(&mut self, is_command: bool) {
        if is_command {
            self.find(GuardFinding::SecretPossible);
        } else {
            self.excludes = true;
        }
    }
}

impl GuardedFiles {
    /// Returns `true` if a pattern without a wildcard names a file that is no secret.
    fn is_secret_exempt(&self, pattern: &str) -> bool {
        let is_plain =
            !pattern.contains(['?', '[', '{', '\\']) && !pattern.trim_start_matches("**/").contains('*');
        is_plain
            && self
                .not_secret
                .iter()
                .any(|glob| glob.matches(pattern.trim_start_matches("**/")) || glob.matches(pattern))
    }
}

/// Returns the overlap of a pattern, in lower case, with a list.
fn overlap(pattern: &str, globs: &[GlobPattern]) -> Overlap {
    let Some(alternatives) = expanded(pattern) else {
        return if globs.is_empty() { Overlap::None } else { Overlap::Some };
    };
    let of_one = |pattern: &String| {
        let Ok(compiled) = GlobPattern::compile(pattern, Dialect::Path) else { return Overlap::Some };
        let samples = SAMPLES.map(|sample| sampled(pattern, sample));
        if samples.iter().all(|sample| globs.iter().any(|glob| glob.matches(sample))) {
            Overlap::Whole
        } else if globs.iter().any(|glob| glob.may_meet(&compiled)) {
            Overlap::Some
        } else {
            Overlap::None
        }
    };
    let found: Vec<Overlap> = alternatives.iter().map(of_one).collect();
    // One alternative that is listed as a whole names a secret, whatever the others do.
    found.into_iter().max().filter(|_| !globs.is_empty()).unwrap_or(Overlap::None)
}

/// Returns one text of those that a pattern matches.
fn sampled(pattern: &str, sample: &str) -> String {
    let mut text = String::new();
    let mut rest = pattern.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '*' => {
                let is_folders = rest.next_if_eq(&'*').is_some();
                text.push_str(if is_folders && sample.is_empty() { "q" } else { sample });
            }
            '?' => text.push('q'),
            '[' => {
                let listed = rest.by_ref().take_while(|c| *c != ']').find(|c| c.is_alphanumeric());
                text.push(listed.unwrap_or('q'));
            }
            '\\' => text.extend(rest.next()),
            plain => text.push(plain),
        }
    }
    text
}

/// Returns the patterns that braces stand for. `None` where they are too many, or nested.
pub(super) fn expanded(pattern: &str) -> Option<Vec<String>> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(pattern) = open.pop() {
        if done.len() + open.len() >= MAX_ALTERNATIVES {
            return None;
        }
        let Some((before, rest)) = pattern.split_once('{') else {
            if pattern.contains('}') {
                return None;
            }
            done.push(pattern);
            continue;
        };
        let (inside, after) = rest.split_once('}')?;
        if inside.contains('{') || before.ends_with('\\') {
            return None;
        }
        open.extend(inside.split(',').map(|one| format!("{before}{one}{after}")));
    }
    Some(done)
}

#[cfg(test)]
mod tests;
