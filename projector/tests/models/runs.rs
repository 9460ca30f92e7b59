//! Runs, as the read model answers.

use super::*;

#[test]
fn runs_stand_as_their_last_events_say() {
    let mut bench = ReadModelsBench::new();
    let ledger = bench.open();
    bench.append(ledger.ledger(), 20);
    settled(&ledger);
    let models = ledger.read_models().unwrap();
    let of = |run: &str| models.run(run).unwrap().0.unwrap();
    let (paused, failed, completed, unknown) = (of("r5"), of("r6"), of("r7"), of("r4"));
    let stand = |run: &RunSummary| (run.state, run.why.clone());
    assert_eq!(stand(&paused), (RunState::Paused, Some("an approval".into())));
    assert_eq!(stand(&failed), (RunState::Failed, Some("timeout".into())));
    assert_eq!(stand(&completed), (RunState::Completed, Some("success".into())));
    assert_eq!((stand(&unknown), unknown.kind.as_str()), ((RunState::Running, None), "-"));
    assert_eq!((failed.steps, failed.failed_steps, failed.cost_micro_usd, failed.tokens_in), (1, 1, 6, 3));
    assert_eq!(
        (completed.failed_steps, completed.cost_micro_usd),
        (0, 9),
        "its end told what all of it cost"
    );
    let steps = models.run_steps("r6", None, 10).unwrap().items;
    assert_eq!(steps.len(), 1, "a try that began and ended is one step");
    assert!(steps[0].status == "error" && steps[0].position < steps[0].last, "{steps:?}");
    let asked = |state: &str, agent: Option<&str>| {
        let query = RunQuery {
            state: Some(state.into()),
            agent: agent.map(Into::into),
            limit: 100,
            ..RunQuery::default()
        };
        models.runs(&query).unwrap().runs.into_iter().map(|run| run.run).collect::<Vec<_>>()
    };
    assert_eq!(asked("failed", None), ["r16", "r11", "r6", "r1"]);
    assert_eq!(asked("failed", Some("agent-0")), ["r6"]);
    assert_eq!(asked("aborted", None), Vec::<String>::new());
    let newest = models.runs(&RunQuery { limit: 3, ..RunQuery::default() }).unwrap();
    assert_eq!((newest.runs.len(), newest.next.is_some(), newest.runs[0].run.as_str()), (3, true, "w10"));
    let began = newest.runs[1].time;
    let between = |since: u64, before: u64| {
        let (since, begun_before) = (Some(Micros(since)), Some(Micros(before)));
        let query = RunQuery { since, begun_before, limit: 10_000, ..RunQuery::default() };
        models.runs(&query).unwrap().runs
    };
    let all = models.runs(&RunQuery { limit: 10_000, ..RunQuery::default() }).unwrap().runs;
    let expected: Vec<_> = all.into_iter().filter(|run| run.time == began).collect();
    assert_eq!(between(began, began + 1), expected, "the first time is in it, the second is not");
    assert_eq!(between(0, 1), []);
    assert_eq!(models.run("r99").unwrap().0, None);
    ledger.close().unwrap();
}
