use bitacora_vocabulary::FileGlobs;

use super::*;
use crate::policy::parse_policy;
use crate::tools::arguments::PlaceText;

fn files() -> GuardedFiles {
    let starter = parse_policy(super::super::STARTER_POLICY.as_bytes()).unwrap();
    GuardedFiles::compile(&starter.files.unwrap()).unwrap()
}

fn place(text: &str) -> PlaceText {
    PlaceText::new(text).unwrap()
}

/// Returns the finding on one place, by a tool or by a command.
fn of_place(text: &str, access: FileAccess, is_command: bool) -> FileGuardResult {
    let reach = Reach { uses: vec![Some(access)], is_command, ..Reach::default() };
    files().judge(&[place(text)], &reach, Some("/home/ana/project"))
}

fn of_pattern(text: &str, access: FileAccess, is_command: bool) -> FileGuardResult {
    files().judge(
        &[],
        &Reach { patterns: vec![(access, place(text))], is_command, ..Reach::default() },
        Some("/home/ana/project"),
    )
}

#[test]
fn every_kind_of_secret_file_is_found_whatever_its_letter_case() {
    for name in [
        ".env",
        ".ENV",
        ".env.production",
        "prod.env",
        "id_rsa",
        "ID_ECDSA",
        "server.key",
        "store.p12",
        "a.PEM",
        ".git-credentials",
        ".npmrc",
        ".pypirc",
        ".kube/config",
        ".docker/config.json",
        "main.tfstate",
        "credentials.json",
        "master.key",
        ".ssh/config",
        ".aws/credentials",
        ".netrc",
        ".gnupg/x",
        ".bash_history",
        "bitacora.keyring",
        "bitacora.keyring.admin-token",
        "coder.token",
    ] {
        let path = format!("/home/ana/project/{name}");
        for is_command in [false, true] {
            let found = of_place(&path, FileAccess::Read, is_command);
            assert_eq!(found.finding, Some(GuardFinding::Secret), "{path}");
            let listed = of_place(&path, FileAccess::List, is_command).finding;
            assert_eq!(listed, Some(GuardFinding::SecretPossible), "{path}");
        }
    }
}

#[test]
fn examples_and_public_keys_are_no_secrets() {
    for name in [
        ".env.example",
        ".env.sample",
        "testdata/server.pem",
        "tests/tls/a.key",
        "id_ed25519.pub",
        "environment.ts",
        "src/key.rs",
        "keys.go",
        "credentials.go",
        "token.rs",
        "src/env.rs",
    ] {
        let path = format!("/home/ana/project/{name}");
        assert_eq!(of_place(&path, FileAccess::Read, true), FileGuardResult::default(), "{path}");
    }
}

#[test]
fn a_tool_leaves_secrets_out_of_a_tree_and_a_command_is_reviewed() {
    let excluded = FileGuardResult { finding: None, excludes: true };
    assert_eq!(of_place("/home/ana/project", FileAccess::ReadTree, false), excluded);
    let reviewed = of_place("/home/ana/project", FileAccess::ReadTree, true);
    assert_eq!(reviewed.finding, Some(GuardFinding::SecretPossible));
    assert_eq!(of_place("/home/ana/.ssh", FileAccess::ReadTree, false).finding, Some(GuardFinding::Secret));
    for (pattern, is_command) in [("**/*.json", false), ("**/.e*", false), ("**/*", false)] {
        assert_eq!(of_pattern(pattern, FileAccess::Read, is_command), excluded, "{pattern}");
        assert_eq!(of_pattern(pattern, FileAccess::Read, true).finding, Some(GuardFinding::SecretPossible));
        assert_eq!(of_pattern(pattern, FileAccess::List, true), FileGuardResult::default(), "{pattern}");
    }
}

#[test]
fn a_pattern_that_only_secrets_match_names_them() {
    for pattern in
        ["**/*.pem", "**/.env", "**/id_rsa*", "/home/ana/.ssh/*", "**/{.env,notes}", "**/*.{pem,key}"]
    {
        for is_command in [false, true] {
            let read = of_pattern(pattern, FileAccess::Read, is_command).finding;
            assert_eq!(read, Some(GuardFinding::Secret), "{pattern}");
            let listed = of_pattern(pattern, FileAccess::List, is_command).finding;
            assert_eq!(listed, Some(GuardFinding::SecretPossible), "{pattern}");
        }
    }
    // `.ssh/x.go` is a secret too: a tool leaves it out, a command is reviewed.
    for pattern in ["**/*.go", "**/*.{ts,tsx}", "**/src/**/*.rs"] {
        assert_eq!(of_pattern(pattern, FileAccess::List, true), FileGuardResult::default(), "{pattern}");
        let read = |is_command| of_pattern(pattern, FileAccess::Read, is_command);
        assert_eq!(read(true).finding, Some(GuardFinding::SecretPossible), "{pattern}");
        assert_eq!(read(false), FileGuardResult { finding: None, excludes: true }, "{pattern}");
    }
    assert_eq!(of_pattern("**/.env.example", FileAccess::Read, true), FileGuardResult::default());
}

#[test]
fn what_runs_by_itself_is_held_back_where_it_is_written_and_read_freely() {
    for name in [
        "package.json",
        "Makefile",
        "build.rs",
        "conftest.py",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".pre-commit-config.yaml",
        ".gitattributes",
        "CLAUDE.md",
        "AGENTS.md",
        "Cargo.lock",
        "yarn.lock",
        ".cursor/rules",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".devcontainer/devcontainer.json",
        "Dockerfile",
        "sub/Dockerfile.dev",
        ".git/hooks/pre-commit",
        ".husky/pre-push",
    ] {
        let path = format!("/home/ana/project/{name}");
        let written = of_place(&path, FileAccess::Write, false).finding;
        assert_eq!(written, Some(GuardFinding::RunsByItself), "{path}");
        assert_eq!(of_place(&path, FileAccess::Read, true), FileGuardResult::default(), "{path}");
    }
    for name in ["src/main.rs", "README.md", "docs/makefiles.md", "src/package.rs"] {
        let path = format!("/home/ana/project/{name}");
        assert_eq!(of_place(&path, FileAccess::Write, false), FileGuardResult::default(), "{path}");
    }
}

#[test]
fn a_glob_that_is_none_is_named() {
    let guard = FileGuard {
        secret: FileGlobs::new(vec![Glob::new("a{b").unwrap()]).unwrap(),
        ..FileGuard::default()
    };
    let problem = GuardedFiles::compile(&guard).unwrap_err().to_string();
    assert!(problem.starts_with("files.secret, `a{b`:"), "{problem}");
}

#[test]
fn a_file_is_guarded_under_every_name_that_opens_it() {
    let secrets = [
        "/home/ana/project/.\u{17f}\u{17f}h/id",
        "/home/ana/project/.\u{df}h/id",
        "/home/ana/project/.s\u{200d}sh/id",
        "/home/ana/project/\u{ff0e}env",
        "/home/ana/project/.env.",
        "/home/ana/project/.env ",
        "c:/project/.env::$DATA",
        "c:/project/.ssh./id",
    ];
    for path in secrets {
        for is_command in [false, true] {
            let found = of_place(path, FileAccess::Read, is_command);
            assert_eq!(found.finding, Some(GuardFinding::Secret), "{path}");
        }
    }
    for path in
        ["/home/ana/project/.g\u{200c}it/config", "/home/ana/project/package.json.", "c:/p/makefile:x"]
    {
        let found = of_place(path, FileAccess::Write, false);
        assert_eq!(found.finding, Some(GuardFinding::RunsByItself), "{path}");
    }
    // Nobody can tell the file behind a short name.
    let short = of_place("c:/project/ENV~1", FileAccess::Read, false);
    assert_eq!(short.finding, Some(GuardFinding::SecretPossible));
    // Its stream makes no exception of a secret.
    let stream = of_place("/home/ana/project/.env:a.pub", FileAccess::Read, false);
    assert_eq!(stream.finding, Some(GuardFinding::Secret));
    for path in ["/home/ana/project/b\u{fc}cher.md", "/home/ana/project/a~1", "/home/ana/project/..."] {
        assert_eq!(of_place(path, FileAccess::Read, false), FileGuardResult::default(), "{path}");
    }
}

#[test]
fn a_pattern_is_compared_as_names_are_and_one_that_would_become_another_is_looked_at() {
    for (pattern, finding) in [
        ("**/.\u{17f}sh/**", GuardFinding::Secret),
        ("**/.s\u{200b}sh/**", GuardFinding::Secret),
        ("**/\u{ff0a}.pem", GuardFinding::SecretPossible),
    ] {
        assert_eq!(of_pattern(pattern, FileAccess::Read, false).finding, Some(finding), "{pattern}");
    }
}

#[test]
fn what_git_shows_without_naming_files_leaves_secrets_out_and_an_object_by_its_hash_is_looked_at() {
    let tracked = Reach { shows_tracked: true, is_command: true, ..Reach::default() };
    let stored = Reach { reads_stored: true, is_command: true, ..Reach::default() };
    let judged = |reach: &Reach| files().judge(&[], reach, Some("/home/ana/project"));
    assert_eq!(judged(&tracked), FileGuardResult { finding: None, excludes: true });
    assert_eq!(
        judged(&stored),
        FileGuardResult { finding: Some(GuardFinding::SecretPossible), excludes: false }
    );
    for reach in [&tracked, &stored] {
        assert_eq!(GuardedFiles::default().judge(&[], reach, None), FileGuardResult::default());
    }
}

#[test]
fn what_is_to_be_looked_at_before_it_is_read_is_found_by_name_pattern_and_folder() {
    let possible = Some(GuardFinding::SecretPossible);
    for path in [
        "/home/ana/project/.git/config",
        "/home/ana/project/.GIT/modules/a/config",
        "/home/ana/project/.git./config",
        "/home/ana/project/.git/con\u{fb01}g",
        "/home/ana/project/.git/objects/pack/a.pack",
        "/home/ana/project/auth.json",
    ] {
        for is_command in [false, true] {
            assert_eq!(of_place(path, FileAccess::Read, is_command).finding, possible, "{path}");
            assert_eq!(of_place(path, FileAccess::List, is_command).finding, None, "{path}");
        }
    }
    let folder = "/home/ana/project/.git";
    assert_eq!(
        of_place(folder, FileAccess::ReadTree, false).finding,
        possible,
        "a tool that reads all of it"
    );
    for pattern in ["/home/ana/project/.git/c?nfig", "**/.git/config", "**/.{git,x}/config"] {
        assert_eq!(of_pattern(pattern, FileAccess::Read, true).finding, possible, "{pattern}");
    }
    for path in ["/home/ana/project/.git/HEAD", "/home/ana/project/git/config"] {
        assert_eq!(of_place(path, FileAccess::Read, false), FileGuardResult::default(), "{path}");
    }
}

#[test]
fn a_pattern_hides_no_secret_by_its_classes_or_its_length() {
    for pattern in ["apps/.[!E]nv", "apps/.[^E]nv", "apps/id[A-z]rsa", ".aw[!S]/config", ".npmr[!C]"] {
        let found = of_pattern(&format!("**/{pattern}"), FileAccess::Read, true).finding;
        assert!(found >= Some(GuardFinding::SecretPossible), "{pattern}");
        let of_tool = of_pattern(&format!("**/{pattern}"), FileAccess::Read, false);
        assert!(of_tool.excludes || of_tool.finding.is_some(), "{pattern}");
    }
    let long =
        crate::tools::arguments::shortened(&format!("**/[{}]pps/.en[{}]", "a".repeat(900), "v".repeat(900)));
    assert!(is_cut(&long));
    assert_eq!(of_pattern(&long, FileAccess::Read, true).finding, Some(GuardFinding::SecretPossible));
}
