//! Claims about programs.
//! Each class here was once claimed otherwise. Most were seen when real programs ran, some in reading about those runs.

use crate::action::Access::{self, Lists, Reads, ReadsTracked, ReadsTree, ShowsTracked, Writes};
use crate::{ShellReading, read};

mod flags;
mod git;
mod globs;
mod hosts;

/// Returns the files of all actions of a text.
fn files(text: &str) -> Vec<(String, Access, bool)> {
    let ShellReading::Readable(actions) = read(text) else { panic!("{text} is not readable") };
    let files = actions.into_iter().flat_map(|action| action.files);
    files.map(|file| (file.path, file.access, file.is_pattern)).collect()
}

fn has(text: &str, path: &str, access: Access, is_pattern: bool) -> bool {
    files(text).contains(&(path.to_owned(), access, is_pattern))
}

/// Returns the parts of all actions of a text; none if it is not readable.
fn parts(text: &str) -> Vec<String> {
    match read(text) {
        ShellReading::Readable(actions) => actions.into_iter().map(|action| action.part).collect(),
        ShellReading::Unreadable(..) => Vec::new(),
    }
}

fn is_readable(text: &str) -> bool {
    matches!(read(text), ShellReading::Readable(_))
}

#[test]
fn a_word_behind_a_file_that_the_program_writes_is_no_option() {
    assert!(is_readable("xxd -p a") && is_readable("uniq -c a"));
    for text in ["xxd a -p", "uniq a -c", "xxd a b", "uniq a b"] {
        assert!(!is_readable(text), "{text}");
    }
}

#[test]
fn names_in_a_folder_that_files_go_to_are_written() {
    for text in [
        "mv a/x .git/hooks",
        "cp a/x .git/hooks",
        "ln -s a/x .git/hooks",
        "mv -t .git/hooks a/x",
        "cp -t .git/hooks a/x",
    ] {
        assert!(has(text, ".git/hooks/x", Writes, false), "{text}: {:?}", files(text));
    }
    assert!(has("ln /outside/x", "./x", Writes, false));
    assert!(has("mv ./*.rs made", "made/*.rs", Writes, true));
    assert!(!is_readable("cp --parents a/b/c made"));
}

#[test]
fn a_dash_is_a_file_to_programs_that_change_files() {
    for text in ["tee -", "touch -", "rm -", "mkdir -"] {
        assert!(has(text, "-", Writes, false), "{text}");
    }
    assert_eq!(files("cat -"), []);
}

#[test]
fn what_lies_below_folders_that_a_glob_matches_is_read_with_them() {
    assert!(has("grep -r x ./s*", "./s*/**", ReadsTree, true));
    assert!(has("diff ./s* a", "./s*/**", ReadsTree, true));
    assert!(has("git diff -- ./s*", "./s*/**", ReadsTracked, true));
    assert!(has("git add -- ./s*", "./s*/**", ShowsTracked, true));
    assert_eq!(files("cat ./s*"), [("./s*".to_owned(), Reads, true)]);
}

#[test]
fn wildcards_of_git_run_over_folders() {
    for (pathspec, pattern) in [
        ("src*", "src**"),
        ("s?c/*", "s**c/**"),
        ("[^x]rc*", "**rc**"),
        ("a[[:alpha:]]b", "a**b"),
        ("***/x", "**/x"),
    ] {
        let text = format!("git diff -- '{pathspec}'");
        assert_eq!(files(&text), [(pattern.to_owned(), ReadsTracked, true)], "{text}");
        assert!(has(&format!("git grep x -- '{pathspec}'"), pattern, Reads, true), "{pathspec}");
    }
}

#[test]
fn globs_for_names_are_spelled_as_policies_read_them() {
    assert!(has("grep -r --include='[^x]env' a .", "**env", Reads, true));
    assert!(has("rg -g '[^x]env' a", "**env", Reads, true) && has("rg -g '/.e*' a", ".e*", Reads, true));
    for text in ["grep -r --include='[[:punct:]]env' a .", "rg -g '[[:punct:]]env' a"] {
        assert!(!is_readable(text), "{text}");
    }
}

#[test]
fn a_path_of_a_revision_begins_at_the_root() {
    assert!(has("git show HEAD:config/.env", ".env", Reads, true));
    assert!(has("git cat-file -p HEAD:config/.env", "config/.env", Reads, false));
    assert!(has("git show 'HEAD:a[b]'", "a\\[b\\]", Reads, true));
    assert!(has("git show HEAD:0secret", "0secret", Reads, false) && has("git show :2:a", "a", Reads, false));
    assert_eq!(files("git show HEAD:./a"), [("./a".to_owned(), Reads, false)]);
    assert!(!is_readable("git grep x HEAD:config"));
    // If there is no such revision, it is a path.
    assert!(has("git log -p config:prod", "config:prod", ShowsTracked, false));
    assert_eq!(files("git log -p -- config:prod"), [("config:prod".to_owned(), ShowsTracked, false)]);
}

#[test]
fn a_colon_may_be_part_of_the_file_behind_a_range() {
    for path in ["config:prod", "prod"] {
        assert!(has("git log -L 1,2:config:prod", path, Reads, false), "{path}");
    }
    assert_eq!(files("git log -L 1,2:a"), [("a".to_owned(), Reads, false)]);
    assert!(has("git log -L :name:a", "a", Reads, false));
}

#[test]
fn folders_of_pathspecs_are_read_as_a_whole() {
    assert!(has("git log -p -- config", "config", ShowsTracked, false));
    assert!(has("git show HEAD -- config", "config", ShowsTracked, false));
    assert!(has("git log -- config", "config", Lists, false));
}

#[test]
fn paths_outside_of_a_repository_are_compared_as_files() {
    for text in ["git diff HEAD /outside", "git diff ../a ../b", "git diff -- ../a b"] {
        assert!(files(text).iter().any(|(_, access, _)| *access == ReadsTree), "{text}: {:?}", files(text));
    }
    assert!(!files("git diff HEAD src").iter().any(|(_, access, _)| *access == ReadsTree));
}

#[test]
fn a_stash_is_shown_with_its_contents() {
    for text in ["git stash show", "git stash show --no-renames", "git stash show -p"] {
        assert!(has(text, ".", ShowsTracked, false), "{text}");
    }
    assert_eq!(files("git stash show --stat"), []);
}

#[test]
fn a_reflog_is_shown_with_the_contents_that_options_ask_for() {
    assert!(
        has("git reflog -p", ".", ShowsTracked, false) && has("git reflog show -p", ".", ShowsTracked, false)
    );
    assert_eq!(files("git reflog"), []);
    assert!(!is_readable("git reflog delete"));
}

#[test]
fn options_of_git_that_run_git_or_read_elsewhere_are_not_listed() {
    assert!(!is_readable("git rev-parse --show-superproject-working-tree"));
    assert!(!is_readable("git ls-files --eol --others") && !is_readable("git tag --column"));
    assert!(!is_readable("git grep -f pattern"));
}

#[test]
fn brackets_of_sed_that_are_open_at_a_mark_are_refused() {
    for text in ["s/[a-z]*/x/", "s/[^,]*,//;s/b/[&]/", "s/[[:space:]]*$//", "/[0-9]/p", r"s/\[a\]/x/"] {
        assert!(is_readable(&format!("sed '{text}' f")), "{text}");
    }
    for text in [
        "s/][/ ]/;s/e;#/x/",
        "s/][/ ]/;s/w .git/hooks/p",
        "s/[]/ ]/;s/e;#/x/",
        "s/[^]/ ]/;s/e;#/x/",
        "s/[[:a:]/ ]/;s/e;#/x/",
        r"s/[\]/ ]/;s/e;#/x/",
        "/][/p;s/]/x/e;#/p",
    ] {
        assert!(!is_readable(&format!("sed '{text}' f")), "{text}");
    }
}

#[test]
fn a_slash_of_awk_that_may_divide_begins_no_expression() {
    for text in [
        "/a|b/{print $1}",
        "BEGIN{x++; y--} !/[^a-z]x/ && $1 ~ /[[:digit:]]+/{print}",
        r#"{print $1 " | " $2 "\t" "system"}"#,
    ] {
        assert!(is_readable(&format!("awk '{text}' f")), "{text}");
    }
    for text in [
        r#"BEGIN{x++ /1; system("id"); y=1/2}"#,
        r#"BEGIN{x-- /1; system("id"); y=1/2}"#,
        r#"BEGIN{x+++/1; system("id"); y=1/2}"#,
        r#"BEGIN{x = "a" /1; system("id"); y=1/2}"#,
        r#"BEGIN{x = $ /1; system("id"); y=1/2}"#,
        r#"/[]/ ~ "]/; system("id") # "/"#,
        r#"/[^]/ ~ "]/; system("id") # "/"#,
        r#"/[[:a:]/ ~ "]/; system("id") # "/"#,
        r#"/[\]/ ~ "]/; system("id") # "/"#,
        r#"{print "\" | getline"}"#,
        "/1; print x | c; y=1/",
        "/a getline b/",
    ] {
        assert!(!is_readable(&format!("awk '{text}' f")), "{text}");
    }
}

#[test]
fn a_word_that_names_a_file_of_further_arguments_is_refused() {
    for program in ["strings", "tsc", "mypy", "pytest", "ruff check"] {
        assert!(is_readable(&format!("{program} a@b")), "{program}");
        for text in ["@f", "-- @f", "a @f", "-- @*", "-- *", "-- '@f'"] {
            assert!(!is_readable(&format!("{program} {text}")), "{program} {text}");
        }
    }
    assert!(!is_readable("pytest -k @f"));
}

#[test]
fn repositories_of_github_on_another_machine_are_refused() {
    for text in [
        "pr view 12",
        "pr view some/branch",
        "pr view 12 -R owner/name",
        "repo view owner/name.rs",
        "pr diff 12",
        "release view v1.2",
        "pr list --repo owner/name",
        "pr merge 12 --squash",
    ] {
        assert!(is_readable(&format!("gh {text}")), "{text}");
    }
    for text in [
        "pr view 12 -R host.example/owner/name",
        "pr view 12 --repo=https://host.example/owner/name",
        "pr view -R git@host.example:owner/name",
        "pr view https://host.example/o/r/pull/1",
        "pr diff https://host.example/o/r/pull/1",
        "pr view https:/host.example/o/r/pull/1",
        "repo view host.example/owner/name",
        "repo view https://host.example/owner/name",
        "repo view ../name",
        "pr comment https://host.example/o/r/pull/1 -b x",
        "pr list -R name",
        "run download 1 -R host.example/o/r",
    ] {
        assert!(!is_readable(&format!("gh {text}")), "{text}");
    }
}

#[test]
fn keys_and_groups_of_git_that_run_programs_are_refused() {
    for text in [
        "for-each-ref --sort=-committerdate",
        "branch --sort -committerdate",
        "tag --sort=-v:refname",
        "shortlog -s --group=author",
        "shortlog --group=trailer:Co-authored-by",
    ] {
        assert!(is_readable(&format!("git {text}")), "{text}");
    }
    for text in [
        "for-each-ref --sort=signature",
        "for-each-ref --sort=-signature:key",
        "branch --sort=*signature",
        "branch --sort=describe",
        "tag --sort=version:signature",
        "shortlog --group=format:%G?",
        "shortlog --group=%GS",
        "shortlog --group trailer:a%GS",
    ] {
        assert!(!is_readable(&format!("git {text}")), "{text}");
    }
}

#[test]
fn words_that_may_be_files_are_compared_as_files() {
    for first in ["HEADX", "HEAD-x", "HEAD/x", "a..b", "abcdef0", "HEAD~x"] {
        for text in [format!("git diff {first} conf"), format!("git diff conf {first}")] {
            assert!(has(&text, first, ReadsTree, false) && has(&text, "conf", ReadsTree, false), "{text}");
        }
    }
    for first in ["HEAD", "@", "HEAD~2", "HEAD^", "HEAD^^", "HEAD@{1}"] {
        assert!(!has(&format!("git diff '{first}' conf"), "conf", ReadsTree, false), "{first}");
    }
    assert!(has("git log -p HEADX:conf", "HEADX:conf", ShowsTracked, false));
}

#[test]
fn formats_of_git_that_may_run_gpg_are_refused() {
    for format in ["%h %an%n%-d%+s%%G", "oneline", "format:%h", "", "%<(20)%an"] {
        assert!(is_readable(&format!("git log --format='{format}'")), "{format}");
    }
    for format in ["%G?", "%-%G?", "%+%GS", "% %GK", "format:%-%%-%G?", "named"] {
        assert!(!is_readable(&format!("git log --format='{format}'")), "{format}");
    }
    assert!(!is_readable("git for-each-ref --format='%(refname)%(*signature)'"));
}

#[test]
fn options_of_pytest_that_load_modules_or_write_elsewhere_are_refused() {
    assert!(is_readable("pytest --cov --cov-report=term-missing -W error a"));
    assert!(has("pytest --cov --cov-report=xml", "coverage.xml", Writes, false));
    assert!(has("pytest --cov --cov-report html", "htmlcov", Writes, false));
    for text in ["--cov-report=html:.git/hooks", "--cov-report xml:a", "--cov-report=lcov:a", "-W error::a.B"]
    {
        assert!(!is_readable(&format!("pytest {text}")), "{text}");
    }
}

#[test]
fn links_below_a_folder_are_not_followed() {
    assert!(
        is_readable("ls -R a")
            && is_readable("ls -L a")
            && is_readable("cp -r a b")
            && is_readable("cp -L a b")
    );
    for text in
        ["ls -L -R", "ls -lRL a", "ls --recursive -L a", "cp -rL a b", "cp -L -a a b", "cp --archive -L a b"]
    {
        assert!(!is_readable(text), "{text}");
    }
    for text in ["diff -r a b", "diff -N a b", "diff -qr a b", "diff a b --new-file", "diff --recursive a b"]
    {
        assert!(!is_readable(text), "{text}");
        assert!(has(&format!("{text} --no-dereference"), "a", ReadsTree, false), "{text}");
    }
}

#[test]
fn names_that_are_searched_for_are_listed() {
    assert!(has("rg --files -g .env", ".env", Lists, true) && has("rg --files -g .env", ".", Lists, false));
    assert!(has("fd -g .env", ".env", Lists, true));
    assert!(has("fd .env", "*?env*", Lists, true) && has("fd '^a_b$' src", "a_b", Lists, true));
    assert!(has("fd -e pem", "*.pem", Lists, true) && has("fd '\\.env$'", "*.env", Lists, true));
    assert!(!is_readable("fd -g '[[:punct:]]env'") && !is_readable("rg --files -g '[[:punct:]]env'"));
    assert_eq!(files("fd 'a|b'"), [(".".to_owned(), Lists, false)]);
}
