//! Projects, told apart by the working folders of calls, as a policy says.

use std::sync::LazyLock;

use bitacora_vocabulary::{BoundedText, DimensionPart, Glob, Workspaces};

use super::{PolicyError, WorktreesError};
use crate::glob::{Dialect, GlobPattern};
use crate::tools::arguments::{clean_folder, shortened};

/// Roots of projects where a policy names none: folders that by convention hold one project each. Folders of people are none of them,
/// because how deep projects lie in these differs: in one they are `~/src/cli`, in another `~/src/acme/cli` beside others.
const SHIPPED_ROOTS: [&str; 3] = ["/workspace/*", "/workspaces/*", "/home/runner/work/*/*"];
/// Folders of worktrees where a policy names none.
const SHIPPED_WORKTREES: [&str; 2] = [".worktrees", ".claude/worktrees"];
/// Folders on the way to a working folder that are compared with roots: a project does not lie deeper.
const MAX_ROOT_DEPTH: usize = 64;
/// Steps that comparing one working folder may take; behind them no root matches, so that projects are split and never put together.
const MAX_ROOT_STEPS: u64 = 1 << 20;

/// The rules for telling projects apart, ready to be asked.
#[derive(Debug, Clone)]
pub(crate) struct WorkspaceRules {
    kept: bool,
    roots: Box<[GlobPattern]>,
    /// The steps of each folder of worktrees.
    worktrees: Box<[Box<[String]>]>,
}

/// The rules where no policy sets others.
#[expect(clippy::expect_used, reason = "the shipped globs are constants, and a test compiles them")]
static SHIPPED: LazyLock<WorkspaceRules> =
    LazyLock::new(|| WorkspaceRules::compile(&Workspaces::default()).expect("what is shipped can be meant"));

impl WorkspaceRules {
    /// Returns the rules where no policy sets others.
    pub(crate) fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Makes the rules of a policy ready.
    ///
    /// # Errors
    /// A glob that is none, or a folder of worktrees that is no plain name.
    pub(super) fn compile(workspaces: &Workspaces) -> Result<Self, PolicyError> {
        let Workspaces { kept, roots, worktrees } = workspaces;
        let roots: Vec<&str> = match roots {
            Some(roots) => roots.iter().map(Glob::as_str).collect(),
            None => SHIPPED_ROOTS.to_vec(),
        };
        let worktrees: Vec<&str> = match worktrees {
            Some(worktrees) => worktrees.iter().map(BoundedText::as_str).collect(),
            None => SHIPPED_WORKTREES.to_vec(),
        };
        let root = |glob: &str| {
            GlobPattern::compile(glob, Dialect::Path)
                .map_err(|problem| PolicyError::Root { glob: glob.to_owned(), problem })
        };
        let folder = |name: &str| {
            let steps: Box<[String]> = name.split('/').map(str::to_owned).collect();
            let is_plain = |step: &String| !matches!(step.as_str(), "" | "." | "..") && !step.contains('\\');
            if steps.iter().all(is_plain) {
                Ok(steps)
            } else {
                Err(PolicyError::Worktrees { folder: name.to_owned(), problem: WorktreesError })
            }
        };
        Ok(Self {
            kept: *kept,
            roots: roots.into_iter().map(root).collect::<Result<_, _>>()?,
            worktrees: worktrees.into_iter().map(folder).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the workspace of a call that names this working folder: `-` where that is none, or cannot be read. `None` where
    /// trust is kept for all of them together.
    pub(crate) fn workspace_of(&self, cwd: Option<&str>) -> Option<DimensionPart> {
        self.kept.then(|| {
            let folder = cwd.and_then(clean_folder);
            let root = folder.as_deref().map(|folder| self.root_of(folder));
            root.and_then(|root| DimensionPart::new(shortened(root).as_str()).ok()).unwrap_or_default()
        })
    }

    /// Returns the root of the project that a cleaned folder lies in.
    fn root_of<'f>(&self, folder: &'f str) -> &'f str {
        let mut steps = MAX_ROOT_STEPS;
        for ancestor in ancestors(folder).take(MAX_ROOT_DEPTH) {
            for root in &self.roots {
                match root.matches_within(ancestor, &mut steps) {
                    Some(true) => return ancestor,
                    Some(false) => {}
                    None => return folder,
                }
            }
        }
        self.holder_of_worktree(folder).unwrap_or(folder)
    }

    /// Returns the project that a folder belongs to because it lies in one of its worktrees.
    fn holder_of_worktree<'f>(&self, folder: &'f str) -> Option<&'f str> {
        let names: Vec<&str> = folder.split('/').collect();
        let is_worktrees = |at: usize| {
            let behind = names.get(at..).unwrap_or_default();
            self.worktrees.iter().any(|steps| {
                behind.len() > steps.len() && behind.iter().zip(steps).all(|(name, step)| name == step)
            })
        };
        let at = (1..names.len()).find(|at| is_worktrees(*at))?;
        let holder = names.get(..at)?;
        // Beside worktrees of one project, a folder for all that somebody has may hold those of others.
        if is_home(holder) {
            return None;
        }
        let length = holder.iter().map(|name| name.len() + 1).sum::<usize>().saturating_sub(1);
        folder.get(..length)
    }
}

/// Returns `true` if a folder is the root of a disk, a person's, or a general one: it holds more than a single project.
fn is_home(names: &[&str]) -> bool {
    let names = match names {
        [drive, rest @ ..] if drive.ends_with(':') => rest,
        ["", rest @ ..] => rest,
        all => all,
    };
    matches!(names, [] | ["root" | "tmp" | "home" | "Users"] | ["home" | "Users", _])
}

/// Returns the folders on the way from the root of the disk to a cleaned folder, that folder included.
fn ancestors(folder: &str) -> impl Iterator<Item = &str> {
    let ends = folder.match_indices('/').map(|(at, _)| at.max(1)).chain([folder.len()]);
    let mut before = 0;
    ends.filter(move |end| std::mem::replace(&mut before, *end) != *end).filter_map(|end| folder.get(..end))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rules(workspaces: Value) -> WorkspaceRules {
        WorkspaceRules::compile(&serde_json::from_value(workspaces).unwrap()).unwrap()
    }

    fn workspace(rules: &WorkspaceRules, cwd: &str) -> String {
        rules.workspace_of(Some(cwd)).unwrap().to_string()
    }

    #[test]
    fn folders_on_the_way_are_named_from_the_root_on() {
        let all = |folder| ancestors(folder).collect::<Vec<_>>();
        assert_eq!(all("/home/ana/cli"), ["/", "/home", "/home/ana", "/home/ana/cli"]);
        assert_eq!(all("/a"), ["/", "/a"]);
        assert_eq!(all("/"), ["/"]);
        assert_eq!(all("C:/a/b"), ["C:", "C:/a", "C:/a/b"]);
        assert_eq!(all("C:"), ["C:"]);
    }

    #[test]
    fn the_first_folder_that_matches_a_root_is_the_workspace() {
        let rules = rules(json!({"roots": ["/home/*/src/*", "/srv/*/app", "/srv/*"]}));
        for (cwd, expected) in [
            ("/home/ana/src/cli", "/home/ana/src/cli"),
            ("/home/ana/src/cli/cmd/x", "/home/ana/src/cli"),
            ("/home/ana/src/cli/.worktrees/3", "/home/ana/src/cli"),
            ("/home/ana/src/./cli//cmd/", "/home/ana/src/cli"),
            ("file:///home/ana/src/cli/cmd", "/home/ana/src/cli"),
            ("/home/ana/src", "/home/ana/src"),
            ("/home/ana/doc/cli", "/home/ana/doc/cli"),
            ("/srv/x/app/deep", "/srv/x"),
            ("/", "/"),
        ] {
            assert_eq!(workspace(&rules, cwd), expected, "{cwd}");
        }
    }

    #[test]
    fn without_a_word_of_a_policy_projects_are_split_and_worktrees_are_not() {
        let shipped = WorkspaceRules::shipped();
        for (cwd, expected) in [
            ("/home/dev-1/Work/acme/devenv/cli", "/home/dev-1/Work/acme/devenv/cli"),
            ("/home/dev-1/src/acme/cli", "/home/dev-1/src/acme/cli"),
            ("/home/dev-1/src/acme/web", "/home/dev-1/src/acme/web"),
            ("/home/dev-2/workspace/cli/.worktrees/3", "/home/dev-2/workspace/cli"),
            ("/home/dev-2/workspace/cli/.worktrees/ana/fix/cmd/x", "/home/dev-2/workspace/cli"),
            ("/home/dev-2/workspace/cli/.worktrees/3/.worktrees/4", "/home/dev-2/workspace/cli"),
            ("/Users/ana/cli/.claude/worktrees/a", "/Users/ana/cli"),
            ("C:\\Users\\ana\\cli\\.worktrees\\a", "C:/Users/ana/cli"),
            // The folder itself holds all of them, and a name that begins alike is another one.
            ("/srv/cli/.worktrees", "/srv/cli/.worktrees"),
            ("/srv/cli/.worktrees2/3", "/srv/cli/.worktrees2/3"),
            ("/srv/cli/.claude/3", "/srv/cli/.claude/3"),
            ("/workspaces/cli/cmd/x", "/workspaces/cli"),
            ("/workspace", "/workspace"),
            ("/workspace/cli/cmd", "/workspace/cli"),
            ("/home/runner/work/cli/cli/cmd", "/home/runner/work/cli/cli"),
        ] {
            assert_eq!(workspace(shipped, cwd), expected, "{cwd}");
        }
    }

    #[test]
    fn worktrees_of_all_that_somebody_has_are_of_no_single_project() {
        let shipped = WorkspaceRules::shipped();
        for cwd in [
            "/.worktrees/a",
            "/home/ana/.worktrees/cli-3",
            "/home/ana/.claude/worktrees/web",
            "/Users/ana/.worktrees/cli-3",
            "/root/.worktrees/cli-3",
            "/tmp/.worktrees/cli-3",
            "C:/.worktrees/a",
            "C:/Users/ana/.worktrees/a",
        ] {
            assert_eq!(workspace(shipped, cwd), cwd);
        }
    }

    #[test]
    fn who_names_no_folder_that_can_be_read_is_in_the_unknown_one() {
        let shipped = WorkspaceRules::shipped();
        let unknown = Some(DimensionPart::default());
        assert_eq!(shipped.workspace_of(None), unknown);
        for cwd in ["cli", "./cli", "", "/home/ana/../bob/cli", "/a\u{7}b", "~/cli", "C:x", "*"] {
            assert_eq!(shipped.workspace_of(Some(cwd)), unknown, "{cwd:?}");
        }
        assert_eq!(rules(json!({"kept": false})).workspace_of(Some("/a")), None);
    }

    #[test]
    fn a_long_folder_is_cut_so_that_two_of_them_stay_two() {
        let shipped = WorkspaceRules::shipped();
        let long = |end: &str| format!("/{}/{end}", "x/".repeat(2_000));
        let (one, other) = (workspace(shipped, &long("a")), workspace(shipped, &long("b")));
        assert_ne!(one, other);
        assert!(one.len() < 300 && one.starts_with("/x/x/"), "{one}");
    }

    #[test]
    fn what_takes_too_long_to_compare_splits() {
        let slow = "/**a**a**a**a**a**a**a**a**b";
        let rules = rules(json!({"roots": vec![slow; 64]}));
        let cwd = format!("/{}", "a".repeat(4_000));
        let began = std::time::Instant::now();
        assert_eq!(rules.root_of(&cwd), cwd);
        assert!(began.elapsed().as_millis() < 2_000, "{:?}", began.elapsed());
        let deep = format!("{}/b", "/a".repeat(100));
        let rules = self::rules(json!({"roots": ["/**/b"]}));
        assert_eq!(rules.root_of(&deep), deep);
        assert_eq!(rules.root_of("/a/b/c"), "/a/b");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_text() {
        let compiled = |workspaces: Value| {
            WorkspaceRules::compile(&serde_json::from_value(workspaces).unwrap())
                .map_err(|error| error.to_string())
        };
        let refused = compiled(json!({"roots": ["/home/{a,b}"]})).unwrap_err();
        assert!(refused.starts_with("workspaces.roots, `/home/{a,b}`: "), "{refused}");
        for folder in ["/.worktrees", ".worktrees/", "..", "a/../b", "a\\b"] {
            let refused = compiled(json!({"worktrees": [folder]})).unwrap_err();
            assert!(refused.contains("plain names"), "{refused}");
        }
    }
}
