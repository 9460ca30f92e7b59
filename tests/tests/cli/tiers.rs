//! Tests of `tiers`, on a service and on a folder.

use serde_json::json;

use crate::governing::LedgerAccess;

#[test]
fn tiers_show_each_part_with_its_size_and_reach() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        let told = way.json(0, &["tiers"]);
        let head = way.json(0, &["status"])["position"].clone();
        assert_eq!(told["warm"]["segments"]["last"], head, "{told}");
        assert!(told["hot"]["tools"].as_u64().unwrap() > 0, "{told}");
        assert_eq!((&told["cold"]["archives"], &told["cold"]["position"]), (&json!(0), &head), "{told}");
        let shown = way.does(&["tiers"]);
        let rows: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["tier", "part", "holds", "bytes", "from", "to", "state"], "{shown}");
        let bytes = told["hot"]["bytes"].to_string();
        assert!(
            rows[1].starts_with(&["hot", "deciding", "state"]) && rows[1].contains(&bytes.as_str()),
            "{shown}"
        );
        assert!(shown.ends_with("none sealed\n"), "{shown}");
    }
}
