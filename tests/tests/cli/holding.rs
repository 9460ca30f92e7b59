//! Tests of `holds` and `retention`: what is held stays, in archives too, until its hold is released.

use std::fs;

use bitacora_formats::{Data, Event, Json};
use bitacora_ledger::AppendRequest;
use serde_json::{Value, json};

use crate::archiving::json as run_json;
use crate::sample::{Sample, code, why};

/// More than one archive has.
const EVENTS: u64 = 600;

/// A closed ledger of events about two people in turn, each in a stream of their own.
fn filled() -> Sample {
    let sample = Sample::with_heads(1);
    let mut ledger = sample.open_with(&Sample::options_with_heads());
    for number in 0..EVENTS / 6 {
        // Another opening begins another segment, so that the first one can be released.
        if number == EVENTS / 12 {
            ledger.close().unwrap();
            ledger = sample.open_with(&Sample::options_with_heads());
        }
        let events = (0..6).map(|index| {
            let (subject, stream) =
                if index % 2 == 0 { ("person/ada", "orders") } else { ("person/bob", "notes") };
            let mut event = Event::new(format!("p{number}.{index}"), "urn:people", "x.noted", stream);
            event.datasubject = Some(subject.into());
            event.data = Data::Json(Json::check(br#"{"note":"moved to Lisbon"}"#.to_vec()).unwrap());
            event
        });
        ledger.append(AppendRequest::of(events.collect())).unwrap().wait().unwrap();
    }
    ledger.close().unwrap();
    sample
}

/// Runs a command that is done.
fn done(sample: &Sample, arguments: &[&str]) -> Value {
    let (code, answer) = run_json(sample, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {answer}");
    answer
}

/// Runs a command that is refused, and returns the error.
fn refused(sample: &Sample, arguments: &[&str]) -> String {
    let output = sample.run(&[&["--anchor", "none"], arguments].concat());
    assert!(![0, 2].contains(&code(&output)), "{arguments:?}");
    why(&output)
}

const ERASE_ADA: [&str; 4] = ["erase", "person/ada", "--authority", "ticket 4711"];

#[test]
fn what_is_held_is_not_erased_in_archives_either() {
    let sample = filled();
    done(&sample, &["archive", "run", "--now", "--most", "512"]);
    let released = sample.ledger().join("segments/0000000001.released");
    assert!(released.is_file(), "the held events lie in the archive alone");
    let place =
        ["holds", "place", "case-7", "--from-position", "20", "--to-position", "60", "--stream", "orders"];
    done(&sample, &[&place[..], &["--reason", "the proceedings of case 7"]].concat());
    let said = refused(&sample, &ERASE_ADA);
    assert!(said.contains("legal hold `case-7`, placed by event"), "{said}");
    done(&sample, &["erase", "person/bob", "--authority", "ticket 4712"]);

    // Where the archive is missing, nobody knows whether the hold covers the subject.
    let archives = sample.data().join("archives");
    fs::rename(&archives, sample.folder.path().join("elsewhere")).unwrap();
    let said = refused(&sample, &ERASE_ADA);
    assert!(said.contains("whether a legal hold covers events of this data subject is not known"), "{said}");
    fs::rename(sample.folder.path().join("elsewhere"), &archives).unwrap();

    done(&sample, &["holds", "release", "case-7", "--reason", "case 7 is closed", "--by", "counsel"]);
    done(&sample, &ERASE_ADA);
    let verified = sample.run(&["verify", "--with-keys"]);
    assert_eq!(code(&verified), 10, "{}", why(&verified));
    let replayed = sample.run(&["replay", "--digest"]);
    assert_eq!(code(&replayed), 0, "{}", why(&replayed));
}

#[test]
fn holds_and_the_policy_are_shown_as_they_stand() {
    let sample = filled();
    let shown = |arguments: &[&str]| {
        let output = sample.run(&[&["--anchor", "none"], arguments].concat());
        assert_eq!(code(&output), 0, "{}", why(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(shown(&["holds"]), "no hold is in force\n");
    assert_eq!(shown(&["retention"]), "no rule: everything is kept\n");
    let subject =
        ["holds", "place", "case-8", "--subject", "person/ada", "--reason", "case 8", "--by", "counsel"];
    assert!(shown(&subject).starts_with("hold case-8 is in force, recorded at position "));
    shown(&["holds", "place", "all", "--reason", "an audit"]);
    let listed = shown(&["holds"]);
    let lines: Vec<_> = listed.lines().collect();
    let [headings, all, case] = lines.as_slice() else { panic!("{listed}") };
    assert!(headings.starts_with("hold    since"), "{listed}");
    assert!(all.contains("everything") && all.ends_with("an audit"), "{listed}");
    assert!(case.contains("subject's key ") && !listed.contains("person/"), "{listed}");

    let file = sample.folder.path().join("rules.json");
    let rules = json!([
        {"rule": "calls", "keep_days": 400, "types": ["tool.*", "decision.made"], "streams": ["agent/*"]},
        {"rule": "personal", "keep_days": 30, "subjects": true, "shorter_because": "article 5"},
    ]);
    fs::write(&file, rules.to_string()).unwrap();
    let file = file.to_str().unwrap();
    assert!(
        shown(&["retention", "set", file, "--reason", "ticket 883"]).starts_with("recorded at position ")
    );
    let listed = shown(&["retention"]);
    assert!(listed.contains("calls     400   types tool.* | decision.made, streams agent/*"), "{listed}");
    assert!(listed.contains("personal  30    of a data subject"), "{listed}");
    assert_eq!(done(&sample, &["retention"])["rules"], rules);

    fs::write(file, json!([{"rule": "a", "keep_days": 100}]).to_string()).unwrap();
    let said = refused(&sample, &["retention", "set", file, "--reason", "ticket 883"]);
    assert!(said.contains("rule `a` keeps events for 100 days; fewer than 180 take a reason"), "{said}");
    fs::write(file, "[{").unwrap();
    let said = refused(&sample, &["retention", "set", file, "--reason", "ticket 883"]);
    assert!(said.contains("rules.json: not what is expected"), "{said}");
}

#[test]
fn holds_on_what_is_gone_or_unknown_are_refused() {
    let sample = filled();
    done(&sample, &ERASE_ADA);
    let hold = |rest: &[&'static str]| [&["holds", "place", "h", "--reason", "case 7"], rest].concat();
    for (arguments, said) in [
        (hold(&["--subject", "person/ada"]), "nothing of it is left to be held"),
        (hold(&["--subject", "person/eve"]), "no key of this data subject is here"),
        (hold(&["--subject", "person/bob", "--by", "person/bob"]), "`by` holds the subject's name"),
        (hold(&["--to-position", "1000000"]), "the scope ends at position 1000000"),
        (hold(&["--from-position", "9", "--to-position", "8"]), "the scope begins at position 9"),
        (hold(&["--from-position", "first"]), "the member `first` of the body is not taken"),
        (vec!["holds", "release", "h", "--reason", "r"], "there is no hold `h`"),
    ] {
        let found = refused(&sample, &arguments);
        assert!(found.contains(said), "{found}");
    }
    assert_eq!(code(&sample.run(&["holds", "place", "h"])), 2, "a reason is asked for");
}
