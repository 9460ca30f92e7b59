//! Tests of `report day`, `who-did-what`, `tools` and `reviews`, on a service and on a folder.

use serde_json::{Value, json};

use crate::governing::LedgerAccess;
use crate::sample::code;

/// A folder that the starter's rules mean.
const PROJECT: &str = "/home/ana/project";

/// One call that goes well, and one that a person rejects.
fn worked(way: &LedgerAccess) {
    let write = json!({"file_path": "src/a.rs", "content": "x"}).to_string();
    let read = json!({"file_path": "src/a.rs"}).to_string();
    let of = ["--cwd", PROJECT, "--agent", "coder"];
    way.says(0, &[&["decide", "--call", "c1", "--tool", "Read", "--args", &read], &of[..]].concat());
    way.does(&["outcome", "--call", "c1", "--status", "ok"]);
    way.run(&[&["decide", "--call", "c2", "--tool", "Write", "--args", &write], &of[..]].concat());
    let approval = way.json(0, &["approvals"])["approvals"][0]["id"].as_str().unwrap().to_owned();
    way.does(&["approvals", "reject", &approval, "--note", "not today"]);
}

#[test]
fn reports_sum_the_history_as_tables_as_json_and_as_csv() {
    for way in LedgerAccess::both() {
        let way = way.governed();
        worked(&way);
        let day = way.json(0, &["report", "day", "today"]);
        let tables = &day["tables"];
        let count = |row: &Value| (row["calls"].clone(), row["reviewed"].clone(), row["ok"].clone());
        assert_eq!(count(&tables["agents"][0]), (json!(2), json!(1), json!(1)), "{day}");
        let said: u64 =
            tables["decisions"].as_array().unwrap().iter().map(|hour| hour["allow"].as_u64().unwrap()).sum();
        assert_eq!(said, 1, "{day}");
        assert_eq!((&tables["reviews"][0]["rejected"], &tables["gaps"]), (&json!(1), &json!([])), "{day}");
        let shown = way.does(&["report", "day", "today"]);
        for title in ["decisions: ", "tools: ", "agents: ", "models: ", "sessions: ", "reviews: ", "gaps: "] {
            assert!(shown.contains(&format!("\n{title}")), "{shown}");
        }
        let lines = way.does(&["report", "day", "today", "--csv"]);
        assert!(lines.starts_with("table,row,column,value\r\n"), "{lines}");
        assert!(lines.contains("\r\nagents,1,agent,coder\r\nagents,1,calls,2\r\n"), "{lines}");

        let work = way.json(0, &["report", "who-did-what", "--from", "1h"]);
        let rows = work["tables"]["work"].as_array().unwrap();
        let did: Vec<_> = rows.iter().map(|row| (&row["tool"], &row["ok"], &row["notRun"])).collect();
        assert_eq!(
            did,
            [(&json!("Read"), &json!(1), &json!(0)), (&json!("Write"), &json!(0), &json!(1))],
            "{work}"
        );
        let lines = way.does(&["report", "who-did-what", "--csv"]);
        assert!(lines.starts_with("agent,actor,tool,calls,"), "{lines}");
        assert!(lines.lines().nth(1).unwrap().starts_with("coder,"), "{lines}");

        let tools = way.json(0, &["report", "tools", "--from", "yesterday"]);
        let rows = tools["tables"]["tools"].as_array().unwrap();
        let used: Vec<_> = rows.iter().map(|row| (&row["tool"], &row["agents"], &row["calls"])).collect();
        assert_eq!(
            used,
            [(&json!("Read"), &json!(1), &json!(1)), (&json!("Write"), &json!(1), &json!(1))],
            "{tools}"
        );

        let reviews = way.json(0, &["report", "reviews"]);
        let row = &reviews["tables"]["reviews"][0];
        assert_eq!(
            (&row["tool"], &row["rejected"], &row["answers"]),
            (&json!("Write"), &json!(1), &json!(1))
        );
        assert_eq!(row["medianMs"], row["longestMs"], "{reviews}");
        assert!(row["medianMs"].is_u64(), "{reviews}");
    }
}

/// Returns the texts of the cells of a page's tables, one table after another.
fn cells(page: &str) -> Vec<String> {
    let cells = page.split("<bdi>").skip(1).filter_map(|rest| rest.split_once("</bdi>"));
    cells.map(|(cell, _)| cell.to_owned()).collect()
}

#[test]
fn a_report_is_a_page_with_the_same_numbers_in_which_names_are_texts() {
    let way = LedgerAccess::service().governed();
    worked(&way);
    let hostile = "a</td><script>alert(1)</script>";
    let args = json!({"file_path": "src/a.rs"}).to_string();
    let of = ["--cwd", PROJECT, "--agent", hostile];
    way.run(&[&["decide", "--call", "c3", "--tool", "Read", "--args", &args], &of[..]].concat());
    for report in [
        &["report", "day", "today"][..],
        &["report", "who-did-what"],
        &["report", "tools"],
        &["report", "reviews"],
    ] {
        let page = way.does(&[report, &["--format", "html"]].concat());
        assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
        assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("href="), "{page}");
        let text = way.does(&[report, &["--format", "text"]].concat());
        assert_eq!(text, way.does(report), "text is the default");
        // Every cell of the text stands in the page, in the same order.
        let title = text.lines().next().unwrap();
        assert!(page.contains(&format!("<h1>{title}</h1>")), "{title}");
        let mut found = cells(&page).into_iter();
        for word in text.split_whitespace().filter(|word| word.parse::<u64>().is_ok()).skip(1) {
            assert!(found.any(|cell| cell == word), "{report:?}: {word} in {text}");
        }
    }
    let page = way.does(&["report", "who-did-what", "--format", "html"]);
    assert!(cells(&page).contains(&"a&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;".to_owned()), "{page}");
    let csv = way.does(&["report", "tools", "--format", "csv"]);
    assert_eq!(csv, way.does(&["report", "tools", "--csv"]));
}

#[test]
fn an_empty_time_is_told_and_a_wrong_one_is_a_usage_error() {
    let way = LedgerAccess::service().governed();
    worked(&way);
    let day = way.does(&["report", "day", "2026-01-01"]);
    for words in ["nothing was decided", "no tool was called", "no approval was answered in that time"] {
        assert!(day.contains(words), "{day}");
    }
    let work = way.does(&["report", "who-did-what", "--to", "2026-01-01"]);
    assert!(work.contains("no call was made in that time"), "{work}");
    assert_eq!(way.does(&["report", "reviews", "--to", "2026-01-01", "--csv"]).lines().count(), 1);
    let refused = |arguments: &[&str], words: &str| {
        let output = way.run(arguments);
        assert_eq!((code(&output), output.stdout.is_empty()), (2, true), "{arguments:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(words), "{arguments:?}: {told}");
    };
    refused(&["report", "day", "2126-01-01"], "a day to come");
    refused(&["report", "day", "2026-02-30"], "expected a time");
    refused(&["report", "day", "someday"], "expected a time");
    for report in ["who-did-what", "tools", "reviews"] {
        let reversed = ["report", report, "--from", "2026-01-02", "--to", "2026-01-01"];
        refused(&reversed, "expected a later end");
    }
    refused(&["report", "reviews", "--csv", "--json"], "cannot be used with");
    refused(&["report", "reviews", "--csv", "--format", "html"], "cannot be used with");
    refused(&["report", "reviews", "--json", "--format", "html"], "cannot be used with");
}
