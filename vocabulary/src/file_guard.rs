//! Files that a policy guards by their names, and the access of calls to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedList, Glob};

/// Globs of one list of a policy's guarded files.
pub const MAX_GUARDED_GLOBS: usize = 512;

/// One list of globs for the paths of files.
pub type FileGlobs = BoundedList<Glob, 0, MAX_GUARDED_GLOBS>;

/// Files that a policy guards, whichever tool or command names them.
///
/// Globs are compared with whole paths, from the root on; `*` ends at a `/`. Letter case does not count. Like the rules beside it in a
/// policy it refuses members that it does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileGuard {
    /// Files that hold secrets. A call that names one is denied. A call that may read one among others excludes them, or is reviewed.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub secret: FileGlobs,
    /// Files that hold no secret, although a glob of `secret` matches them.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub not_secret: FileGlobs,
    /// Files that a person looks at before a call reads them: settings that may hold tokens, and everything that git
    /// has stored. A call that may read one among others excludes them, or is reviewed.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reviewed: FileGlobs,
    /// Files whose contents programs run by themselves. A call that writes one is reviewed, whatever trust it has earned.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub run_by_themselves: FileGlobs,
}

/// The access of a call to a place that its arguments name, from the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileAccess {
    /// It looks at names and properties.
    List,
    /// It reads the contents.
    Read,
    /// It reads the contents of every file in this folder and below it.
    ReadTree,
    /// It makes, changes or removes it.
    Write,
}

fn is_empty(globs: &FileGlobs) -> bool {
    globs.len() == 0
}
