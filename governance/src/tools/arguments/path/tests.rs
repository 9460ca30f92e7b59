use super::*;

const CWD: Option<&str> = Some("/home/dev/project");

fn context(path: &str) -> Result<String, PathError> {
    read_path(path, CWD).map(|path| path.context())
}

fn whole(path: &str) -> Result<String, PathError> {
    read_path(path, CWD).map(|path| path.whole())
}

#[test]
fn the_context_is_the_first_two_folders_from_the_working_folder_on() {
    for (path, expected) in [
        ("a.rs", "."),
        ("./a.rs", "."),
        (".", "."),
        ("src/a.rs", "src"),
        ("src/", "src"),
        ("src//api/./a.rs", "src/api"),
        ("src/api/users/a.rs", "src/api"),
        ("src/../lib/a.rs", "lib"),
        ("/home/dev/project", "."),
        ("/home/dev/project/a.rs", "."),
        ("/home/dev/project/src/api/users/a.rs", "src/api"),
        ("/home/dev/project/src/../a.rs", "."),
        ("/home/dev/projects/src/a.rs", "/home/dev"),
        ("/home/dev/a.rs", "/home/dev"),
        ("/etc/passwd", "/etc"),
        ("/passwd", "/"),
        ("/", "/"),
        ("//etc/passwd", "/etc"),
        ("~/.ssh/id", "~/.ssh"),
        ("~", "~"),
        ("$HOME/.ssh/id", "$HOME/.ssh"),
        ("%APPDATA%/x/y", "%APPDATA%/x"),
        ("file:///etc/passwd", "/etc"),
        ("..a/b", "..a"),
    ] {
        assert_eq!(context(path), Ok(expected.to_owned()), "{path}");
    }
}

#[test]
fn the_whole_path_begins_at_the_root_where_that_is_known() {
    assert_eq!(whole("src/../a.rs"), Ok("/home/dev/project/a.rs".to_owned()));
    assert_eq!(whole("."), Ok("/home/dev/project".to_owned()));
    assert_eq!(whole("/etc//passwd"), Ok("/etc/passwd".to_owned()));
    assert_eq!(whole("~/x"), Ok("~/x".to_owned()));
    let alone = read_path("src/a.rs", None).unwrap();
    assert_eq!((alone.context(), alone.whole()), ("src".to_owned(), "src/a.rs".to_owned()));
}

#[test]
fn what_leaves_the_working_folder_by_dots_is_refused() {
    for path in [
        "..",
        "../x",
        "src/../../x",
        "./..",
        "/home/dev/project/..",
        "/home/dev/project/../other/x",
        "/home/dev/project/src/../../x",
        "/tmp/../home/dev/project/x",
        "/..",
        "~/../x",
        "$HOME/../../etc",
        "file:///home/dev/project/../x",
    ] {
        assert_eq!(context(path), Err(PathError::Leaves), "{path}");
        assert_eq!(whole(path), Err(PathError::Leaves), "{path}");
    }
    assert_eq!(read_path("../x", None), Err(PathError::Leaves));
}

#[test]
fn what_can_be_read_in_two_ways_is_refused() {
    for path in [
        "",
        "a\nb",
        "a\0b",
        "..\\..\\x",
        "src\\a",
        "file://host/x",
        "file:///a/%2e%2e/x",
        "http://a/b",
        "C:x",
        "c:",
    ] {
        assert_eq!(context(path), Err(PathError::Unreadable), "{path:?}");
    }
    assert_eq!(read_path("x", Some("relative")), Err(PathError::Unreadable));
    assert_eq!(read_path("x", Some("/a/../b")), Err(PathError::Unreadable));
    assert_eq!(read_path("x", Some("")), Err(PathError::Unreadable));
}

#[test]
fn working_folders_are_compared_clean() {
    for (cwd, clean) in [
        ("/home/dev/project", Some("/home/dev/project")),
        ("/home//dev/./project/", Some("/home/dev/project")),
        ("/", Some("/")),
        ("C:\\Work\\project", Some("C:/Work/project")),
        ("/home/dev/../x", None),
        ("dev", None),
        ("~/dev", None),
        ("", None),
        ("/a\nb", None),
    ] {
        assert_eq!(clean_folder(cwd).as_deref(), clean, "{cwd:?}");
    }
}

#[test]
fn what_lies_inside_is_told_from_the_text() {
    for path in ["a", "a/../b", "/home/dev/project", "/home/dev/project/a"] {
        assert!(lies_inside(path, CWD), "{path}");
    }
    for path in ["/home/dev/projects", "/home/dev", "..", "~", "$X/a", "/", ""] {
        assert!(!lies_inside(path, CWD), "{path}");
    }
    assert!(!lies_inside("/home/dev/project", None));
}

#[test]
fn a_drive_is_one_letter_and_a_colon() {
    // Only there do folders of one name in two cases mean the same.
    for (path, cwd, expected) in [
        ("c:\\work\\a\\x", "C:\\Work", "a"),
        ("/WORK/a/x", "/work", "/WORK/a"),
        ("/1:/work/a/x", "/1:/work", "a"),
        ("/1:/WORK/a/x", "/1:/work", "/1:/WORK"),
        ("/CC/WORK/a/x", "/CC/work", "/CC/WORK"),
        ("/cc:/WORK/a/x", "/cc:/work", "/cc:/WORK"),
    ] {
        let found = read_path(path, Some(cwd)).unwrap().context();
        assert_eq!(found, expected, "{path} in {cwd}");
    }
}

#[test]
fn the_root_as_working_folder_makes_nothing_look_as_if_it_lay_inside() {
    assert_eq!(read_path("/etc/passwd", Some("/")).unwrap().context(), "/etc");
    let there = read_path("etc/passwd", Some("/")).unwrap();
    assert_eq!((there.context(), there.whole()), ("etc".to_owned(), "/etc/passwd".to_owned()));
    assert_eq!(read_path(".", Some("/")).unwrap().whole(), "/");
}

#[test]
fn windows_has_two_separators_and_drives() {
    let cwd = Some("C:\\Work\\project");
    let of = |path| read_path(path, cwd).map(|path| path.context());
    assert_eq!(of("src\\api\\users\\a.rs"), Ok("src/api".to_owned()));
    assert_eq!(of("c:\\work\\PROJECT\\src\\a.rs"), Ok("src".to_owned()));
    assert_eq!(of("D:\\x\\a.rs"), Ok("D:/x".to_owned()));
    assert_eq!(of("..\\x"), Err(PathError::Leaves));
    assert_eq!(of("C:\\Work\\project\\..\\x"), Err(PathError::Leaves));
    assert_eq!(read_path("src\\a.rs", cwd).unwrap().whole(), "C:/Work/project/src/a.rs");
}
