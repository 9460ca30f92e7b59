//! Events that people and the scheduler leave about what was learned, and all questions about them.

use bitacora_formats::{Data, Event, Json};
use bitacora_ledger::AppendRequest;
use bitacora_projector::{AnnotationQuery, ReadModels, SuggestionQuery};
use bitacora_vocabulary::{Dimension, SuggestionKind, TrustRules};

use crate::{ReadModelsBench, settled};

fn event(id: String, kind: &'static str, data: String) -> Event<'static> {
    // Suggestions are the service's own to make.
    let source = if kind == "suggestion.made" { "urn:bitacora:scheduler" } else { "urn:test/learned" };
    let mut event = Event::new(id, source, kind, "learned");
    event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
    event
}

fn digest(number: u64) -> String {
    format!("{number:064x}")
}

/// Returns the events of a session: observations, imports that end and are accepted, suggestions with answers, notes.
pub(crate) fn session(session: u64) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    let mut push = |kind: &'static str, data: String| {
        let id = format!("{session}-{}", events.len());
        events.push(event(id, kind, data));
    };
    let model = if session.is_multiple_of(2) { "large" } else { "small" };
    let dimension = format!(r#"{{"tool":"edit","context":"src","model":"{model}","task_type":"-"}}"#);
    let cost = if session.is_multiple_of(2) { 900 } else { 200 };
    let seen = format!(
        r#"{{"dimension":{dimension},"outcome":"auto_approved","cost_micro_usd":{cost},"assurance":"imported"}}"#
    );
    push("trust.observed", seen);
    if session.is_multiple_of(5) {
        let counts = r#"{"files":0,"lines":0,"bytes":0,"events":0,"unmapped":0,"passed_over":0,"without_outcome":0,"types":{}}"#;
        let named = digest(session);
        push(
            "import.batch",
            format!(r#"{{"digest":"{named}","mapping":"m","counts":{counts},"sources":[]}}"#),
        );
    }
    if session % 10 == 7 {
        push("import.accepted", format!(r#"{{"digest":"{}"}}"#, digest(session - 2)));
    }
    let suggestion = format!("s-{}", session / 3);
    match session % 3 {
        0 => push(
            "suggestion.made",
            format!(
                r#"{{"suggestion":"{suggestion}","evidence":["1"],"rule":{{"id":"r","match":{{"tool":"edit"}},"action":"review","reason":"why"}},"reason":"why","kind":"review","dimension":{dimension},"observations":{session}}}"#
            ),
        ),
        1 => push("suggestion.rejected", format!(r#"{{"suggestion":"{suggestion}","note":"no"}}"#)),
        _ => push("suggestion.accepted", format!(r#"{{"suggestion":"{suggestion}"}}"#)),
    }
    push(
        "annotation.added",
        format!(r#"{{"on":{{"dimension":{dimension}}},"text":"t","tags":["t{}"]}}"#, session % 70),
    );
    push("annotation.added", format!(r#"{{"on":{{"call":"c{session}-0"}},"text":"t"}}"#));
    events
}

/// All that can be asked of it.
pub(crate) fn answers(models: &ReadModels) -> String {
    let rules = TrustRules::v2();
    let candidates = models.candidates(&rules).unwrap().candidates;
    let imported = models.imported_candidates(&rules).unwrap().0;
    let asked = SuggestionQuery { limit: 10_000, ..SuggestionQuery::default() };
    let suggestions = models.suggestions(&asked).unwrap().items;
    let asked = AnnotationQuery { limit: 10_000, ..AnnotationQuery::default() };
    let annotations = models.annotations(&asked).unwrap().items;
    let dimension = Dimension::new("edit", "src", "large", "-").unwrap();
    let tags = models.tags(&dimension).unwrap();
    format!("{candidates:?} {imported:?} {suggestions:?} {annotations:?} {tags:?}")
}

#[test]
fn what_imports_showed_counts_as_before_what_was_seen_here_once_they_are_accepted() {
    let bench = ReadModelsBench::new();
    let ledger = bench.open();
    let say = |kind: &'static str, number: u64, data: String| {
        ledger
            .append(AppendRequest::of(vec![event(format!("i-{number}"), kind, data)]))
            .unwrap()
            .wait()
            .unwrap();
    };
    let dimension = r#"{"tool":"t","context":"c","model":"m","task_type":"-"}"#;
    let set = |number: u64| {
        let counts = r#"{"approvals":45,"rejections":0,"failures":0,"streak":45}"#;
        say(
            "trust.set",
            number,
            format!(r#"{{"dimension":{dimension},"counts":{counts},"reason":"counted"}}"#),
        );
    };
    let models = ledger.read_models().unwrap();
    let kinds = || {
        settled(&ledger);
        let made = models.candidates(&TrustRules::v2()).unwrap().candidates;
        made.into_iter().filter_map(|candidate| candidate.suggestion.kind).collect::<Vec<_>>()
    };
    set(0);
    for number in 1..6 {
        let failed = format!(r#"{{"dimension":{dimension},"outcome":"error","assurance":"imported"}}"#);
        say("trust.observed", number, failed);
    }
    assert_eq!(kinds(), [SuggestionKind::Promote], "what is imported counts for nothing");
    let imported = models.imported_candidates(&TrustRules::v2()).unwrap().0;
    assert_eq!((imported.len(), imported[0].suggestions[0].kind), (1, Some(SuggestionKind::Block)));
    assert!(imported[0].import.is_none(), "the import has not ended");
    let digest = "0".repeat(64);
    let counts = r#"{"files":0,"lines":0,"bytes":0,"events":0,"unmapped":0,"passed_over":0,"without_outcome":0,"types":{}}"#;
    let ended = format!(r#"{{"digest":"{digest}","mapping":"m","counts":{counts},"sources":[]}}"#);
    say("import.batch", 100, ended);
    assert_eq!(kinds(), [SuggestionKind::Promote]);
    say("import.accepted", 101, format!(r#"{{"digest":"{digest}"}}"#));
    assert_eq!(kinds(), [SuggestionKind::Block]);
    assert_eq!(models.imported_candidates(&TrustRules::v2()).unwrap().0, []);
    set(102);
    assert_eq!(kinds(), [SuggestionKind::Promote], "an operator's word takes the place of all of it");
}
