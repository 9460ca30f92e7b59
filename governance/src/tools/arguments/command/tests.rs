use super::*;

const CWD: Option<&str> = Some("/home/ana/project");

fn parts(text: &str) -> Vec<String> {
    read_command(text, CWD).parts().map(str::to_owned).collect()
}

fn context(text: &str) -> String {
    read_command(text, CWD).context()
}

#[test]
fn trust_is_kept_by_what_does_more_than_look() {
    for (text, expected) in [
        ("go test ./... 2>&1 | tail -5", "go test"),
        ("ls src | head -5", "several:head,ls"),
        ("cat a.rs", "cat"),
        ("npm run deploy:production", "npm run deploy:production"),
        ("mise run lint && mise run test", "several:mise run lint,mise run test"),
        ("git add . && git commit -m x", "several:git add,git commit"),
        ("echo $(x)", "opaque"),
    ] {
        assert_eq!(context(text), expected, "{text}");
    }
}

#[test]
fn every_program_is_a_part_and_one_called_by_its_path_also_by_that() {
    assert_eq!(parts("ls src | head -5"), ["head", "ls"]);
    assert_eq!(parts("/usr/bin/grep x a.rs"), ["/usr/bin/grep", "grep"]);
    assert!(parts("ls $HOME").contains(&"opaque".to_owned()));
}

#[test]
fn files_outside_of_the_working_folder_are_told() {
    for text in ["cat /etc/passwd", "cat ../x", "ls /home/ana", "cd .. && ls", "cd /tmp && cat a"] {
        assert!(parts(text).contains(&OUTSIDE.to_owned()), "{text}");
    }
    for text in ["cat a.rs", "cat /home/ana/project/a.rs", "ls", "cat a > /dev/null", "cd src && cat a.rs"] {
        assert!(!parts(text).contains(&OUTSIDE.to_owned()), "{text}");
    }
}

#[test]
fn a_folder_that_was_entered_is_where_files_are_looked_for() {
    let command = read_command("cd sub && cat .env", CWD);
    let read: Vec<&str> = command.places.iter().map(|(place, _)| place.as_str()).collect();
    assert!(read.contains(&"/home/ana/project/sub/.env"), "{read:?}");
    assert!(read.contains(&"/home/ana/project/.env"), "it may have stayed: {read:?}");
}

#[test]
fn patterns_are_told_apart_from_files() {
    let command = read_command("grep -rn x src --include='*.pem'", CWD);
    assert!(command.patterns.contains(&("**/*.pem".to_owned(), FileAccess::Read)), "{command:?}");
}

#[test]
fn what_git_shows_without_naming_it_is_told() {
    for (text, shown) in [
        ("git diff", (true, false)),
        ("git log -p | head", (true, false)),
        ("ls && git show HEAD", (true, false)),
        ("git show 1a2b3c4d", (false, true)),
        ("git show HEAD:src/a.rs", (false, false)),
        ("git diff --stat", (false, false)),
        ("git log", (false, false)),
    ] {
        let command = read_command(text, CWD);
        assert_eq!((command.shows_tracked, command.reads_stored), shown, "{text}");
    }
}
