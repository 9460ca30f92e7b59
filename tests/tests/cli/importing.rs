//! Tests of `import` on files that nobody would send on purpose.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bitacora_tests::http_client::HttpClient;
use serde_json::{Value, json};

use crate::governing::LedgerAccess;
use crate::sample::{Sample, code, told, why};

fn action(call: u64, tool: &str) -> String {
    json!({"at": "2026-01-05T15:02:06.978Z", "session": format!("s{}", call % 7), "call": format!("c{call}"),
        "tool": tool, "input": {"command": "ls"}, "outcome": "ok", "ended_at": "2026-01-05T15:02:07Z"})
    .to_string()
}

fn write(path: &Path, lines: &[String]) {
    fs::write(path, lines.join("\n") + "\n").unwrap();
}

/// The number under one of the summary's members.
fn number(told: &Value, pointer: &str) -> u64 {
    told.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer} in {told}"))
}

#[test]
fn an_import_into_a_folder_adds_each_event_once() {
    let sample = Sample::new(0);
    let file = sample.folder.path().join("actions.ndjson");
    write(&file, &(0..100).map(|call| action(call, "Bash")).collect::<Vec<_>>());
    let import = || sample.run(&["import", "--json", file.to_str().unwrap()]);
    let first = told(&import());
    assert_eq!((number(&first, "/created"), number(&first, "/types/session.started")), (208, 7));
    let second = told(&import());
    assert_eq!((number(&second, "/created"), number(&second, "/duplicates")), (0, 208));
    // A file that has grown gives what is new, and the import of it is another one.
    write(&file, &(0..101).map(|call| action(call, "Bash")).collect::<Vec<_>>());
    assert_eq!(number(&told(&import()), "/created"), 3);
    let read = sample.run(&["read", "--json", "--call", "c100"]);
    let kinds: Vec<String> = String::from_utf8(read.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event"]["type"].to_string())
        .collect();
    assert_eq!(
        kinds,
        ["\"tool.requested\"", "\"tool.completed\"", "\"decision.made\"", "\"trust.observed\""]
    );
    assert_eq!(code(&sample.run(&["verify", "--with-keys"])), 10);
}

#[test]
fn a_call_without_an_outcome_is_told_as_a_gap_and_an_outcome_that_comes_later_stands_beside_it() {
    let sample = Sample::new(0);
    let file = sample.folder.path().join("s.jsonl");
    let whole = transcript(2);
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let import =
        || told(&sample.run(&["import", "--json", "--format", "claude-code", file.to_str().unwrap()]));
    fs::write(&file, lines[..lines.len() - 1].concat()).unwrap();
    let first = import();
    assert_eq!((number(&first, "/withoutOutcome"), number(&first, "/types/coverage.gap")), (1, 1));
    assert_eq!(number(&import(), "/created"), 0);
    fs::write(&file, &whole).unwrap();
    assert_eq!(number(&import(), "/withoutOutcome"), 0);
    let read = sample.run(&["read", "--json", "--call", "c2"]);
    let text = String::from_utf8(read.stdout).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let gap = events.iter().find(|event| event["event"]["type"] == "coverage.gap").unwrap();
    let data = &gap["event"]["data"];
    assert_eq!((&data["call"], &data["missing"]), (&json!("c2"), &json!("outcome")));
    assert_eq!((&gap["event"]["subject"], &data["assurance"]), (&json!("session/s"), &json!("imported")));
    assert!(events.iter().any(|event| event["event"]["type"] == "tool.completed"), "{text}");
}

#[test]
fn an_import_is_accepted_once_and_only_where_all_of_it_is_there() {
    let sample = Sample::new(0);
    let file = sample.folder.path().join("actions.ndjson");
    let lines: Vec<String> = (0..20).map(|call| action(call, "Bash")).collect();
    write(&file, &lines);
    let import = |flags: &[&str]| {
        let mut arguments = vec!["import", "--json", file.to_str().unwrap()];
        arguments.extend(flags);
        sample.run(&arguments)
    };
    let accepted = || {
        let read = sample.run(&["read", "--json", "--type", "import.accepted"]);
        String::from_utf8(read.stdout).unwrap().lines().count()
    };
    assert_eq!(told(&import(&[]))["accepted"], false);
    assert_eq!(accepted(), 0);
    let first = told(&import(&["--accept"]));
    assert_eq!((&first["accepted"], number(&first, "/created")), (&json!(true), 1));
    let again = told(&import(&["--accept"]));
    assert_eq!((&again["accepted"], number(&again, "/created")), (&json!(true), 0));
    assert_eq!(accepted(), 1);
    let digest = first["digest"].as_str().unwrap();
    let listed = told(&sample.run(&["imports", "--json"]));
    let listed = &listed["imports"][0];
    assert_eq!(
        (&listed["digest"], &listed["dimensions"], &listed["approvals"]),
        (&json!(digest), &json!(1), &json!(20)),
        "what it showed is told of one that counts too"
    );
    assert!(why(&sample.run(&["imports", "accept", digest])).contains("counts since position"));
    // Its calls tell another story now.
    write(&file, &lines.iter().map(|line| line.replace("\"ls\"", "\"pwd\"")).collect::<Vec<_>>());
    let differing = import(&["--accept"]);
    assert_eq!(code(&differing), 1);
    assert!(why(&differing).contains("nothing was accepted"), "{}", why(&differing));
    assert_eq!(told(&differing)["accepted"], false);
    assert_eq!(accepted(), 1);
}

#[test]
fn what_an_import_would_change_is_shown_before_it_counts() {
    let sample = Sample::new(0);
    let file = sample.folder.path().join("actions.ndjson");
    let lines: Vec<String> =
        (0..30).map(|call| action(call, if call < 25 { "Bash" } else { "mcp__a__b" })).collect();
    write(&file, &lines);
    let brought = told(&sample.run(&["import", "--json", file.to_str().unwrap()]));
    let digest = brought["digest"].as_str().unwrap();
    let show = || told(&sample.run(&["imports", "show", "--json", digest]));
    let report = show();
    assert_eq!(number(&report, "/onceAccepted/autoApprove"), 1, "{report}");
    assert_eq!(
        (number(&report, "/changes/0/imported/approvals"), number(&report, "/changes/0/now/approvals")),
        (25, 0)
    );
    assert_eq!(report["changes"][0]["dimension"]["context"], "ls");
    let shown = String::from_utf8(sample.run(&["imports", "show", digest]).stdout).unwrap();
    assert!(shown.contains("auto_approve") && shown.contains("Bash on ls"), "{shown}");
    let text = String::from_utf8(sample.run(&["import", file.to_str().unwrap()]).stdout).unwrap();
    assert!(text.contains(&format!("bitacora imports show {digest}")), "{text}");
    let said = |arguments: &[&str]| String::from_utf8(sample.run(arguments).stdout).unwrap();
    let history = ["trust", "history", "--tool", "Bash", "--context", "ls"];
    let months = [&history[..], &["--months"]].concat();
    let row = |text: String| text.lines().nth(1).unwrap_or_default().to_owned();
    assert!(row(said(&history)).contains("approved, imported, not accepted"), "{}", said(&history));
    assert!(row(said(&months)).contains("25        25"), "{}", said(&months));
    assert_eq!(code(&sample.run(&["imports", "accept", digest])), 0);
    assert_eq!((number(&show(), "/dimensions"), number(&show(), "/approvals")), (2, 30));
    let counted = row(said(&["imports"]));
    assert!(counted.split_whitespace().skip(2).take(2).eq(["2", "30"]), "{counted}");
    let shown = said(&["imports", "show", digest]);
    assert!(shown.contains("2 dimensions: 30 approvals") && shown.contains("nothing of it waits"), "{shown}");
    let counted = row(said(&history));
    assert!(counted.contains("approved, imported ") && !counted.contains("not accepted"), "{counted}");
    assert!(row(said(&months)).contains("25        0"), "{}", said(&months));
    // The same once more says that it counts, also to who asks for that again.
    let again = said(&["import", file.to_str().unwrap()]);
    assert!(again.contains("this import counts since position"), "{again}");
    let again = sample.run(&["import", "--accept", "--json", file.to_str().unwrap()]);
    assert_eq!((code(&again), &told(&again)["accepted"]), (0, &json!(true)), "{}", why(&again));
    let trust = told(&sample.run(&["trust", "--json"]));
    assert_eq!(number(&trust, "/dimensions/0/approvals"), 25);
}

#[test]
fn what_cannot_be_mapped_is_listed_and_keeps_nothing_else_out() {
    let sample = Sample::new(0);
    let file = sample.folder.path().join("actions.ndjson");
    let report = sample.folder.path().join("report");
    let mut lines: Vec<String> = (0..20).map(|call| action(call, "Bash")).collect();
    lines[3] = "{\"at\":".to_owned();
    lines[5] = action(5, "Bash").replace("\"ok\"", "\"approved\"");
    lines[7] = action(7, "x").replace("\"ls\"", &format!("\"{}\"", "y".repeat(5 * 1024 * 1024)));
    lines[9] = action(9, "Bash").replace("\"ls\"", "\"\\u0000\"");
    lines[11] = "[1, 2]".to_owned();
    let mut bytes = (lines.join("\n") + "\n").into_bytes();
    bytes.extend_from_slice(b"{\"at\":\"\xff\xfe\",\"session\":\"s\"}\n");
    bytes.extend_from_slice(&action(99, "Bash").into_bytes()[..100]);
    fs::write(&file, bytes).unwrap();
    let (file, report_flag) = (file.to_str().unwrap(), report.to_str().unwrap());
    let output = sample.run(&["import", "--json", "--report", report_flag, file]);
    assert_eq!(code(&output), 0);
    let summary = told(&output);
    assert_eq!((number(&summary, "/unmapped/count"), number(&summary, "/types/tool.requested")), (7, 15));
    let listed: Vec<u64> = fs::read_to_string(&report)
        .unwrap()
        .lines()
        .map(|line| number(&serde_json::from_str(line).unwrap(), "/line"))
        .collect();
    assert_eq!(listed, [4, 6, 8, 10, 12, 21, 22]);
    let text = String::from_utf8(sample.run(&["import", file]).stdout).unwrap();
    assert!(text.contains("actions.ndjson:6: outcome `approved` is not known"), "{text}");
    assert_eq!(code(&sample.run(&["verify", "--with-keys"])), 10);
}

#[test]
fn a_file_that_tells_another_story_now_is_noticed_and_changes_nothing() {
    let sample = Sample::new(0);
    let file = sample.folder.path().join("actions.ndjson");
    let lines: Vec<String> = (0..300).map(|call| action(call, "Bash")).collect();
    write(&file, &lines[..200]);
    let import = || sample.run(&["import", "--json", file.to_str().unwrap()]);
    assert_eq!(number(&told(&import()), "/created"), 408);
    let changed = lines
        .iter()
        .enumerate()
        .map(|(call, line)| if call % 3 == 0 { line.replace("\"Bash\"", "\"Read\"") } else { line.clone() });
    write(&file, &changed.collect::<Vec<_>>());
    let output = import();
    assert_eq!(code(&output), 0);
    let summary = told(&output);
    assert_eq!(number(&summary, "/rejected/differing"), 2 * 67);
    assert_eq!(number(&summary, "/created"), 2 * 100 + 1);
    let first = &summary["rejected"]["listed"][0];
    assert!(first["code"] == "id-reused" && first["file"] == "actions.ndjson", "{first}");
    assert_eq!(code(&sample.run(&["verify", "--with-keys"])), 10);
}

#[test]
fn what_is_not_there_or_empty_or_unknown_is_said() {
    let sample = Sample::new(0);
    let folder = sample.folder.path().join("in");
    fs::create_dir(&folder).unwrap();
    let import = |path: &Path, more: &[&str]| {
        let mut arguments = vec!["import", path.to_str().unwrap()];
        arguments.extend(more);
        sample.run(&arguments)
    };
    let missing = import(&folder.join("no"), &[]);
    assert!(code(&missing) == 1 && why(&missing).contains("No such file"));
    let empty = import(&folder, &[]);
    assert!(code(&empty) == 1 && why(&empty).contains("no file here ends in"));
    let file = folder.join("x.jsonl");
    fs::write(&file, "").unwrap();
    assert_eq!(code(&import(&file, &[])), 0);
    fs::write(&file, "{\"a\":1}\n{\"a\":2}\n").unwrap();
    let unknown = import(&file, &[]);
    assert!(code(&unknown) == 1 && why(&unknown).contains("--format"));
    let mapped = import(&file, &["--type", "x.a", "--stream", "s/{a}", "--json"]);
    assert_eq!(number(&told(&mapped), "/created"), 3);
    assert_eq!(code(&import(&file, &["--type", "x.{"])), 2);
    assert_eq!(code(&import(&file, &["--type", "x.a", "--format", "actions"])), 2);
    let packed = zstd::encode_all(action(1, "Bash").as_bytes(), 3).unwrap();
    fs::write(&file, &packed[..packed.len() - 5]).unwrap();
    let cut = import(&file, &[]);
    assert!(code(&cut) == 1 && why(&cut).contains("x.jsonl"), "{}", why(&cut));
}

#[test]
fn two_imports_at_once_add_each_event_once() {
    let folder = tempfile::tempdir().unwrap();
    let place = bitacora_tests::service::ServiceFolder::new(crate::PROGRAM, folder.path());
    let service = place.start().unwrap();
    let url = format!("http://{}", service.address);
    let file = folder.path().join("actions.ndjson");
    write(&file, &(0..2_000).map(|call| action(call, "Bash")).collect::<Vec<_>>());
    let import = || {
        crate::sample::command(&["import", "--json", "--batch", "50", "--url", &url])
            .arg(&file)
            .output()
            .unwrap()
    };
    let both = std::thread::scope(|scope| {
        let other = scope.spawn(import);
        [told(&import()), told(&other.join().unwrap())]
    });
    let created: u64 = both.iter().map(|one| number(one, "/created")).sum();
    assert_eq!(created, 4_008, "{both:?}");
    assert!(both.iter().all(|one| number(one, "/events") == 4_008));
    drop(service);
}

/// A session of prompts and calls, as Claude Code writes it down.
fn transcript(calls: u64) -> String {
    let line = |number: u64, kind: &str, message: Value| {
        let time = format!("2026-01-07T16:{:02}:{:02}.000Z", number / 60 % 60, number % 60);
        let line = json!({"type": kind, "uuid": format!("u{number}"), "sessionId": "s", "isSidechain": false,
            "cwd": "/w", "gitBranch": "main", "version": "2.1.0", "timestamp": time, "message": message});
        format!("{line}\n")
    };
    let mut text_of_all = line(0, "user", json!({"role": "user", "content": "go on"}));
    for call in 1..=calls {
        let tool =
            json!({"type": "tool_use", "id": format!("c{call}"), "name": "Bash", "input": {"command": "ls"}});
        // An answer is written block by block, and only its last line knows how long it became.
        let text = json!({"type": "text", "text": "I will look"});
        for (block, output) in [(text, 1), (tool, 60)] {
            let usage = json!({"input_tokens": call, "output_tokens": output});
            let answer = json!({"id": format!("m{call}"), "model": "m", "role": "assistant", "content": [block], "usage": usage});
            text_of_all += &line(2 * call, "assistant", answer);
        }
        let result = json!({"type": "tool_result", "tool_use_id": format!("c{call}"), "content": "é done"});
        text_of_all += &line(2 * call + 1, "user", json!({"role": "user", "content": [result]}));
    }
    text_of_all
}

#[test]
fn a_transcript_that_was_cut_anywhere_is_completed_by_the_whole_one() {
    let sample = Sample::new(0);
    let file = sample.folder.path().join("s.jsonl");
    let whole = transcript(6);
    let import = || {
        let output = sample.run(&["import", "--json", "--format", "claude-code", file.to_str().unwrap()]);
        assert_eq!(code(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
        told(&output)
    };
    let mut created = 0;
    for cut in (1..whole.len()).step_by(151) {
        fs::write(&file, &whole.as_bytes()[..cut]).unwrap();
        let summary = import();
        assert_eq!(number(&summary, "/rejected/count"), 0, "{cut}: {summary}");
        assert!(number(&summary, "/unmapped/count") <= 1, "{cut}: {summary}");
        created += number(&summary, "/created") - u64::from(number(&summary, "/events") > 0);
    }
    fs::write(&file, &whole).unwrap();
    let summary = import();
    assert_eq!(created + number(&summary, "/created") - 1, 1 + 1 + 6 * 3);
    assert_eq!(number(&import(), "/created"), 0);
}

#[test]
fn an_import_that_is_interrupted_keeps_what_was_acknowledged_and_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let place = bitacora_tests::service::ServiceFolder::new(crate::PROGRAM, folder.path());
    let service = place.start().unwrap();
    let url = format!("http://{}", service.address);
    let file = folder.path().join("s.jsonl");
    fs::write(&file, transcript(20_000)).unwrap();
    let import = |batch: &str| {
        let mut import = crate::sample::command(&["import", "--json", "--batch", batch, "--url", &url]);
        import.arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped());
        import
    };
    let running = import("10").spawn().unwrap();
    // It is interrupted while it sends, once some of it is durable.
    let mut client = HttpClient::connect(service.address).unwrap();
    let began = Instant::now();
    loop {
        let head = client.get("/v1/ledgers/main/head", "application/json").unwrap();
        let head: Value = serde_json::from_slice(&head.body).unwrap();
        if head["position"].as_str().unwrap().parse::<u64>().unwrap() > 100 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{head}");
        std::thread::sleep(Duration::from_millis(5));
    }
    let interrupted = Command::new("kill").arg("-INT").arg(running.id().to_string()).status().unwrap();
    let ended = running.wait_with_output().unwrap();
    assert!(interrupted.success());
    assert_eq!(code(&ended), 130, "{}", String::from_utf8_lossy(&ended.stderr));
    let before = number(&told(&ended), "/created");
    let after = told(&import("1000").output().unwrap());
    let (created, duplicates) = (number(&after, "/created"), number(&after, "/duplicates"));
    assert_eq!(created + duplicates, 2 + 20_000 * 3 + 1);
    assert!(duplicates >= before, "{before} were acknowledged, {duplicates} are there");
    drop(service);
}

#[test]
fn cloud_events_are_taken_as_they_are() {
    let sample = Sample::new(0);
    let file = sample.folder.path().join("events.jsonl");
    let event = |id: &str, more: &str| {
        format!(
            r#"{{"specversion":"1.0","id":"{id}","source":"urn:x","type":"x.noted"{more},"data":{{"n" : 1e0}}}}"#
        )
    };
    let reserved = event("4", r#","subject":"s""#).replace("x.noted", "ledger.created");
    write(&file, &[event("1", r#","subject":"s""#), event("2", ""), reserved]);
    let output = sample.run(&["import", "--json", file.to_str().unwrap()]);
    let summary = told(&output);
    assert_eq!((number(&summary, "/created"), number(&summary, "/unmapped/count")), (2, 1));
    assert_eq!(summary["rejected"]["listed"][0]["code"], "reserved-type");
    let output = sample.run(&["import", "--json", "--stream", "t", file.to_str().unwrap()]);
    assert_eq!(number(&told(&output), "/created"), 2);
    let read = sample.run(&["read", "--json", "--type", "x.noted"]);
    let read = String::from_utf8(read.stdout).unwrap();
    assert!(read.lines().count() == 2 && read.lines().all(|line| line.contains(r#""data":{"n" : 1e0}"#)));
}

#[test]
fn an_import_made_again_says_since_when_it_counts_whoever_accepted_it() {
    for way in LedgerAccess::both() {
        let lines: Vec<_> = (0..3).map(|call| action(call, "Bash") + "\n").collect();
        let file = way.file("actions.ndjson", &lines.concat());
        assert!(way.does(&["import", &file]).contains("counts once it is accepted"));
        let digest = way.json(0, &["imports"])["imports"][0]["digest"].as_str().unwrap().to_owned();
        way.does(&["imports", "accept", &digest]);
        let since = way.json(0, &["imports"])["imports"][0]["accepted"].as_str().unwrap().to_owned();
        let says = format!("this import counts since position {since}\n");
        assert!(way.does(&["import", &file]).contains(&says));
        assert!(way.does(&["import", "--accept", &file]).contains(&says));
    }
}
