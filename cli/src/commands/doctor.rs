//! `doctor`: whether a connected harness reaches the ledger, is obeyed, and what to mend.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use bitacora_api::{HeadAnswer, LedgerAnswer, ModeAnswer};
use bitacora_client::{Connection as ServiceConnection, percent_encoded};
use bitacora_connect::{Connection, HookProgram, Spool, marker};
use bitacora_harness::{Dialect, has_hooks};
use bitacora_watch::{STALE_AFTER, read_status};
use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::connect::{ConnectFailure, HarnessArgument, ScopeArguments, Target, load};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::access::event_loop;
use crate::ledger_access::context::CommandContext;
use crate::terminal::table::{Cell, Row, TextTable, cells, to_the_second};

/// The feature of Codex by which a command gets a terminal that its agent can type into.
const CODEX_TYPING: &str = "unified_exec_tty";

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// The harness. [default: every connected one of this user]
    harness: Option<HarnessArgument>,
    #[command(flatten)]
    scope: ScopeArguments,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    harness: String,
    check: &'static str,
    ok: bool,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Row for Finding {
    const HEADINGS: &'static [&'static str] = &["harness", "check", "", "found", "remedy"];

    fn cells(&self) -> Vec<Cell> {
        let mark = if self.ok { "ok" } else { "FAIL" };
        cells![&self.harness, self.check, mark, &self.found, self.remedy.as_deref().unwrap_or("-")]
    }
}

pub(crate) fn run(arguments: &DoctorArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let harnesses = match arguments.harness {
        Some(harness) => vec![harness],
        None => vec![
            HarnessArgument::Claude,
            HarnessArgument::Codex,
            HarnessArgument::Gemini,
            HarnessArgument::Cursor,
        ],
    };
    let mut findings = Vec::new();
    for harness in harnesses {
        let target = Target::of(harness, &arguments.scope)?;
        match load(&target) {
            Ok(connection) => {
                Examination { target: &target, connection: &connection, findings: &mut findings }.all()?;
            }
            Err(ConnectFailure::NotConnected { .. }) if arguments.harness.is_none() => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    let is_well = findings.iter().all(|finding| finding.ok);
    if context.is_json() {
        context.print(&findings)?;
    } else {
        let none = "no harness is connected; `bitacora connect claude` connects one";
        TextTable::of(&findings).write(none, &mut context.output)?;
    }
    Ok(if is_well { Exit::Done } else { Exit::Failed })
}

/// The examination of one connection.
struct Examination<'a> {
    target: &'a Target,
    connection: &'a Connection,
    findings: &'a mut Vec<Finding>,
}

impl Examination<'_> {
    fn all(mut self) -> Result<(), CommandError> {
        self.harness();
        self.typing();
        self.settings();
        self.program();
        self.spool();
        self.watch();
        self.service()
    }

    fn add(&mut self, check: &'static str, found: impl Into<String>, remedy: Option<String>) {
        let (harness, ok) = (self.connection.harness.clone(), remedy.is_none());
        self.findings.push(Finding { harness, check, ok, found: found.into(), remedy });
    }

    fn again(&self) -> Option<String> {
        let flag = if self.connection.enforce { " --enforce" } else { "" };
        Some(format!("bitacora connect {}{flag}", self.connection.harness))
    }

    fn harness(&mut self) {
        let program = program_of(self.target.dialect);
        let version = version_of(program);
        match version {
            Some(version) => self.add("version", version, None),
            None => self.add(
                "version",
                format!("no `{program}` on the path"),
                Some(format!("install {program}, or mend PATH")),
            ),
        }
    }

    /// Says whether agents of Codex can type into running programs: no hook runs for that.
    fn typing(&mut self) {
        if self.target.dialect != Dialect::Codex {
            return;
        }
        let Some(features) = output_of(program_of(Dialect::Codex), &["features", "list"]) else { return };
        let feature = features.lines().find(|line| line.split_whitespace().next() == Some(CODEX_TYPING));
        if feature.is_some_and(|line| line.split_whitespace().last() == Some("false")) {
            return self.add("typing", "agents cannot type into running programs", None);
        }
        let found = "agents can type into running programs, and no hook runs for it";
        let remedy = format!("codex features disable {CODEX_TYPING}");
        self.add("typing", found, self.connection.enforce.then_some(remedy));
    }

    fn settings(&mut self) {
        let text = fs::read_to_string(&self.connection.settings).unwrap_or_default();
        let place = self.connection.settings.display().to_string();
        let remedy = if has_hooks(&text, &marker(&self.target.file)) { None } else { self.again() };
        self.add("settings", place, remedy);
    }

    fn program(&mut self) {
        let program = env::current_exe().map(|program| HookProgram::beside(&program));
        let Ok(program) = program else { return };
        let named = program.path().display().to_string();
        let is_named = self.connection.written.contains(&*program.path().to_string_lossy());
        let remedy = if is_named { None } else { self.again() };
        self.add("program", named, remedy);
    }

    fn spool(&mut self) {
        let Ok(token) = self.connection.token() else { return };
        match Spool::of(&self.connection.state, &token).counts() {
            Ok(counts) if counts.files == 0 => self.add("spool", "empty", None),
            Ok(counts) => {
                let found = format!("{} events of {} bytes wait", counts.files, counts.bytes);
                self.add("spool", found, Some("start the service; the next hook delivers them".to_owned()));
            }
            Err(error) => self.add("spool", error.to_string(), self.again()),
        }
    }

    /// Says whether a watch runs, and how far it read. Without one nothing fails: calls that dodge the gate stay unseen.
    fn watch(&mut self) {
        let status = match read_status(self.connection) {
            Ok(status) => status,
            // `spool` and `service` say it.
            Err(_) => return,
        };
        let Some(status) = status else {
            return self.add("watch", "none ran yet; `bitacora watch` finds calls that dodge the gate", None);
        };
        let read =
            format!("{} of {} bytes of {} transcripts", status.settled, status.bytes, status.transcripts);
        if status.age() > STALE_AFTER {
            let found = format!("none runs; the last one read {read}, {} s ago", status.age().as_secs());
            return self.add("watch", found, Some("bitacora watch, or start its unit".to_owned()));
        }
        let faulty =
            if status.faulty > 0 { format!(", {} with faults", status.faulty) } else { String::new() };
        let found = format!("read {read}{faulty}; {} gaps, {} calls wait", status.gaps, status.waiting);
        match status.failure {
            Some(failure) => self.add("watch", failure, Some("bitacora serve".to_owned())),
            None => self.add("watch", found, None),
        }
    }

    fn service(&mut self) -> Result<(), CommandError> {
        let (url, token) = match (self.connection.service(), self.connection.token()) {
            (Ok(url), Ok(token)) => (url, token),
            (Err(error), _) | (_, Err(error)) => {
                self.add("service", error.to_string(), self.again());
                return Ok(());
            }
        };
        let ledger = format!("/v1/ledgers/{}", self.connection.ledger);
        let agent = percent_encoded(&self.connection.agent);
        let mut service = ServiceConnection::new(url, Some(token));
        let event_loop = event_loop()?;
        let mut get = |path: String| {
            let answer = async { service.get(&path, "application/json").await?.whole().await };
            event_loop.block_on(answer)
        };
        let head: HeadAnswer = match get(format!("{ledger}/head")).map(|answer| parsed(&answer)) {
            Ok(Some(head)) => head,
            Ok(None) => {
                self.add("service", "an answer that no bitacora gives", self.again());
                return Ok(());
            }
            Err(error) => {
                self.add("service", error.to_string(), Some("bitacora serve".to_owned()));
                return Ok(());
            }
        };
        self.add("service", format!("{}, position {}", self.connection.url, head.position), None);
        let about = get(ledger.clone()).ok().and_then(|answer| parsed::<LedgerAnswer>(&answer));
        self.answer_key(about.and_then(|about| about.answer_key).as_deref());
        let mode = get(format!("{ledger}/mode")).ok().and_then(|answer| parsed::<ModeAnswer>(&answer));
        self.mode(mode.as_ref());
        let last = get(format!("{ledger}/events?agent={agent}&dir=backward&limit=1")).ok();
        self.last_event(last.and_then(|answer| parsed::<Value>(&answer)).as_ref());
        Ok(())
    }

    /// Compares the key that the ledger signs answers with to the one that the hooks believe.
    fn answer_key(&mut self, found: Option<&str>) {
        let expected = self.connection.answer_key.as_str();
        let remedy = if found == Some(expected) { None } else { self.again() };
        let found = if remedy.is_none() { "signed by the ledger" } else { "of another ledger or service" };
        self.add("answers", found, remedy);
    }

    /// Compares the mode of the ledger with that of the hook: a hook that only observes obeys no deny that comes too late.
    fn mode(&mut self, mode: Option<&ModeAnswer>) {
        let Some(mode) = mode else { return };
        let own =
            |scope: &&bitacora_api::ScopedMode| scope.scope.agent.as_ref() == Some(&self.connection.agent);
        let of_ledger = mode.scopes.iter().find(own).map_or(&mode.mode, |scope| &scope.mode);
        let of_hook = if self.connection.enforce { "enforce" } else { "observe" };
        let found = format!("{of_hook} in the hook, {of_ledger} in the ledger");
        let remedy = if of_ledger == of_hook { None } else { self.again() };
        self.add("mode", found, remedy);
    }

    fn last_event(&mut self, page: Option<&Value>) {
        let last = page.and_then(|page| page.pointer("/events/0"));
        let time = last.and_then(|event| event.get("recordedAt")).and_then(Value::as_str);
        let kind = last.and_then(|event| event.pointer("/event/type")).and_then(Value::as_str);
        match (time, kind) {
            (Some(time), Some(kind)) => {
                self.add("events", format!("the last one, {kind}, {}", to_the_second(time)), None);
            }
            _ => {
                let remedy = format!("start a new session of {}", self.connection.harness);
                self.add("events", "none of this agent yet", Some(remedy));
            }
        }
    }
}

fn parsed<T: DeserializeOwned>(answer: &[u8]) -> Option<T> {
    serde_json::from_slice(answer).ok()
}

/// Returns the name of a harness's program.
fn program_of(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Claude => "claude",
        Dialect::Codex => "codex",
        Dialect::Gemini => "gemini",
        Dialect::Cursor => "cursor",
    }
}

/// Returns the output of a program on the path.
fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let path = env::var_os("PATH")?;
    let file = env::split_paths(&path).map(|folder| folder.join(program)).find(|file| Path::is_file(file))?;
    let output =
        Command::new(file).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Asks a program for its version.
fn version_of(program: &str) -> Option<String> {
    let text = output_of(program, &["--version"])?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.chars().take(80).collect())
}
