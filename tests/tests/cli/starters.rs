//! Tests of a ledger with an earlier starter: the note, the difference, and the upgrade by one command.

use std::fs;
use std::path::{Path, PathBuf};

use bitacora_tests::service::ServiceFolder;

use crate::PROGRAM;
use crate::governing::LedgerAccess;
use crate::sample::{code, command, why};

/// A file of a starter as it was released.
fn released(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../governance/tests/starters").join(name);
    fs::read_to_string(path).unwrap()
}

/// A ledger that was governed with the first starter.
fn begun_long_ago(way: LedgerAccess) -> LedgerAccess {
    let (tools, policy) =
        (way.file("tools", &released("tools-1.json")), way.file("policy", &released("policy-1.json")));
    way.does(&["tools", "register", &tools]);
    way.does(&["policy", "publish", &policy, "--activate"]);
    way
}

#[test]
fn an_earlier_starter_is_told_shown_and_upgraded_once() {
    for way in LedgerAccess::both() {
        let none = way.run(&["starter", "upgrade"]);
        assert_eq!(code(&none), 1);
        assert!(why(&none).contains("no policy is active"), "{}", why(&none));

        let way = begun_long_ago(way);
        let told = "the active policy is an earlier starter; `bitacora starter` shows the difference";
        assert!(way.does(&["policy"]).contains(told));
        let shown = way.does(&["starter"]);
        assert!(
            shown.starts_with("outdated: version 1 is an earlier starter; `bitacora starter upgrade`"),
            "{shown}"
        );
        assert!(shown.contains("from version 1 to the starter\n"), "{shown}");
        assert!(shown.contains("+  own-keys") && shown.contains("+  files"), "{shown}");
        assert!(shown.contains("~  Grep") && shown.contains("+  Grep.destinations"), "{shown}");

        let upgraded = way.does(&["starter", "upgrade"]);
        assert!(
            upgraded.starts_with("Bash  changed\n") || upgraded.contains("\nGrep  changed\n"),
            "{upgraded}"
        );
        assert!(upgraded.contains("version 2 published\nversion 2 activated\n"), "{upgraded}");
        assert!(!way.does(&["policy"]).contains(told));
        let policy = way.json(0, &["policy"]);
        assert_eq!((&policy["active"], &policy["starter"]), (&"2".into(), &"current".into()));
        assert_eq!(
            (&policy["versions"][1]["author"], &policy["versions"][1]["parent"]),
            (&"admin:local".into(), &"1".into())
        );
        assert_eq!(way.does(&["starter"]), "current: version 2 is the starter of this program\n");
        assert!(
            !way.does(&["tools", "register", "--starter"]).contains("  changed"),
            "all tools are as shipped"
        );

        let head = way.json(0, &["starter", "upgrade"]);
        assert_eq!(
            (head.get("position"), &head["published"]),
            (None, &false.into()),
            "once more is nothing: {head}"
        );
        let again = way.does(&["starter", "upgrade"]);
        assert_eq!(again, "nothing to do: version 2 is the starter of this program\n");
    }
}

#[test]
fn what_was_published_and_never_activated_is_activated() {
    let way = begun_long_ago(LedgerAccess::folder());
    way.does(&["policy", "publish", "--starter"]);
    assert_eq!(way.json(0, &["starter"])["state"], "outdated");
    let upgraded = way.json(0, &["starter", "upgrade"]);
    assert_eq!(
        (&upgraded["version"], &upgraded["published"], &upgraded["activated"]),
        (&"2".into(), &false.into(), &true.into())
    );
    // One that was retired cannot be activated; another version is published in its place.
    let way = begun_long_ago(LedgerAccess::folder());
    way.does(&["policy", "publish", "--starter"]);
    way.does(&["policy", "retire", "2"]);
    assert_eq!(way.json(0, &["starter", "upgrade"])["version"], "3");
}

#[test]
fn an_own_policy_and_own_tools_are_left_alone() {
    for way in LedgerAccess::both() {
        let way = begun_long_ago(way);
        let own = released("policy-1.json").replacen("do not", "please do not", 1);
        let own = way.file("own", &own);
        way.does(&["policy", "publish", &own, "--activate"]);
        assert!(way.does(&["starter"]).starts_with("own: version 2 was never a starter; "));
        let refused = way.run(&["starter", "upgrade"]);
        assert_eq!(code(&refused), 3);
        let why = why(&refused);
        assert!(
            why.contains("own-policy") && why.contains("bitacora policy publish --starter --activate"),
            "{why}"
        );
        assert_eq!(way.json(0, &["policy"])["active"], "2");

        way.does(&["policy", "activate", "1"]);
        let grep = released("tools-1.json");
        let grep = grep.lines().find(|line| line.contains(r#""tool": "Grep""#)).unwrap();
        let grep = grep
            .trim()
            .trim_end_matches(',')
            .replace(r#""requires_review": false"#, r#""requires_review": true"#);
        let grep = way.file("grep", &grep);
        way.does(&["tools", "register", &grep]);
        way.does(&["tools", "revoke", "Read"]);
        let shown = way.does(&["starter"]);
        assert!(
            shown.contains("~  Grep") && shown.contains("your own; an upgrade leaves it alone"),
            "{shown}"
        );
        assert!(
            shown.contains("Read") && shown.contains("not registered; an upgrade leaves it so"),
            "{shown}"
        );
        let upgraded = way.does(&["starter", "upgrade"]);
        assert!(!upgraded.contains("Grep") && !upgraded.contains("Read"), "{upgraded}");
        assert!(upgraded.contains("version 3 activated"), "{upgraded}");
        assert!(!way.does(&["tools"]).lines().any(|line| line.starts_with("Read ")));
    }
}

#[test]
fn a_service_says_at_its_start_which_ledgers_follow_an_earlier_starter() {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    let log = |path: &Path| fs::read_to_string(path.join("log")).unwrap();
    let file = |name: &str| {
        let path = folder.path().join(name);
        fs::write(&path, released(name)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let policy = file("policy-2.json");
    let told = "the active policy is an earlier starter; `bitacora starter` shows the difference";
    let on = |arguments: &[&str]| {
        let mut service = place.start().unwrap();
        let url = format!("http://{}", service.address);
        let done = command(arguments).args(["--url", &url]).output().unwrap();
        assert_eq!(code(&done), 0, "{}", why(&done));
        let said = log(folder.path());
        service.kill().unwrap();
        said
    };
    assert!(!on(&["policy", "publish", &policy, "--activate"]).contains(told));
    assert!(on(&["starter", "upgrade"]).contains(told));
    assert!(!on(&["starter"]).contains(told));
}
