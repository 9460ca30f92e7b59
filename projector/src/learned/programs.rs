//! Commands that say little about their dimension: leading ones like `cd`, and checks that may fail.

use bitacora_vocabulary::DimensionPart;

/// They say where a command works. The command behind them went well or failed.
const LEADING: [&str; 3] = ["cd", "popd", "pushd"];

/// They check, build or look for something, and say by how they end what they found. That a test fails is no reason to stop testing.
const FINDING: [&str; 47] = [
    "[",
    "ack",
    "ag",
    "bazel",
    "bun",
    "cargo",
    "clippy-driver",
    "cmake",
    "cmp",
    "ctest",
    "deno",
    "diff",
    "dotnet",
    "eslint",
    "flake8",
    "go",
    "golangci-lint",
    "gradle",
    "gradlew",
    "grep",
    "jest",
    "just",
    "make",
    "mise",
    "mocha",
    "mvn",
    "mvnw",
    "mypy",
    "ninja",
    "nox",
    "npm",
    "phpunit",
    "pnpm",
    "pyright",
    "pytest",
    "rg",
    "rspec",
    "ruff",
    "rustc",
    "shellcheck",
    "swift",
    "task",
    "tox",
    "tsc",
    "vitest",
    "which",
    "yarn",
];

/// Returns `true` if the context tells what ran.
pub(super) fn tells_what_ran(context: &str) -> bool {
    !programs(context).all(|program| LEADING.contains(&program))
}

/// Returns `true` if a failure in this context speaks against the call, and not for what it found.
pub(super) fn failure_speaks_against(context: &str) -> bool {
    !programs(context).any(|program| FINDING.contains(&program))
}

/// The programs that a context names, without their folders.
fn programs(context: &str) -> impl Iterator<Item = &str> {
    let named = context.strip_prefix(DimensionPart::SEVERAL).unwrap_or(context).split(',');
    named.map(|program| program.rsplit('/').next().unwrap_or(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_by_name_alone_or_among_others() {
        for finding in ["go", "cargo", "/usr/bin/make", "./gradlew", "several:cd,go", "several:pytest,tee"] {
            assert!(!failure_speaks_against(finding), "{finding}");
        }
        for other in ["git", "gopher", "-", "several:cd,git", "deploy", "opaque"] {
            assert!(failure_speaks_against(other), "{other}");
        }
        assert!(!tells_what_ran("cd") && !tells_what_ran("several:cd,popd"));
        assert!(tells_what_ran("several:cd,git") && tells_what_ran("-") && tells_what_ran("."));
    }
}
