//! The oracle itself: it must see the events of each of these lines.

use super::claims::ClaimedLine;
use super::compare::problems;
use super::project::PROJECT;
use super::sandbox::{Request, Sandbox};

/// Lines without claims, with the preparation of the project, and the event that has to be seen.
const FAULTS: [(&str, &str, &str); 31] = [
    ("sort -o made.txt /dev/null", "", "/scratch/project/made.txt was written by `sort`"),
    ("sort -o README.md README.md", "", "/scratch/project/README.md is another file now"),
    (
        "sort --compress-program=./evil.sh -S 1k --files0-from=pattern.txt",
        "",
        "/scratch/project/pattern.txt was read",
    ),
    ("find . -exec true '{}' +", "", "was started by `find`"),
    ("find . -name README.md -delete", "", "/scratch/project/README.md was written by `find`"),
    ("find . -fprint made.txt", "", "/scratch/project/made.txt was written by `find`"),
    ("git grep --open-files-in-pager=./evil.sh needle", "", "was started by `git`"),
    ("git diff --output=made.txt", "", "/scratch/project/made.txt was written by `git`"),
    ("git diff", "configured", "evil.sh"),
    ("git log -p --ext-diff", "configured", "evil.sh"),
    ("git show --textconv", "configured", "evil.sh"),
    ("git status", "configured", "evil.sh"),
    ("git -C nested status", "", "evil.sh"),
    ("git show 'HEAD:config/prod.env'", "", "/scratch/project/config/prod.env was printed"),
    ("git show stash^3", "", "/scratch/project/config/local.env was printed"),
    ("git cat-file -p bc21959c2b", "", "/scratch/project/config/local.env was printed"),
    ("git log -p --all", "", "/scratch/project/config/local.env was printed"),
    ("git config --list --local", "", "a secret setting was printed"),
    ("git config --global --get-regexp user", "", "a secret setting was printed"),
    ("git branch made", "", "/scratch/project/.git/refs/heads/made"),
    ("git add build/../.env", "", "/scratch/project/.git/index lists other files"),
    ("xxd -i README.md -p", "", "/scratch/project/-p was written by `xxd`"),
    ("tar -cf - README.md", "", "/scratch/project/README.md was read by `tar`"),
    ("tar -xf nested.tar --to-command=./evil.sh", "archived", "was started by `tar`"),
    ("cat link-file.txt", "", "/outside/secret.txt was printed"),
    ("grep -R needle src", "", "/home/ana/.ssh/id_ed25519 was read by `grep`"),
    ("sed -n 'w made.txt' README.md", "", "/scratch/project/made.txt was written by `sed`"),
    ("awk 'BEGIN {system(\"true\")}'", "", "a process was made by `"),
    ("touch -d yesterday README.md", "", "/scratch/project/README.md was written by `touch`"),
    ("ls /outside", "", "/outside was listed by `ls`"),
    ("bash -c 'exec 3<>/dev/tcp/127.0.0.1/9'", "", "`bash` called connect"),
];

#[test]
fn every_fault_is_seen() {
    let mut sandbox = Sandbox::start();
    let mut unseen = Vec::new();
    for (text, prepared, expected) in FAULTS {
        let line = ClaimedLine::without_claims(text, PROJECT);
        let outcome = sandbox.run(Request { cwd: PROJECT, prepared, line: text });
        let found = problems(&line, PROJECT, &outcome);
        if !found.iter().any(|problem| problem.contains(expected)) {
            unseen.push(format!("{text}: {expected}, but {found:?}: {}", outcome.output));
        }
    }
    assert!(unseen.is_empty(), "{}", unseen.join("\n"));
}

/// Claims make no problem of the same events.
#[test]
fn what_is_claimed_is_no_fault() {
    let mut sandbox = Sandbox::start();
    for text in [
        "cat README.md",
        "grep -r needle . | sort",
        "rm -r src && mkdir -p src/a/b",
        "git status",
        "cp -r src made",
    ] {
        let line = ClaimedLine::read(text, PROJECT).unwrap();
        let outcome = sandbox.run(Request { cwd: PROJECT, prepared: "stale", line: text });
        assert_eq!(problems(&line, PROJECT, &outcome), Vec::<String>::new(), "{text}: {}", outcome.output);
    }
}
