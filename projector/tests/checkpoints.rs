//! Tests of checkpoints against a naive model, with saves, writes, copies and deletions in any order.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on must fail")]

#[expect(dead_code, reason = "what executors leave is another test's")]
mod checkpointed;

use std::collections::BTreeMap;
use std::sync::Arc;

use bitacora_formats::{Data, Event, Keyring};
use bitacora_ledger::{AppendRequest, Entropy, Environment, Ledger, Options, SystemEntropy};
use bitacora_projector::limits::{LOOKED_AT_CHECKPOINTS, ORDER_PAGE_ENTRIES};
use bitacora_projector::{
    CheckpointPage, CheckpointQuery, ContentBody, ContentLocation, IndexOptions, IndexedLedger, ReadModels,
    Version,
};
use bitacora_testkit::SeededRng;

use serde_json::Value;

use checkpointed::{blob, digest, told};

const THREADS: [&str; 3] = ["a", "b", "c"];
const NAMESPACES: [&str; 2] = ["", "sub:1"];
const CHANNELS: [&str; 3] = ["p", "q", "r"];
const TASKS: [&str; 2] = ["x", "y"];

/// Id and subgraph.
type Key = (String, String);
type Writes = BTreeMap<String, BTreeMap<i64, String>>;

#[derive(Debug, Clone, Default, PartialEq)]
struct ExpectedCheckpoint {
    parent: Option<String>,
    channels: BTreeMap<String, (u64, Option<String>)>,
}

#[derive(Debug, Clone, Default)]
struct Naive {
    saved: BTreeMap<String, BTreeMap<Key, ExpectedCheckpoint>>,
    writes: BTreeMap<String, BTreeMap<Key, Writes>>,
    deleted: BTreeMap<String, String>,
    /// The owners of threads; nobody owns a thread whose first event named no agent.
    owners: BTreeMap<String, Option<&'static str>>,
}

/// The sender of an event: its actor and agent.
#[derive(Debug, Clone, Copy)]
struct Sender(Option<&'static str>, Option<&'static str>);

impl Sender {
    /// Mostly nobody who is known; two agents, and an operator, who may name one of them.
    fn any(dice: &mut SeededRng) -> Self {
        match dice.below(10) {
            0 | 1 => Self(Some("agent:111111111111"), Some("one")),
            2 | 3 => Self(Some("agent:222222222222"), Some("two")),
            4 => Self(Some("operator:333333333333"), (dice.below(2) == 0).then_some("two")),
            _ => Self(None, None),
        }
    }

    fn governs(self) -> bool {
        self.0.is_some_and(|actor| actor.starts_with("operator:"))
    }
}

impl Naive {
    fn newest(&self, thread: &str, namespace: &str) -> Option<&Key> {
        self.saved.get(thread)?.keys().rfind(|(_, of)| of == namespace)
    }

    fn save(
        &mut self,
        thread: &str,
        key: &Key,
        parent: Option<&str>,
        told: BTreeMap<String, (u64, Option<String>)>,
    ) {
        let of = self.saved.get(thread);
        let of_parent = parent.and_then(|parent| of?.get(&(parent.to_owned(), key.1.clone())));
        let newest = self.newest(thread, &key.1).and_then(|newest| of?.get(newest));
        let before: Vec<ExpectedCheckpoint> = of_parent.into_iter().chain(newest).cloned().collect();
        let channels = told.into_iter().map(|(name, (version, value))| {
            let same =
                |saved: &&ExpectedCheckpoint| saved.channels.get(&name).is_some_and(|(of, _)| *of == version);
            let held = |saved: &ExpectedCheckpoint| saved.channels.get(&name)?.1.clone();
            let value = value.or_else(|| before.iter().filter(same).find_map(held));
            (name, (version, value))
        });
        let saved = ExpectedCheckpoint { parent: parent.map(str::to_owned), channels: channels.collect() };
        self.saved.entry(thread.to_owned()).or_default().insert(key.clone(), saved);
    }

    fn write(&mut self, thread: &str, key: &Key, task: &str, replace: bool, values: &[(i64, String)]) {
        let is_saved = self.saved.get(thread).is_some_and(|of| of.contains_key(key));
        if !is_saved && self.deleted.get(thread).is_some_and(|deleted| key.0 <= *deleted) {
            return;
        }
        let of = self.writes.entry(thread.to_owned()).or_default().entry(key.clone()).or_default();
        let of = of.entry(task.to_owned()).or_default();
        for (index, value) in values {
            if replace || !of.contains_key(index) {
                of.insert(*index, value.clone());
            }
        }
    }

    fn delete(&mut self, thread: &str, which: impl Fn(&Key) -> bool, whole: bool) {
        let all = self.saved.get(thread).into_iter().flat_map(BTreeMap::keys);
        let all = all.chain(self.writes.get(thread).into_iter().flat_map(BTreeMap::keys));
        let greatest = all.map(|(id, _)| id.clone()).max();
        if let (true, Some(greatest)) = (whole, greatest) {
            let before = self.deleted.get(thread).cloned();
            self.deleted
                .insert(thread.to_owned(), before.map_or(greatest.clone(), |before| before.max(greatest)));
        }
        self.saved.entry(thread.to_owned()).or_default().retain(|key, _| !which(key));
        self.writes.entry(thread.to_owned()).or_default().retain(|key, _| !which(key));
    }

    fn copy(&mut self, thread: &str, to: &str) {
        if thread == to {
            return;
        }
        let saved = self.saved.get(thread).cloned().unwrap_or_default();
        for (key, one) in saved {
            let there = self.saved.entry(to.to_owned()).or_default();
            if there.contains_key(&key) {
                continue;
            }
            there.insert(key.clone(), one);
            let writes = self.writes.get(thread).and_then(|of| of.get(&key)).cloned().unwrap_or_default();
            for (task, of_task) in writes {
                let there = self.writes.entry(to.to_owned()).or_default().entry(key.clone()).or_default();
                there.entry(task).or_insert(of_task);
            }
        }
    }
}

fn quoted<'t>(texts: impl Iterator<Item = (&'t String, String)>) -> String {
    texts.map(|(name, value)| format!(r#""{name}":{value}"#)).collect::<Vec<_>>().join(",")
}

/// Does something to both, for somebody; the events that it is.
fn step(dice: &mut SeededRng, number: u64, naive: &mut Naive) -> Vec<Event<'static>> {
    let (before, sender) = (naive.clone(), Sender::any(dice));
    let mut events = done(dice, number, naive);
    let Some(event) = events.last_mut() else { return events };
    (event.actor, event.agent) = (sender.0.map(Into::into), sender.1.map(Into::into));
    let Data::Json(data) = &event.data else { return events };
    let data: Value = serde_json::from_slice(data.as_bytes()).unwrap();
    let thread = data["to"].as_str().or(data["thread"].as_str()).unwrap();
    let owner = before.owners.get(thread).copied();
    let is_of_another = owner.flatten().zip(sender.1).is_some_and(|(owner, agent)| owner != agent);
    if is_of_another && !sender.governs() {
        *naive = before;
        return events;
    }
    let is_whole = ["checkpoint", "namespace", "keep_newest"].iter().all(|member| data[member].is_null());
    match &*event.kind {
        "checkpoint.deleted" if is_whole && sender.governs() => drop(naive.owners.remove(thread)),
        "checkpoint.deleted" => {}
        "checkpoint.copied" if data["thread"] == data["to"] => {}
        "checkpoint.copied"
            if before.saved.get(data["thread"].as_str().unwrap()).is_none_or(BTreeMap::is_empty) => {}
        _ => drop(naive.owners.entry(thread.to_owned()).or_insert(sender.1)),
    }
    events
}

fn done(dice: &mut SeededRng, number: u64, naive: &mut Naive) -> Vec<Event<'static>> {
    let (thread, namespace) = (dice.one_of(&THREADS), dice.one_of(&NAMESPACES));
    let mut any = || format!("c{:03}", dice.below(200));
    let (id, parent) = (any(), any());
    let key = (id.clone(), namespace.to_owned());
    let event = |kind: &'static str, data: String| told(format!("e{number}"), kind, data);
    match dice.below(20) {
        0..=8 => {
            let (mut channels, mut blobs, mut events) = (BTreeMap::new(), Vec::new(), Vec::new());
            for channel in CHANNELS {
                if dice.below(4) == 0 {
                    continue;
                }
                let content = format!("{channel} is {}", dice.below(30));
                let value = (dice.below(3) > 0).then(|| content.clone());
                if value.is_some() {
                    let bytes = content.len();
                    blobs.push(format!(
                        r#"{{"channel":"{channel}","digest":"{}","bytes":{bytes}}}"#,
                        digest(&content)
                    ));
                    if !events.iter().any(|event: &Event<'_>| event.id == digest(&content)) {
                        events.push(blob(&content));
                    }
                }
                channels.insert(channel.to_owned(), (dice.below(3), value));
            }
            let parent = (dice.below(5) > 0).then_some(parent.as_str());
            let versions = quoted(channels.iter().map(|(name, (version, _))| (name, version.to_string())));
            let of_parent = parent.map_or(String::new(), |parent| format!(r#""parent":"{parent}","#));
            events.push(event(
                "checkpoint.saved",
                format!(
                    r#"{{"thread":"{thread}","namespace":"{namespace}","checkpoint":"{id}",{of_parent}"step":1,"source":"loop","channel_versions":{{{versions}}},"blobs":[{}]}}"#,
                    blobs.join(",")
                ),
            ));
            naive.save(thread, &key, parent, channels);
            events
        }
        9..=14 => {
            let (task, replace) = (dice.one_of(&TASKS), dice.below(3) == 0);
            let values: Vec<(i64, String)> =
                (0..dice.below(4)).map(|_| (dice.below(4_i64) - 1, format!("w{}", dice.below(9)))).collect();
            let writes = values.iter().map(|(index, value)| {
                let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
                format!(r#"{{"channel":"z","inline":"{hex}","bytes":{},"index":{index}}}"#, value.len())
            });
            let writes = writes.collect::<Vec<_>>().join(",");
            naive.write(thread, &key, task, replace, &values);
            vec![event(
                "checkpoint.writes",
                format!(
                    r#"{{"thread":"{thread}","namespace":"{namespace}","checkpoint":"{id}","task":"{task}","replace":{replace},"writes":[{writes}]}}"#
                ),
            )]
        }
        15 | 16 => {
            naive.delete(thread, |of| *of == key, false);
            vec![event(
                "checkpoint.deleted",
                format!(r#"{{"thread":"{thread}","namespace":"{namespace}","checkpoint":"{id}"}}"#),
            )]
        }
        17 => {
            let to = dice.one_of(&THREADS);
            naive.copy(thread, to);
            vec![event("checkpoint.copied", format!(r#"{{"thread":"{thread}","to":"{to}"}}"#))]
        }
        _ if dice.below(12) > 0 => Vec::new(),
        18 => {
            let newest: Vec<Key> =
                NAMESPACES.iter().filter_map(|namespace| naive.newest(thread, namespace).cloned()).collect();
            naive.delete(thread, |key| !newest.contains(key), false);
            vec![event("checkpoint.deleted", format!(r#"{{"thread":"{thread}","keep_newest":true}}"#))]
        }
        _ => {
            naive.delete(thread, |_| true, true);
            vec![event("checkpoint.deleted", format!(r#"{{"thread":"{thread}"}}"#))]
        }
    }
}

/// All of a query's pages, joined.
fn listed(models: &ReadModels, mut query: CheckpointQuery) -> Vec<Key> {
    let mut found = Vec::new();
    loop {
        let CheckpointPage { checkpoints, last, .. } = models.checkpoints(&query).unwrap();
        found.extend(checkpoints.into_iter().map(|one| (one.checkpoint, one.namespace)));
        let Some((id, namespace, place)) = last else { return found };
        (query.after, query.after_place) = (Some((id, namespace)), Some(place));
    }
}

fn text(models: &ReadModels, content: &ContentLocation) -> String {
    match models.content(content).unwrap() {
        ContentBody::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
        other => format!("{other:?}"),
    }
}

fn compare(models: &ReadModels, naive: &Naive) {
    let text = |content: &ContentLocation| text(models, content);
    let mut all = 0;
    for thread in THREADS {
        let of = naive.saved.get(thread).cloned().unwrap_or_default();
        let expected: Vec<Key> = of.keys().rev().cloned().collect();
        all += expected.len();
        let query =
            CheckpointQuery { thread: Some(thread.to_owned()), limit: 7, ..CheckpointQuery::default() };
        assert_eq!(listed(models, query.clone()), expected, "{thread}");
        let before =
            CheckpointQuery { before: Some("c100".to_owned()), namespace: Some(String::new()), ..query };
        let some: Vec<Key> =
            expected.iter().filter(|(id, of)| &**id < "c100" && of.is_empty()).cloned().collect();
        assert_eq!(listed(models, before), some, "{thread}");
        for namespace in NAMESPACES {
            let newest = models.checkpoint(thread, namespace, None).unwrap().0;
            let newest = newest.map(|newest| (newest.checkpoint.checkpoint, newest.checkpoint.namespace));
            assert_eq!(newest.as_ref(), naive.newest(thread, namespace));
        }
        for (key, saved) in of {
            let found = models.checkpoint(thread, &key.1, Some(&key.0)).unwrap().0.unwrap();
            let channels = found.checkpoint.channels.iter().map(|channel| {
                let Some(Version::Number(version)) = channel.version else {
                    return (channel.name.clone(), (99, None));
                };
                (channel.name.clone(), (version, channel.value.as_ref().map(text)))
            });
            let channels = channels.collect();
            let found_saved = ExpectedCheckpoint { parent: found.checkpoint.parent.clone(), channels };
            assert_eq!(found_saved, saved, "{thread} {key:?}");
            let mut writes = Writes::new();
            for write in &found.writes {
                let of_task = writes.entry(write.task.clone()).or_default();
                assert_eq!(of_task.insert(write.index, text(&write.content)), None);
            }
            let mut expected =
                naive.writes.get(thread).and_then(|of| of.get(&key)).cloned().unwrap_or_default();
            expected.retain(|_, of_task| !of_task.is_empty());
            assert_eq!(writes, expected, "{thread} {key:?}");
        }
    }
    let everything = CheckpointQuery { limit: 9, ..CheckpointQuery::default() };
    assert_eq!(listed(models, everything).len(), all);
}

fn open(folder: &std::path::Path, keyring: &Arc<Keyring>) -> IndexedLedger {
    let environment = Environment::real();
    let ledger = Ledger::open(&environment, folder, Arc::clone(keyring), Options::small()).unwrap();
    let options = IndexOptions { read_models: true, ..IndexOptions::default() };
    IndexedLedger::open(ledger, &environment, folder, keyring, &options)
}

#[test]
fn whatever_is_saved_written_copied_and_deleted_is_found_as_a_naive_model_has_it() {
    const { assert!(ORDER_PAGE_ENTRIES < 200 && LOOKED_AT_CHECKPOINTS > 1_000, "pages of ids are split") };
    for seed in 1..=3 {
        let folder = tempfile::tempdir().unwrap();
        let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
        let path = folder.path().join("main");
        Ledger::create(&Environment::real(), &path, &"main".parse().unwrap(), &keyring, &Options::small())
            .unwrap();
        let (mut dice, mut naive, mut number) = (SeededRng::new(seed), Naive::default(), 0);
        for _ in 0..6 {
            let ledger = open(&path, &keyring);
            for _ in 0..200 {
                number += 1;
                let events = step(&mut dice, number, &mut naive);
                if !events.is_empty() {
                    ledger.append(AppendRequest::of(events)).unwrap().wait().unwrap();
                }
            }
            let models = ledger.read_models().unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(models.wait("checkpoints", ledger.head().position));
            compare(models, &naive);
            ledger.close().unwrap();
        }
    }
}

/// The journals of the store of read models: what they come to.
fn journal_bytes(folder: &std::path::Path) -> Vec<u64> {
    let entries = std::fs::read_dir(folder.join("projections/models")).unwrap().map(Result::unwrap);
    let journals = entries.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "jnl"));
    journals.map(|entry| entry.metadata().unwrap().len()).collect()
}

#[test]
fn a_clean_close_leaves_nothing_in_the_journal_and_every_row_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
    let path = folder.path().join("main");
    Ledger::create(&Environment::real(), &path, &"main".parse().unwrap(), &keyring, &Options::small())
        .unwrap();
    let (mut dice, mut naive) = (SeededRng::new(9), Naive::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for round in 0..3 {
        let ledger = open(&path, &keyring);
        let models = ledger.read_models().unwrap();
        runtime.block_on(models.wait("checkpoints", ledger.head().position));
        // The events of the last session are there before anything is folded again, and later ones join them.
        compare(models, &naive);
        let long = "x".repeat(200);
        for number in 0..1_500 {
            let mut events = step(&mut dice, round * 10_000 + number, &mut naive);
            events.push(told(
                format!("long{round}-{number}"),
                "checkpoint.writes",
                format!(r#"{{"thread":"long{number}","checkpoint":"c","task":"{long}","writes":[]}}"#),
            ));
            ledger.append(AppendRequest::of(events)).unwrap().wait().unwrap();
        }
        runtime.block_on(models.wait("checkpoints", ledger.head().position));
        let status = ledger.read_models().unwrap().status();
        assert!(status.iter().all(|model| model.doubts == 0), "{status:?}");
        ledger.close().unwrap();
        assert_eq!(journal_bytes(&path), [0], "round {round}");
    }
}

#[test]
fn a_thread_is_the_agents_that_saved_in_it_first() {
    let folder = tempfile::tempdir().unwrap();
    let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
    let path = folder.path().join("main");
    Ledger::create(&Environment::real(), &path, &"main".parse().unwrap(), &keyring, &Options::small())
        .unwrap();
    let ledger = open(&path, &keyring);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut number = 0;
    let mut tell = |sender: Sender, kind: &'static str, data: &str| {
        number += 1;
        let mut event = told(format!("w{number}"), kind, data.to_owned());
        (event.actor, event.agent) = (sender.0.map(Into::into), sender.1.map(Into::into));
        ledger.append(AppendRequest::of(vec![event])).unwrap().wait().unwrap();
        let models = ledger.read_models().unwrap();
        runtime.block_on(models.wait("checkpoints", ledger.head().position));
        let newest = models.checkpoint("t", "", None).unwrap().0;
        newest.map(|newest| (newest.checkpoint.checkpoint, newest.writes.len()))
    };
    let (coder, mallory) = (Sender(Some("agent:1"), Some("coder")), Sender(Some("agent:2"), Some("mallory")));
    let (operator, nobody) = (Sender(Some("operator:3"), None), Sender(None, None));
    let save = |id: &str| format!(r#"{{"thread":"t","checkpoint":"{id}","step":1,"source":"loop"}}"#);
    let write =
        r#"{"thread":"t","checkpoint":"c1","task":"x","writes":[{"channel":"z","inline":"00","bytes":1}]}"#;
    let (all, copy) = (r#"{"thread":"t"}"#, r#"{"thread":"m","to":"t"}"#);
    let first = Some(("c1".to_owned(), 0));
    // Deletions before anything was saved delete nothing, and take nothing.
    assert_eq!(tell(mallory, "checkpoint.deleted", all), None);
    assert_eq!(tell(coder, "checkpoint.saved", &save("c1")), first);
    tell(mallory, "checkpoint.saved", r#"{"thread":"m","checkpoint":"c9","step":1,"source":"loop"}"#);
    for (kind, data) in [
        ("checkpoint.saved", save("c2")),
        ("checkpoint.saved", save("c1").replace("loop", "fork")),
        ("checkpoint.writes", write.to_owned()),
        ("checkpoint.deleted", all.to_owned()),
        ("checkpoint.deleted", r#"{"thread":"t","checkpoint":"c1"}"#.to_owned()),
        ("checkpoint.copied", copy.to_owned()),
    ] {
        assert_eq!(tell(mallory, kind, &data), first, "{kind} {data}");
    }
    // Events of the owner count, those that name no agent, and an operator's.
    assert_eq!(tell(coder, "checkpoint.writes", write), Some(("c1".to_owned(), 1)));
    assert_eq!(tell(nobody, "checkpoint.saved", &save("c2")), Some(("c2".to_owned(), 0)));
    assert_eq!(tell(operator, "checkpoint.saved", &save("c3")), Some(("c3".to_owned(), 0)));
    // The owner's deletion leaves the thread the owner's; an operator's gives it away.
    assert_eq!(tell(coder, "checkpoint.deleted", all), None);
    assert_eq!(tell(mallory, "checkpoint.saved", &save("c4")), None);
    assert_eq!(tell(operator, "checkpoint.deleted", all), None);
    assert_eq!(tell(mallory, "checkpoint.saved", &save("c4")), Some(("c4".to_owned(), 0)));
    assert_eq!(tell(coder, "checkpoint.saved", &save("c5")), Some(("c4".to_owned(), 0)));
    // A thread that began without an agent is nobody's, also if an agent goes on in it.
    tell(operator, "checkpoint.deleted", all);
    tell(nobody, "checkpoint.saved", &save("d1"));
    tell(coder, "checkpoint.saved", &save("d2"));
    assert_eq!(tell(mallory, "checkpoint.saved", &save("d3")), Some(("d3".to_owned(), 0)));
    ledger.close().unwrap();
}
