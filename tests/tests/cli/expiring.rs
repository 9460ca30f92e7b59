//! `archive expire` where decisions themselves expire: a replay begins behind them and says so, and a restored ledger decides on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::{Data, Event, Json, Micros};
use bitacora_ledger::{AppendRequest, Clock, Environment, Ledger, Options, ReactorChoice, SystemClock};
use bitacora_tests::http_client::HttpClient;
use bitacora_tests::service::ServiceFolder;
use bitacora_tests::simulation::SimulatedClock;
use bitacora_vocabulary::RetentionChanged;
use serde_json::{Value, json};

use crate::PROGRAM;
use crate::sample::{Sample, code, command, told, why};

/// Calls that are asked for in a session; each has its decision.
const CALLS: u64 = 400;

/// A governed ledger whose calls were decided three days ago, and whose policy keeps everything for one; in two archives.
fn archived() -> Sample {
    let past = Micros(SystemClock.now().0 - 3 * 24 * 60 * 60 * 1_000_000);
    let clock = SimulatedClock::new(past);
    let environment = Environment { clock: Arc::new(clock.clone()), ..Environment::real() };
    let sample = Sample::created_in(&environment);
    let options = Options { governing: ReactorChoice::Governance, ..Sample::options_with_heads() };
    for session in 0..2 {
        let ledger =
            Ledger::open(&environment, &sample.ledger(), sample.keyring.clone(), options.clone()).unwrap();
        if session == 0 {
            let rule = json!({"rule": "all", "keep_days": 1, "shorter_because": "a test"});
            let policy: RetentionChanged =
                serde_json::from_value(json!({"rules": [rule], "reason": "a test"})).unwrap();
            ledger.change_retention(&policy, Some("admin:0")).unwrap();
        }
        for number in session * CALLS..(session + 1) * CALLS {
            let call = format!("c{number}");
            let request = json!({"call": call, "tool": "fs.read", "args": {"path": "a"}});
            let mut event = Event::new(format!("e{number}"), "urn:test", "tool.requested", "calls");
            event.actor = Some("agent:0".into());
            event.agent = Some("coder".into());
            event.call = Some(call.into());
            event.data = Data::Json(Json::check(request.to_string().into_bytes()).unwrap());
            ledger.append(AppendRequest::of(vec![event])).unwrap().wait().unwrap();
            clock.advance(Duration::from_secs(1));
        }
        ledger.close().unwrap();
    }
    done(&sample, &["archive", "run", "--now", "--most", "512"]);
    // The clock of today is days ahead of the last event.
    run(&sample, &["clock", "accept", "--reason", "a test"]);
    sample
}

fn run(sample: &Sample, arguments: &[&str]) -> std::process::Output {
    sample.run(&[&["--anchor", "none"], arguments].concat())
}

fn done(sample: &Sample, arguments: &[&str]) -> String {
    let output = run(sample, arguments);
    assert_eq!(code(&output), 0, "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn decisions_expire_and_a_replay_begins_behind_them_and_says_so() {
    let sample = archived();
    let before = done(&sample, &["replay", "--digest"]);
    let (to, _) = before.split_once(' ').unwrap();
    let due = done(&sample, &["archive", "expire", "--dry-run"]);
    assert!(due.contains("decision.made") && due.contains("due"), "{due}");
    let removed = done(&sample, &["archive", "expire"]);
    assert!(removed.contains("decision.made") && removed.contains("removed"), "{removed}");

    let replayed = run(&sample, &["replay", "--digest", "--to", to]);
    assert_eq!(String::from_utf8(replayed.stdout.clone()).unwrap(), before);
    assert!(why(&replayed).contains("expired under the policy of event "), "{}", why(&replayed));
    let state = told(&run(&sample, &["--json", "replay"]));
    let begins: u64 = state["begins"]["after"].as_str().unwrap().parse().unwrap();
    assert!(state["begins"]["expired"].as_u64().unwrap() > 300, "{state}");
    assert_eq!(state["begins"]["policies"].as_array().unwrap().len(), 1);
    let words = done(&sample, &["replay"]);
    assert!(words.contains(&format!("\nbegins     after {begins}: the content of ")), "{words}");

    let early = run(&sample, &["replay", "--to", &(begins - 1).to_string()]);
    assert_eq!(code(&early), 1);
    assert!(why(&early).contains(&format!("replay to position {begins} or a later one")), "{}", why(&early));
    let between = run(&sample, &["replay", "--to", to, "--diff", &begins.to_string()]);
    let between = String::from_utf8(between.stdout).unwrap();
    assert!(between.contains(&format!("position {begins} begins after {begins}")), "{between}");
}

#[test]
fn what_cannot_be_judged_again_is_counted_and_never_said_to_agree() {
    let sample = archived();
    assert!(done(&sample, &["archive", "expire"]).contains("decision.made"));
    let judged = run(&sample, &["--json", "replay", "--re-judge"]);
    assert_eq!(code(&judged), 50, "{}", why(&judged));
    let judged = told(&judged);
    assert_eq!((&judged["otherwise"], judged["begins"]["after"].is_string()), (&json!(0), true), "{judged}");
    assert!(judged["decisions"].as_u64().unwrap() > 10, "{judged}");

    let policy = sample.folder.path().join("policy.json");
    std::fs::write(&policy, r#"{"rules": []}"#).unwrap();
    let policy = policy.to_str().unwrap();
    let tried: Value = told(&run(&sample, &["--json", "replay", "--what-if", "--policy", policy]));
    let expired = tried["expired"]["decisions"].as_u64().unwrap();
    assert!(expired > 300, "{tried}");
    assert_eq!(tried["unjudged"], expired);
    assert!(tried["calls"].as_u64().unwrap() + expired >= 2 * CALLS, "{tried}");
    let words = done(&sample, &["replay", "--what-if", "--policy", policy]);
    assert!(words.contains(&format!("the content of {expired} decisions")), "{words}");
}

#[test]
fn a_restored_ledger_replays_and_decides_on() {
    let sample = archived();
    assert!(done(&sample, &["archive", "expire"]).contains("decision.made"));
    let again = sample.folder.path().join("again");
    let again = again.to_str().unwrap();
    let restored = told(&run(&sample, &["--json", "archive", "restore", "--to", again]));
    let to = restored["events"].as_u64().unwrap().to_string();
    let before = done(&sample, &["replay", "--digest", "--to", &to]);
    let run_again = |arguments: &[&str]| {
        let mut program = command(&[&["--anchor", "none", "--data", again], arguments].concat());
        program.arg("--keyring").arg(sample.keyring_file()).output().unwrap()
    };
    let of_again = |arguments: &[&str]| String::from_utf8(run_again(arguments).stdout).unwrap();
    assert_eq!(of_again(&["replay", "--digest", "--to", &to]), before);
    let call = ["decide", "--call", "late", "--tool", "fs.read", "--args", r#"{"path": "a"}"#];
    let decided = run_again(&[&["--json"], &call[..]].concat());
    assert_eq!(told(&decided)["verdict"], "deny", "{}", why(&decided));
    assert_eq!(of_again(&["replay", "--digest", "--to", &to]), before);
}

#[test]
fn a_service_that_archives_nothing_lets_events_expire() {
    let sample = archived();
    let folder = ServiceFolder::new(PROGRAM, sample.folder.path());
    let never = ["--anchor", "none", "--archive-after", "never"];
    let begun = folder.start_with(|serve| {
        serve.args(never);
    });
    let service = begun.unwrap();
    let mut client = HttpClient::connect(service.address).unwrap();
    let mut recorded = || {
        let answer =
            client.get("/v1/ledgers/main/events?type=retention.expired", "application/json").unwrap();
        let page: Value = serde_json::from_slice(&answer.body).unwrap();
        page["events"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(recorded(), 0, "nothing expires as the service starts");
    // It looks for the first time ten seconds after its start.
    let began = Instant::now();
    while recorded() == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing expired");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn folders_in_which_nothing_expires_are_told() {
    let sample = archived();
    let looks = [&["archive", "expire", "--dry-run"][..], &["archive", "expire"]];
    for arguments in looks {
        assert!(!done(&sample, arguments).contains("lost-1"));
    }
    for other in ["lost-1", "lost-", "restored"] {
        std::fs::create_dir(sample.ledger().with_extension(other)).unwrap();
    }
    let lost = sample.ledger().with_extension("lost-1").display().to_string();
    for arguments in looks {
        let words = done(&sample, arguments);
        assert!(words.contains(&format!("nothing expires in {lost}, ")), "{words}");
        assert_eq!(words.matches("nothing expires in").count(), 1, "{words}");
        let told = told(&run(&sample, &[&["--json"], arguments].concat()));
        assert_eq!(told["lostFolders"], json!([lost]), "{told}");
    }
}
