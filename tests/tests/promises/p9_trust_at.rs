//! P9: the trust model's record of a dimension at any position is what the log comes to there.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::{After, Data, Event, Json, Keyring, Micros, Position};
use bitacora_governance::{ObservedEvent, Policy, ReactorState, State, assess};
use bitacora_ledger::{
    AppendRequest, Entropy, Environment, Filter, Ledger, Options, ReactorChoice, ReadFrom, ReadQuery,
    StoredEvent, SystemEntropy,
};
use bitacora_projector::{IndexOptions, IndexedLedger, ModelState};
use bitacora_tests::agents::Agents;
use bitacora_tests::seeded::SeededRandom;
use bitacora_vocabulary::{Dimension, DimensionPart, TrustRules};
use serde_json::{Value, json};

/// Dimensions that operators and imports speak of.
const SPOKEN_OF: u64 = 4;
/// Calls of one dimension: more than what is told of one between two records of it that are kept.
const CALLS: u64 = 50;
/// The number of acts.
const ACTS: u64 = 300;

fn options() -> Options {
    // A session of an agent is one request.
    let (segment_bytes, request_bytes) = (512 * 1024, 128 * 1024);
    Options { governing: ReactorChoice::Governance, segment_bytes, request_bytes, ..Options::small() }
}

fn open(folder: &Path, keyring: &Arc<Keyring>) -> IndexedLedger {
    let ledger = Ledger::open(&Environment::real(), folder, Arc::clone(keyring), options()).unwrap();
    let options = IndexOptions { read_models: true, ..IndexOptions::default() };
    IndexedLedger::open(ledger, &Environment::real(), folder, keyring, &options)
}

fn dimension(number: u64) -> Dimension {
    Dimension::new("spoken-of", format!("c{number}"), "-", "-").unwrap()
}

/// Returns an act of an operator or an import, at random; imports end and are accepted in between.
fn act(random: &mut SeededRandom, number: u64, ended: &mut Vec<String>) -> (&'static str, Value) {
    let of = json!(dimension(random.below(SPOKEN_OF)));
    match random.below(10) {
        0 => {
            // Of the last one only imports speak.
            let of = json!(dimension(random.below(SPOKEN_OF - 1)));
            let mut count = || random.below(40);
            let counts =
                json!({"approvals": count(), "rejections": count(), "failures": count(), "streak": 0});
            ("trust.set", json!({"dimension": of, "counts": counts, "reason": "for a test"}))
        }
        1 => {
            let digest = format!("{number:064x}");
            ended.push(digest.clone());
            let counts = json!({"files": 0, "lines": 0, "bytes": 0, "events": 0, "unmapped": 0, "passed_over": 0,
                "without_outcome": 0, "types": {}});
            ("import.batch", json!({"digest": digest, "mapping": "m", "counts": counts, "sources": []}))
        }
        2 if !ended.is_empty() => {
            let which = usize::try_from(random.below(ended.len() as u64)).unwrap();
            ("import.accepted", json!({"digest": ended.swap_remove(which)}))
        }
        3 => {
            let request =
                json!({"call": format!("imported-{number}"), "tool": "spoken-of", "assurance": "imported"});
            ("tool.requested", request)
        }
        _ => {
            let outcome = ["approved", "auto_approved", "rejected", "error", "timeout"];
            let outcome = outcome.into_iter().nth(usize::try_from(random.below(5)).unwrap()).unwrap();
            let passed = random.below(3) > 0;
            (
                "trust.observed",
                json!({"dimension": of, "outcome": outcome, "post_check_passed": passed, "assurance": "imported"}),
            )
        }
    }
}

fn event(number: u64, kind: &'static str, data: &Value, random: &mut SeededRandom) -> Event<'static> {
    let mut event = Event::new(format!("said-{number}"), "urn:test", kind, "said");
    event.actor = Some("admin:0".into());
    if random.below(4) > 0 {
        let time =
            bitacora_formats::format_time(Micros(1_700_000_000_000_000 + random.below(90_000_000_000_000)));
        event.time = Some(time.into());
    }
    event.call = data["call"].as_str().map(|call| call.to_owned().into());
    event.data = Data::Json(Json::check(data.to_string().into_bytes()).unwrap());
    event
}

/// The dimension of which calls here tell most.
fn one() -> Dimension {
    Dimension::new("fs.write", "src", "-", "-").unwrap().in_workspace(Some(&DimensionPart::default()))
}

/// Calls that go well, of one dimension.
fn work_on_one(ledger: &Ledger, random: &mut SeededRandom) {
    let tool = json!({
        "tool": "fs.write", "version": "1", "description": "a tool", "input_schema": {"type": "object"},
        "risk": "write", "blast_radius": "low", "requires_review": false, "allowed_roles": ["agent"],
        "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none",
        "binding_fields": [], "context_from": {"pointer": "/path", "normaliser": "path"}
    });
    let counts = json!({"approvals": 20, "rejections": 0, "failures": 0, "streak": 20});
    let trusted = json!({"dimension": one(), "counts": counts, "reason": "for a test"});
    let mut acts = vec![("tool.registered", tool), ("trust.set", trusted)];
    for number in 0..CALLS {
        let (call, path) = (format!("one{number}"), format!("src/{number}.rs"));
        acts.push(("tool.requested", json!({"call": call, "tool": "fs.write", "args": {"path": path}})));
        acts.push(("tool.completed", json!({"call": call, "status": "ok"})));
    }
    for (number, (kind, data)) in (2 * ACTS..).zip(acts) {
        let mut said = event(number, kind, &data, random);
        if said.call.is_some() {
            (said.actor, said.agent) = (Some("agent:0".into()), Some("coder".into()));
        }
        ledger.append(AppendRequest::of(vec![said])).unwrap().wait().unwrap();
    }
}

/// Activates another policy, with other numbers of trust.
fn judge_otherwise(ledger: &Ledger, random: &mut SeededRandom) {
    let (rules, trust) =
        (json!([{"id": "all", "match": {}, "action": "allow", "reason": "x"}]), TrustRules::v1());
    let compiled: Vec<_> = serde_json::from_value(rules.clone()).unwrap();
    let digest = Policy::compile(&compiled, &trust).unwrap().digest().to_string();
    let published = json!({"version": 2, "digest": digest, "rules": rules, "trust": trust, "author": "me"});
    for (number, kind, data) in
        [(ACTS, "policy.published", published), (ACTS + 1, "policy.activated", json!({"version": 2}))]
    {
        let said = event(number, kind, &data, random);
        ledger.append(AppendRequest::of(vec![said])).unwrap().wait().unwrap();
    }
}

fn each(ledger: &Ledger, mut take: impl FnMut(&StoredEvent<'_>)) {
    let mut from = Some(ReadFrom::After(After::START));
    while let Some(next) = from {
        let query = ReadQuery { from: next, until: None, limit: 1_000, filter: Filter::default() };
        let page = ledger.read(&query).unwrap();
        page.events.iter().for_each(&mut take);
        from = page.next;
    }
}

#[test]
fn trust_at_any_position_is_what_the_fold_of_the_log_says() {
    let folder = tempfile::tempdir().unwrap();
    let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
    let path = folder.path().join("main");
    Ledger::create(&Environment::real(), &path, &"main".parse().unwrap(), &keyring, &options()).unwrap();
    let ledger = open(&path, &keyring);
    let mut agents = Agents::begin(ledger.ledger(), 1);
    agents.work(ledger.ledger());
    let (mut random, mut ended) = (SeededRandom::new(77), Vec::new());
    for number in 0..ACTS {
        if number == ACTS / 2 {
            judge_otherwise(ledger.ledger(), &mut random);
            work_on_one(ledger.ledger(), &mut random);
        }
        let (kind, data) = act(&mut random, number, &mut ended);
        let said = event(number, kind, &data, &mut random);
        ledger.append(AppendRequest::of(vec![said])).unwrap().wait().unwrap();
    }
    let (end, head) = (Instant::now() + Duration::from_secs(60), ledger.head().position);
    let models = ledger.read_models().unwrap();
    while !models.status().iter().all(|model| model.position == Some(head) && model.state == ModelState::Ok) {
        assert!(Instant::now() < end, "{:?}", models.status());
        std::thread::sleep(Duration::from_millis(5));
    }
    let seen: Vec<Dimension> = {
        let mut state = State::default();
        each(ledger.ledger(), |stored| fold(&mut state, stored));
        // The dimensions of agents, and those that others speak of.
        let shown = state.dimensions(None).map(|(dimension, _)| dimension.clone()).step_by(5);
        shown.chain((0..SPOKEN_OF).map(dimension)).chain([one()]).collect()
    };
    let told = models.trust_told(&one(), None, 1_000).unwrap().items.len();
    assert!(told as u64 > CALLS, "each call told of it, and an operator");
    assert!(seen.len() > 6, "{seen:?}");
    let (mut state, mut compared, mut by) = (State::default(), 0, BTreeSet::new());
    each(ledger.ledger(), |stored| {
        fold(&mut state, stored);
        let is_late = stored.position.get() + ACTS + 9 > head.get();
        if !is_late && stored.position.get() % 29 != 0 {
            return;
        }
        for dimension in &seen {
            let expected = state.standing(dimension, stored.time);
            let found = models.trust_at(dimension, stored.position).unwrap();
            assert_eq!(found.record, expected.record, "{dimension:?} at {}", stored.position);
            let rules = found.rules.unwrap_or_else(TrustRules::v2);
            by.insert(rules == TrustRules::v1());
            assert_eq!(rules, state.rules_of_trust(), "at {}", stored.position);
            assert_eq!(assess(&found.record, &rules, stored.time), expected.assessment);
            compared += 1;
        }
    });
    assert!(compared > 1_000, "{compared}");
    assert_eq!(by.len(), 2, "by the numbers of both policies");
    let mut told: Vec<Position> = Vec::new();
    each(ledger.ledger(), |stored| {
        let Data::Json(data) = &stored.event.data else { return };
        let data: Value = serde_json::from_slice(data.as_bytes()).unwrap();
        let is_told = matches!(&*stored.event.kind, "trust.observed" | "trust.set");
        told.extend(Some(stored.position).filter(|_| is_told && data["dimension"] == json!(dimension(1))));
    });
    told.reverse();
    assert_eq!(models.trust_told(&dimension(1), None, 1_000).unwrap().items, told);
    let (third, page) =
        (told.get(2).copied(), models.trust_told(&dimension(1), told.get(2).copied(), 2).unwrap());
    assert_eq!((page.items.first().copied(), page.items.len(), page.more), (third, 2, true));
    ledger.close().unwrap();
}

fn fold(state: &mut State, stored: &StoredEvent<'_>) {
    state.fold(&[ObservedEvent {
        position: stored.position,
        stream_version: stored.stream_version,
        time: stored.time,
        derived: stored.derived,
        event: &stored.event,
        examination: None,
    }]);
}
