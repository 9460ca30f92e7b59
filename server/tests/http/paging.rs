//! Lists of a ledger's state: bounded pages, and not sent again while nothing happens.

use serde_json::{Value, json};

use crate::governed::{ask, earn, governed, post, put};
use crate::identities::event;
use crate::service::TestService;

fn get(service: &TestService, resource: &str) -> Value {
    service.get(&format!("/v1/ledgers/main/{resource}")).expect(200).json()
}

/// The items of all pages of a list, two at a time, and how many pages there are.
fn paged(service: &TestService, list: &str, members: &[&str]) -> (Vec<Value>, usize) {
    let joint = if list.contains('?') { '&' } else { '?' };
    let (mut items, mut pages, mut after) = (Vec::new(), 0, String::new());
    loop {
        let page = get(service, &format!("{list}{joint}limit=2{after}"));
        let of_page: Vec<Value> =
            members.iter().flat_map(|member| page[member].as_array().unwrap().clone()).collect();
        assert!(of_page.len() <= 2 && !of_page.is_empty(), "{list}: {page}");
        items.extend(of_page);
        pages += 1;
        assert!(pages < 20, "{list} has no end");
        match page.get("next") {
            Some(next) => after = format!("&after={}", next.as_str().unwrap()),
            None => return (items, pages),
        }
    }
}

/// Ends an import that is named by this digit.
fn end_import(service: &TestService, digit: &str) {
    let counts = json!({"files": 1, "lines": 1, "bytes": 1, "events": 1, "unmapped": 0, "passed_over": 0,
        "without_outcome": 0, "types": {}});
    let batch = json!({"digest": digit.repeat(64), "mapping": "m", "counts": counts, "sources": []});
    service.append(event("import.batch", &batch).to_string()).expect(201);
}

/// A service of whose every list there are five items or more.
fn busy() -> TestService {
    let service = governed("allow");
    let dimension = |tool: &str| json!({"tool": tool, "context": "-", "model": "-", "task_type": "-"});
    let document = get(&service, "tools")["tools"][0]["document"].clone();
    for (index, name) in ["!a", "b", "c", "d", "e"].into_iter().enumerate() {
        let mut document = document.clone();
        document["tool"] = json!(name);
        put(&service, &format!("tools/{name}"), &document).expect(201);
        let approvals = 10 * index;
        let counts = json!({"approvals": approvals, "rejections": 1, "failures": 0, "streak": 0});
        let set = json!({"dimension": dimension(name), "counts": counts, "reason": "for a test"});
        post(&service, "trust:set", &set).expect(200);
        let settings = json!({"dimension": dimension(name), "window": 20, "failureThreshold": 5, "recoveryProbes": 3, "cooldownS": 300});
        post(&service, "breakers:configure", &settings).expect(200);
        put(&service, "mode", &json!({"mode": "observe", "scope": {"tool": format!("other-{name}")}}))
            .expect(200);
        let limit = json!({"burst": 9, "refill": 1, "period_ms": 3_600_000});
        put(&service, "rates", &json!({"scope": {"by": "agent", "name": name}, "limit": limit})).expect(200);
        let budget = json!({"budget": name, "limits": {"calls": 9}, "period": (if index % 2 == 0 { "day" } else { "run" }), "onExceed": "deny"});
        put(&service, "budgets", &budget).expect(200);
        let contract =
            json!({"contract": name, "pre": [], "post": [], "rollback": [], "blast_radius": "low"});
        service.append(event("contract.defined", &contract).to_string()).expect(201);
        let grant = json!({"grant": name, "scope": {"tool": "fs.write", "agent": "coder", "context": "src", "workspace": "-"}, "expires": "2100-01-01T00:00:00Z"});
        post(&service, "grants", &grant).expect(201);
        post(&service, &format!("agents/{name}:suspend"), &json!({"reason": "for a test"})).expect(200);
        let rules = json!([{"id": name, "match": {}, "action": "review", "reason": "for a test"}]);
        put(&service, "policy", &json!({"rules": rules})).expect(201);
        let call = json!({"call": name, "tool": "fs.write", "args": {"path": format!("{index}/a.rs")}});
        assert_eq!(ask(&service, call)["verdict"], "review");
        end_import(&service, &index.to_string());
    }
    for (tool, outcomes) in [("!a", 1), ("b", 3), ("c", 1), ("d", 2), ("e", 1)] {
        for number in 0..outcomes {
            let observed = json!({"dimension": dimension(tool), "outcome": "approved", "duration_ms": number,
                "assurance": "imported"});
            service.append(event("trust.observed", &observed).to_string()).expect(201);
        }
    }
    end_import(&service, "f");
    service
}

#[test]
fn every_list_comes_in_pages_that_hold_each_item_once() {
    let service = busy();
    let changes = format!("imports/{}", "f".repeat(64));
    let lists: [(&str, &[&str]); 14] = [
        ("approvals", &["approvals"]),
        ("tools", &["tools"]),
        ("trust", &["dimensions"]),
        ("trust?order=bottom", &["dimensions"]),
        ("breakers", &["breakers"]),
        ("mode", &["scopes"]),
        ("rates", &["limits", "buckets"]),
        ("budgets", &["budgets"]),
        ("contracts", &["contracts"]),
        ("grants", &["grants"]),
        ("panic", &["suspended"]),
        ("policy", &["versions"]),
        ("imports", &["imports"]),
        (&changes, &["changes"]),
    ];
    for (list, members) in lists {
        let whole = get(&service, list);
        assert!(whole.get("next").is_none(), "{list}: {whole}");
        let all: Vec<Value> =
            members.iter().flat_map(|member| whole[member].as_array().unwrap().clone()).collect();
        let (items, pages) = paged(&service, list, members);
        assert!(all.len() >= 5 && pages == all.len().div_ceil(2), "{list}: {whole}");
        assert_eq!(items, all, "{list}");
    }
    // A name before the one of what is not known is in the list too.
    assert_eq!(get(&service, "breakers")["breakers"][0]["dimension"]["tool"], "!a");
    let report = get(&service, &changes);
    let tools: Vec<_> =
        report["changes"].as_array().unwrap().iter().map(|of| of["dimension"]["tool"].clone()).collect();
    assert_eq!(tools, ["b", "d", "!a", "c", "e"], "those with the most outcomes first");
}

#[test]
fn what_changes_between_two_pages_moves_nothing_else() {
    let service = busy();
    let first = get(&service, "grants?limit=2");
    let next = first["next"].as_str().unwrap();
    service.request("DELETE", "/v1/ledgers/main/grants/!a", &[], b"").expect(200);
    let second = get(&service, &format!("grants?limit=2&after={next}"));
    let ids: Vec<_> =
        second["grants"].as_array().unwrap().iter().map(|grant| grant["grant"].clone()).collect();
    assert_eq!(ids, [json!("c"), json!("d")]);
}

#[test]
fn a_page_is_not_sent_again_while_nothing_has_happened() {
    let service = busy();
    for list in ["approvals", "trust", "breakers?state=closed", "grants?limit=2"] {
        let target = format!("/v1/ledgers/main/{list}");
        let page = service.get(&target).expect(200);
        assert_eq!(page.header("cache-control"), Some("private, no-cache"));
        let tag = page.header("etag").unwrap().to_owned();
        assert_eq!(
            page.header("ledger-position"),
            tag.strip_prefix("\"s").and_then(|tag| tag.strip_suffix('"'))
        );
        let known = service.get_with(&target, &[("If-None-Match", &tag)]).expect(304);
        assert!(known.body.is_empty() && known.header("etag") == Some(&tag));
        assert_eq!(known.header("ledger-position"), page.header("ledger-position"));
        earn(&service, "fs.write", "elsewhere");
        let changed = service.get_with(&target, &[("If-None-Match", &tag)]).expect(200);
        assert_ne!(changed.header("etag"), Some(tag.as_str()));
    }
}

#[test]
fn limits_and_cursors_that_are_none_are_refused() {
    let service = governed("allow");
    let lists = [
        "approvals",
        "tools",
        "trust",
        "breakers",
        "mode",
        "rates",
        "budgets",
        "grants",
        "panic",
        "policy",
        "imports",
    ];
    for list in lists {
        let most = if list == "tools" { 100 } else { 1_000 };
        service.get(&format!("/v1/ledgers/main/{list}?limit={most}")).expect(200);
        for parameters in
            [&*format!("limit={}", most + 1), "limit=0", "limit=x", "after=%21", "after=MS41", "afer=x"]
        {
            let target = format!("/v1/ledgers/main/{list}?{parameters}");
            service.get(&target).expect_problem(400, "bad-query");
        }
    }
}

#[test]
fn an_act_takes_no_parameters_that_it_does_not_know() {
    let service = governed("allow");
    let before = service.tip();
    post(&service, "panic?reason=x", &json!({"reason": "y"})).expect_problem(400, "bad-query");
    put(&service, "mode?scope=x", &json!({"mode": "observe"})).expect_problem(400, "bad-query");
    assert_eq!(service.tip(), before);
}
