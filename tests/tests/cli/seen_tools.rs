//! Tools that nobody registered: seen in calls, and registered by one command.

use crate::governing::LedgerAccess;
use crate::sample::code;

const CALL: [&str; 8] =
    ["--tool", "search", "--server", "web", "--args", r#"{"q":"rust"}"#, "--agent", "coder"];

#[test]
fn a_tool_that_was_seen_is_registered_by_one_command() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        assert_eq!(way.does(&["tools", "seen"]), "every tool that calls named is registered\n");
        let asked = way.json(3, &[&["decide", "--call", "c1"][..], &CALL].concat());
        assert_eq!(
            (&asked["verdict"], &asked["reasonCode"]),
            (&"review".into(), &"tool-unknown".into()),
            "{asked}"
        );
        let seen = way.does(&["tools", "seen"]);
        let row = seen.lines().nth(1).unwrap();
        assert_eq!(
            row.split_whitespace().take(4).collect::<Vec<_>>(),
            ["search", "web", "coder", "1"],
            "{seen}"
        );
        assert!(seen.contains("bitacora tools register --seen NAME"), "{seen}");
        assert_eq!(way.json(0, &["tools", "seen"])["tools"][0]["server"], "web");

        let refused = |arguments: &[&str], expected: i32, told: &str| {
            let refused = way.run(&[&["tools", "register"][..], arguments].concat());
            let why = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert_eq!((code(&refused), why.contains(told)), (expected, true), "{why}");
        };
        refused(&["--seen", "search", "--server", "web"], 2, "--risk");
        refused(
            &["--seen", "search", "--risk", "read"],
            1,
            "named the tool `search` of server `web`, not without a server",
        );
        refused(&["--seen", "serach", "--risk", "read"], 1, "no call named the tool `serach`");
        refused(&["--seen", "search", "--risk", "harmless"], 2, "harmless");
        refused(&["--seen", "search", "--risk", "read", "--starter"], 2, "--starter");

        let register = ["tools", "register", "--seen", "search", "--server", "web", "--risk"];
        assert!(
            way.does(&[&register[..], &["write"]].concat()).starts_with("search  registered at position ")
        );
        refused(
            &register[2..].iter().copied().chain(["read"]).collect::<Vec<_>>(),
            1,
            "is registered already",
        );
        assert_eq!(way.does(&["tools", "seen"]), "every tool that calls named is registered\n");
        let listed = way.json(0, &["tools"]);
        let tool = listed["tools"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["document"]["tool"] == "search")
            .unwrap();
        let document = &tool["document"];
        assert_eq!(document["input_schema"], serde_json::json!({"type": "object"}));
        assert_eq!(document["binding_fields"], serde_json::json!([]), "approvals are bound to all arguments");
        assert_eq!((&document["risk"], &document["blast_radius"]), (&"write".into(), &"high".into()));
        let again = way.json(3, &[&["decide", "--call", "c2"][..], &CALL].concat());
        assert_eq!(again["verdict"], "review", "no rule of the starter is about it: {again}");
        assert_ne!(again["reasonCode"], "tool-unknown");
    }
}
