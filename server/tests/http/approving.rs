//! Answers to calls that wait for a person: the first one holds, and every waiting caller hears it.

use std::time::{Duration, Instant};

use bitacora_governance::{STARTER_POLICY, STARTER_TOOLS};
use serde_json::{Value, json};

use crate::governed::{approve, ask, governed, post, put};
use crate::service::{TestService, data};

fn waiting(service: &TestService, call: &str) -> String {
    let answer =
        ask(service, json!({"call": call, "tool": "fs.write", "args": {"path": format!("src/{call}.rs")}}));
    answer["approval"]["id"].as_str().unwrap().to_owned()
}

fn resolve(service: &TestService, approval: &str, act: &str, body: &Value) -> crate::service::ServiceAnswer {
    post(service, &format!("approvals/{approval}:{act}"), body)
}

#[test]
fn of_two_approvers_at_once_the_second_is_told() {
    let service = governed("allow");
    for round in 0..4 {
        let approval = waiting(&service, &format!("c{round}"));
        let mut statuses: Vec<u16> = std::thread::scope(|scope| {
            let both = ["approve", "reject"].map(|act| {
                let (service, approval) = (&service, &approval);
                scope.spawn(move || resolve(service, approval, act, &json!({"note": "looked at"})).status)
            });
            both.into_iter().map(|one| one.join().unwrap()).collect()
        });
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
        resolve(&service, &approval, "withdraw", &json!({})).expect_problem(409, "already-resolved");
    }
}

#[test]
fn the_same_word_twice_is_two_words() {
    let service = governed("allow");
    let approval = waiting(&service, "c1");
    approve(&service, &approval).expect(200);
    approve(&service, &approval).expect_problem(409, "already-resolved");
}

#[test]
fn whoever_waits_hears_the_word_when_it_is_said() {
    let service = governed("allow");
    let approval = waiting(&service, "c1");
    let target = format!("/v1/ledgers/main/approvals/{approval}");
    let nothing = service.get(&format!("{target}?wait=50ms")).expect(200).json();
    assert_eq!(nothing["status"], "pending");
    let began = Instant::now();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| service.get(&format!("{target}?wait=30s")).expect(200).json());
        std::thread::sleep(Duration::from_millis(100));
        resolve(&service, &approval, "reject", &json!({"note": "not today"})).expect(200);
        let heard = waiter.join().unwrap();
        assert_eq!(
            (&heard["status"], &heard["resolution"]["note"]),
            (&json!("rejected"), &json!("not today"))
        );
    });
    assert!(began.elapsed() < Duration::from_secs(10));
    let gone = ask(
        &service,
        json!({"call": "c1", "tool": "fs.write", "args": {"path": "src/c1.rs"}, "approval": approval}),
    );
    assert_ne!(gone["verdict"], "allow");
}

#[test]
fn a_wait_ends_with_the_service() {
    let mut service = governed("allow");
    let approval = waiting(&service, "c1");
    let mut client = service.connect();
    client.send(
        crate::service::head("GET", &format!("/v1/ledgers/main/approvals/{approval}?wait=60s"), &[], None)
            .as_bytes(),
    );
    std::thread::sleep(Duration::from_millis(200));
    let began = Instant::now();
    service.begin_shutdown();
    assert_eq!(client.answer().expect(200).json()["status"], "pending");
    service.wait().unwrap();
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn an_edit_approves_other_arguments_and_no_others() {
    let service = governed("allow");
    let approval = waiting(&service, "c1");
    resolve(&service, &approval, "edit", &json!({})).expect_problem(400, "bad-body");
    let unfit =
        resolve(&service, &approval, "edit", &json!({"args": {"no": "path"}})).expect_problem(422, "schema");
    let told = unfit["detail"].as_str().unwrap();
    assert!(told.contains("what its schema asks for") && told.contains("(`required` at"), "{told}");
    let edited =
        resolve(&service, &approval, "edit", &json!({"args": {"path": "src/safe.rs"}})).expect(200).json();
    assert_eq!(edited["status"], "edited");
    assert_ne!(edited["resolution"]["actionDigest"], edited["actionDigest"]);
    let call = |call: &str, path: &str| {
        ask(&service, json!({"call": call, "tool": "fs.write", "args": {"path": path}, "approval": approval}))
            ["verdict"]
            .clone()
    };
    assert_eq!(call("c2", "src/c1.rs"), "review");
    assert_eq!(call("c3", "src/safe.rs"), "allow");
}

#[test]
fn what_is_no_approval_or_no_act_is_said_so() {
    let service = governed("allow");
    let approval = waiting(&service, "c1");
    service.get("/v1/ledgers/main/approvals/a999").expect_problem(404, "no-such-approval");
    service.get(&format!("/v1/ledgers/main/approvals/{approval}?wait=61s")).expect_problem(400, "bad-query");
    resolve(&service, "a999", "approve", &json!({})).expect_problem(404, "no-such-approval");
    resolve(&service, &approval, "applaud", &json!({})).expect_problem(404, "no-such-resource");
    post(&service, &format!("approvals/{approval}"), &json!({})).expect_problem(404, "no-such-resource");
    resolve(&service, &approval, "approve", &json!({"args": {}})).expect_problem(400, "bad-body");
    resolve(&service, &approval, "approve", &json!({"nota": "x"})).expect_problem(400, "bad-body");
    resolve(&service, &approval, "edit", &json!({"args": {}, "actionDigest": "0".repeat(64)}))
        .expect_problem(400, "bad-body");
    service.request("POST", &format!("/v1/ledgers/main/approvals/{approval}:approve"), &[], b"").expect(200);
}

#[test]
fn whoever_approves_sees_what_the_call_would_do() {
    let service = governed("allow");
    let key = format!("sk-{}", "a1b2c3d4e5".repeat(4));
    let request = json!({
        "call": "c1", "tool": "fs.write", "cwd": "/w", "args": {"path": "src/a.rs", "content": key},
    });
    let approval = ask(&service, request)["approval"]["id"].as_str().unwrap().to_owned();
    let list = service.get("/v1/ledgers/main/approvals").expect(200).json();
    let alone = service.get(&format!("/v1/ledgers/main/approvals/{approval}")).expect(200).json();
    for shown in [&list["approvals"][0], &alone] {
        assert_eq!((&shown["about"], &shown["context"]), (&json!("call"), &json!("src")));
        assert_eq!((&shown["args"]["path"], &shown["cwd"]), (&json!("src/a.rs"), &json!("/w")));
        assert_ne!(shown["args"]["content"], json!(key), "secrets are not shown");
    }
    // Arguments that are too long for a list are shown alone.
    let long =
        json!({"call": "c2", "tool": "fs.write", "args": {"path": "src/b.rs", "content": "x".repeat(5_000)}});
    let approval = ask(&service, long)["approval"]["id"].as_str().unwrap().to_owned();
    let list = service.get("/v1/ledgers/main/approvals").expect(200).json();
    let listed = &list["approvals"][1];
    assert!(listed.get("args").is_none() && listed["argsBytes"].as_u64().unwrap() > 5_000, "{listed}");
    let alone = service.get(&format!("/v1/ledgers/main/approvals/{approval}")).expect(200).json();
    assert_eq!(alone["args"]["path"], "src/b.rs");
}

#[test]
fn an_edit_is_recorded_shown_and_held_to() {
    let service = governed("allow");
    let approval = waiting(&service, "c1");
    let target = format!("/v1/ledgers/main/approvals/{approval}");
    resolve(&service, &approval, "edit", &json!({"cwd": "/w"})).expect_problem(400, "bad-body");
    let long = json!({"args": {"path": "x".repeat(20_000)}});
    resolve(&service, &approval, "edit", &long).expect_problem(400, "bad-body");
    let secret = json!({"args": {"path": format!("src/sk-{}", "a1b2c3d4e5".repeat(4))}});
    resolve(&service, &approval, "edit", &secret).expect_problem(422, "schema");
    let edit = json!({"args": {"path": "src/other.rs"}, "cwd": "/w", "note": "there"});
    resolve(&service, &approval, "edit", &edit).expect(200);
    let shown = service.get(&target).expect(200).json();
    let said = &shown["resolution"];
    assert_eq!((&shown["status"], &said["args"]), (&json!("edited"), &json!({"path": "src/other.rs"})));
    assert_eq!((&shown["args"], &said["cwd"]), (&json!({"path": "src/c1.rs"}), &json!("/w")));
    let recorded = service.get("/v1/ledgers/main/events?type=approval.resolved").expect(200).json();
    assert_eq!(recorded["events"][0]["event"]["data"]["args"], json!({"path": "src/other.rs"}));
    let request = |call: &str, path: &str| json!({"call": call, "tool": "fs.write", "args": {"path": path}, "cwd": "/w", "approval": approval});
    assert_eq!(ask(&service, request("c2", "src/c1.rs"))["reasonCode"], "approval-mismatch");
    assert_eq!(ask(&service, request("c3", "src/other.rs"))["reasonCode"], "approved");
}

#[test]
fn an_edit_of_a_data_subjects_call_is_refused() {
    let service = governed("allow");
    let request = json!({
        "specversion": "1.0", "id": "r1", "source": "agent/7", "type": "tool.requested", "subject": "s",
        "datasubject": "person/ada", "call": "c1",
        "data": {"call": "c1", "tool": "fs.write", "args": {"path": "src/hopwood-lane-12.rs"}},
    });
    service.append(request.to_string()).expect(201);
    let listed = service.get("/v1/ledgers/main/approvals").expect(200).json();
    let approval = listed["approvals"][0]["id"].as_str().unwrap().to_owned();
    for edit in [json!({"args": {"path": "src/hopwood-lane-13.rs"}}), json!({"actionDigest": "a".repeat(64)})]
    {
        resolve(&service, &approval, "edit", &edit).expect_problem(409, "subject-sealed");
    }
    let events = service.get("/v1/ledgers/main/events?type=approval.resolved").expect(200).json();
    assert_eq!(events["events"], json!([]), "nothing of it is recorded");
    approve(&service, &approval).expect(200);
}

#[test]
fn an_approval_whose_call_cannot_be_read_says_so_and_is_answered_all_the_same() {
    let service = governed("allow");
    let approval = waiting(&service, "c1");
    // The frames that were read last stay open in memory; here those are of other calls.
    (2..20).for_each(|number| drop(waiting(&service, &format!("c{number}"))));
    let service = service.restarted();
    let folder = data(service.folder.path()).join("ledgers/main/segments");
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let from = bytes.len() / 8;
        bytes.iter_mut().skip(from).for_each(|byte| *byte ^= 0x55);
        std::fs::write(&path, bytes).unwrap();
    }
    let of = |path: &str| service.get(&format!("/v1/ledgers/main/{path}"));
    let (listed, alone) = (of("approvals"), of(&format!("approvals/{approval}")));
    assert_eq!((listed.status, alone.status), (200, 200), "{} {}", listed.text(), alone.text());
    for shown in [&listed.json()["approvals"][0], &alone.json()] {
        assert!(shown["unread"].as_str().unwrap().contains("segments/"), "{shown}");
        assert_eq!((&shown["id"], &shown["args"]), (&json!(approval), &json!(null)));
    }
}

/// A service whose ledger follows the starter.
fn begun_with_the_starter() -> TestService {
    let service = TestService::start();
    let tools: Vec<Value> = serde_json::from_str(STARTER_TOOLS).unwrap();
    for tool in tools {
        put(&service, &format!("tools/{}", tool["tool"].as_str().unwrap()), &tool).expect(201);
    }
    put(&service, "policy", &serde_json::from_str(STARTER_POLICY).unwrap()).expect(201);
    post(&service, "policy/1:activate", &json!({})).expect(200);
    service
}

#[test]
fn the_parts_of_a_command_are_shown_however_long_it_is() {
    let service = begun_with_the_starter();
    let long = format!("echo '{}' && git status && rm -rf build", "x".repeat(20_000));
    let many: Vec<String> = (0..70).map(|number| format!("tool{number} now")).collect();
    for (call, command) in [("long", long), ("many", many.join(" && "))] {
        let request =
            json!({"call": call, "tool": "Bash", "args": {"command": command}, "cwd": "/home/ana/project"});
        assert_ne!(ask(&service, request)["verdict"], "allow");
    }
    let listed = service.get("/v1/ledgers/main/approvals").expect(200).json();
    let of = |call: &str| {
        let all = listed["approvals"].as_array().unwrap();
        all.iter().find(|one| one["call"] == call).unwrap_or_else(|| panic!("{call}: {listed}")).clone()
    };
    let many = of("many");
    // Programs that nobody knows are readable by name alone: that there may be others comes first.
    assert_eq!((many["parts"].as_array().unwrap().len(), &many["moreParts"]), (64, &json!(7)));
    assert_eq!((&many["parts"][0], &many["parts"][1]), (&json!("opaque"), &json!("tool0")), "{many}");
    let long = of("long");
    assert!(long.get("args").is_none() && long["argsBytes"].as_u64().unwrap() > 20_000, "it is cut: {long}");
    assert!(long["parts"].as_array().unwrap().iter().any(|part| part == "rm"), "{long}");
    assert_eq!(long.get("moreParts"), None);
}
