//! The way in which a policy tells projects apart, so that trust earned in one counts in no other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedList, BoundedText, Glob};

/// Roots of projects that a policy may name.
pub const MAX_WORKSPACE_ROOTS: usize = 64;
/// Folders of worktrees that a policy may name.
pub const MAX_WORKTREE_FOLDERS: usize = 16;
/// Bytes of the name of a folder of worktrees.
pub const MAX_WORKTREE_FOLDER_BYTES: usize = 128;

/// The separation of trust and breakers by projects. The project of a call is found from its working folder. A member
/// that is left out is as shipped. Unknown members are refused, as in the rules of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workspaces {
    /// `true`: they are kept apart. Without it they are.
    #[serde(default = "kept")]
    pub kept: bool,
    /// Globs for folders that are roots of projects; `*` ends at a `/`. The project of a call is the first folder that
    /// matches one. The search goes from the root of the disk to the call's working folder. Without any match, the
    /// project is the folder to which the worktree it works in belongs, or else the working folder itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<BoundedList<Glob, 0, MAX_WORKSPACE_ROOTS>>,
    /// Folders in which a project keeps worktrees of itself, such as `.worktrees`: a worktree in one belongs to the
    /// project that the folder lies in. They are plain names, with `/` between several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<BoundedList<BoundedText<MAX_WORKTREE_FOLDER_BYTES>, 0, MAX_WORKTREE_FOLDERS>>,
}

const fn kept() -> bool {
    true
}

impl Default for Workspaces {
    fn default() -> Self {
        Self { kept: true, roots: None, worktrees: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_as_shipped_and_what_is_unknown_is_refused() {
        let read = |text: &str| serde_json::from_str::<Workspaces>(text);
        assert_eq!(read("{}").unwrap(), Workspaces::default());
        assert_eq!(read(r#"{"kept":true}"#).unwrap(), Workspaces::default());
        assert!(!read(r#"{"kept":false}"#).unwrap().kept);
        let named = r#"{"kept":true,"roots":["/home/*/src/*"],"worktrees":[".worktrees"]}"#;
        assert_eq!(serde_json::to_string(&read(named).unwrap()).unwrap(), named);
        let long = format!(r#"{{"worktrees":["{}"]}}"#, "x".repeat(MAX_WORKTREE_FOLDER_BYTES + 1));
        let many = format!(r#"{{"roots":[{}"/a"]}}"#, r#""/a","#.repeat(MAX_WORKSPACE_ROOTS));
        let bad =
            [r#"{"keep":false}"#, r#"{"kept":null}"#, r#"{"roots":"/a"}"#, r#"{"roots":[""]}"#, &long, &many];
        for bad in bad {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
