//! The examination of one connection: each check says what was found, and how to mend it.

use std::env;
use std::path::{Path, PathBuf};

use bitacora_api::ModeAnswer;
use bitacora_client::ClientError;
use bitacora_connect::{
    Connection, HookProgram, LastEvent, LossCounts, PendingToken, ProgramFault, ServiceExamination,
    ServiceFault, Spool, SpoolContents, examine_other_settings, examine_service, examine_settings,
    key_fingerprint, output_of, settings_obstacles, version_of,
};
use bitacora_harness::{Dialect, SettingsDifference};
use bitacora_watch::{STALE_AFTER, read_status};

use super::Finding;
use crate::commands::connect::{Target, usual_place};
use crate::error::CommandError;
use crate::ledger_access::access::event_loop;
use crate::terminal::table::to_the_second;

/// The feature of Codex without which it runs no hooks.
const CODEX_HOOKS: &str = "hooks";
/// The feature of Codex by which a command gets a terminal that its agent can type into.
const CODEX_TYPING: &str = "unified_exec_tty";

/// The examination of one connection.
pub(super) struct Examination<'a> {
    target: &'a Target,
    connection: &'a Connection,
    findings: &'a mut Vec<Finding>,
}

impl<'a> Examination<'a> {
    pub(super) fn new(
        target: &'a Target,
        connection: &'a Connection,
        findings: &'a mut Vec<Finding>,
    ) -> Self {
        Self { target, connection, findings }
    }

    pub(super) fn all(mut self) -> Result<(), CommandError> {
        self.harness();
        self.typing();
        self.settings();
        self.other_settings();
        self.program();
        self.spool();
        self.losses();
        self.pending_token();
        self.watch();
        self.service()
    }

    fn add(&mut self, check: &'static str, found: impl Into<String>, remedy: Option<String>) {
        let (harness, name, ok) =
            (self.connection.harness.clone(), self.connection.name.clone(), remedy.is_none());
        self.findings.push(Finding { harness, connection: name, check, ok, found: found.into(), remedy });
    }

    /// Returns the command that connects again, with the flags of this connection.
    fn again(&self) -> Option<String> {
        let (url, ledger) = usual_place();
        Some(self.connection.connect_command((&url, ledger)))
    }

    fn harness(&mut self) {
        let program = program_of(self.target.dialect);
        let mend = format!("install {program}, or mend PATH");
        let Some(file) = on_path(program) else {
            return self.add("version", format!("no `{program}` on the path"), Some(mend));
        };
        match version_of(&file) {
            Ok(version) => self.add("version", version, None),
            // It is there. Where the machine is loaded, this is no fault.
            Err(ProgramFault::Late) => {
                self.add("version", format!("{}: {}", file.display(), ProgramFault::Late), None);
            }
            Err(fault) => self.add("version", format!("{}: {fault}", file.display()), Some(mend)),
        }
    }

    /// Says whether Codex runs hooks at all, and whether its agents can type into running programs: no hook runs for that.
    fn typing(&mut self) {
        if self.target.dialect != Dialect::Codex {
            return;
        }
        let Some(file) = on_path(program_of(Dialect::Codex)) else { return };
        let features = match output_of(&file, &["features", "list"]) {
            Ok(features) => features,
            Err(ProgramFault::Late) => {
                let found = format!("not known, because {}: {}", file.display(), ProgramFault::Late);
                let remedy = self.connection.enforce.then(|| "run `bitacora doctor codex` again".to_owned());
                return self.add("typing", found, remedy);
            }
            Err(_) => return,
        };
        let is_off = |name: &str| {
            let feature = features.lines().find(|line| line.split_whitespace().next() == Some(name));
            feature.is_some_and(|line| line.split_whitespace().last() == Some("false"))
        };
        if is_off(CODEX_HOOKS) {
            let remedy = Some(format!("codex features enable {CODEX_HOOKS}"));
            self.add("settings", "Codex's feature `hooks` is off, so it runs none", remedy);
        }
        if is_off(CODEX_TYPING) {
            return self.add("typing", "agents cannot type into running programs", None);
        }
        let found = "agents can type into running programs, and no hook runs for it";
        let remedy = format!("codex features disable {CODEX_TYPING}");
        self.add("typing", found, self.connection.enforce.then_some(remedy));
    }

    /// Compares the settings with what `connect` would write today: any difference may let calls run unasked.
    fn settings(&mut self) {
        let place = self.connection.settings.display().to_string();
        let Ok(whole) = env::current_exe() else {
            return self.add("settings", "the path of this program is not known", self.again());
        };
        let program = HookProgram::beside(&whole);
        match examine_settings(self.connection, &self.target.file, self.target.dialect, &program) {
            Ok(differences) if differences.is_empty() => self.add("settings", place, None),
            Ok(differences) => {
                let remedy = remedy_for(&differences, &place, self.again());
                self.add("settings", format!("{place}: {}", listed(&differences)), remedy);
            }
            Err(error) => {
                let remedy = self.again().map(|again| format!("mend {place}, then {again}"));
                self.add("settings", error.to_string(), remedy);
            }
        }
    }

    /// Looks for settings beside the connection's that keep its hooks from running.
    fn other_settings(&mut self) {
        let (home, folder) = self.connection.read_places();
        let mut told = Vec::new();
        for other in
            examine_other_settings(self.connection, &self.target.file, self.target.dialect, (&home, &folder))
        {
            let place = other.path.display().to_string();
            match other.found {
                Ok(differences) => {
                    let remedy = remedy_for(&differences, &place, self.again());
                    self.add("settings", format!("{place}: {}", listed(&differences)), remedy);
                }
                Err(error) => self.add("settings", error.to_string(), Some(format!("mend {place}"))),
            }
            told.push(place);
        }
        let warnings =
            settings_obstacles(self.connection, &self.target.file, self.target.dialect, (&home, &folder));
        // To enforce there are none beside the faults.
        for warning in warnings.unwrap_or_default() {
            if !told.iter().any(|place| warning.starts_with(place)) {
                self.add("settings", format!("warning: {warning}"), None);
            }
        }
    }

    /// Asks the hook's program for its version: one that is missing or another one decides nothing.
    fn program(&mut self) {
        let Ok(whole) = env::current_exe() else { return };
        let program = HookProgram::of_connection(&whole, self.connection);
        let name = match &program {
            HookProgram::Small(_) => HookProgram::SMALL,
            HookProgram::Whole(_) => "bitacora",
        };
        let (place, expected) = (program.path().display(), format!("{name} {}", env!("CARGO_PKG_VERSION")));
        let remedy = self.again().map(|again| format!("install bitacora again, then {again}"));
        match version_of(program.path()) {
            Ok(version) if version == expected => self.add("program", format!("{place}, {version}"), None),
            Ok(version) => {
                self.add("program", format!("{place}: found {version}, expected {expected}"), remedy);
            }
            Err(fault) => self.add("program", format!("{place}: {fault}"), remedy),
        }
    }

    fn spool(&mut self) {
        let Ok(token) = self.connection.token() else { return };
        let spool = Spool::of(&self.connection.state, &token);
        let folder = self.connection.state.join("spool");
        match spool.contents() {
            Ok(SpoolContents { events: 0, unreadable: 0 }) => self.add("spool", "empty", None),
            Ok(SpoolContents { events, unreadable }) => {
                if events > 0 {
                    let remedy = format!(
                        "{}; the next hook or `bitacora watch` delivers them",
                        self.connection.serve_advice()
                    );
                    self.add("spool", format!("{events} events wait"), Some(remedy));
                }
                if unreadable > 0 {
                    let found = format!("{unreadable} files that this connection's token does not open");
                    self.add("spool", found, Some(format!("remove them from {}", folder.display())));
                }
            }
            Err(error) => self.add("spool", error.to_string(), Some(format!("mend {}", folder.display()))),
        }
    }

    /// Tells of inputs that are kept nowhere, and of files that stand among their marks.
    fn losses(&mut self) {
        let Ok(token) = self.connection.token() else { return };
        let folder = self.connection.state.join("lost").display().to_string();
        let counts = match Spool::of(&self.connection.state, &token).losses_untold() {
            Ok(LossCounts { untold: 0, foreign: 0 }) => return,
            Ok(counts) => counts,
            Err(error) => return self.add("lost", error.to_string(), Some(format!("mend {folder}"))),
        };
        let LossCounts { untold, foreign } = counts;
        let remedies = [
            (untold, "start the service; the next hook or `bitacora watch` tells the ledger".to_owned()),
            (foreign, format!("remove the files of others from {folder}")),
        ];
        let remedies: Vec<_> =
            remedies.into_iter().filter(|(count, _)| *count > 0).map(|(_, say)| say).collect();
        let found = format!(
            "{untold} lost inputs that the ledger was not told of, {foreign} files that no hook of this connection made"
        );
        self.add("lost", found, Some(remedies.join("; ")));
    }

    /// Names tokens that an earlier `connect` or `disconnect` was stopped before it had revoked.
    fn pending_token(&mut self) {
        for pending in PendingToken::all_of(&self.target.file) {
            if pending.principal == self.connection.principal {
                continue;
            }
            let found = format!("{} of a connect or disconnect that did not end", pending.principal);
            let remedy = if pending.answer_key == self.connection.answer_key {
                self.again()
            } else {
                Some(format!("{}, then remove {}", pending.revoke_advice(), pending.place.display()))
            };
            self.add("token", found, remedy);
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
        let read = match status.transcripts {
            0 => format!("all of {} transcripts", status.known),
            open => format!("{} of {} bytes of {open} transcripts", status.settled, status.bytes),
        };
        if status.age() > STALE_AFTER {
            let found = format!("none runs; the last one read {read}, {} s ago", status.age().as_secs());
            return self.add("watch", found, Some("bitacora watch, or start its unit".to_owned()));
        }
        let faulty =
            if status.faulty > 0 { format!(", {} with faults", status.faulty) } else { String::new() };
        let found = format!("read {read}{faulty}; {} gaps, {} calls wait", status.gaps, status.waiting);
        match status.failure {
            Some(failure) => self.add("watch", failure, Some(self.connection.serve_advice())),
            None => self.add("watch", found, None),
        }
    }

    fn service(&mut self) -> Result<(), CommandError> {
        let key = key_fingerprint(&self.connection.answer_key).unwrap_or_default();
        match event_loop()?.block_on(examine_service(self.connection)) {
            Ok(ServiceExamination { head, mode, last_event }) => {
                self.add("service", format!("{}, position {}", self.connection.url, head.position), None);
                self.add("answers", format!("signed by the ledger with key {key}"), None);
                self.mode(mode);
                self.last_event(last_event);
            }
            Err(fault) => self.fault(&fault, &key),
        }
        Ok(())
    }

    /// Tells a service that is away from one that does not take the token, and from another program.
    fn fault(&mut self, fault: &ServiceFault, key: &str) {
        let again = self.again().unwrap_or_default();
        let (check, remedy) = match fault {
            ServiceFault::Connection(_) | ServiceFault::Client(ClientError::Refused(_)) => ("service", again),
            ServiceFault::Token(_) => ("token", again),
            ServiceFault::Unsigned(_) => (
                "answers",
                format!(
                    "stop the program that listens at {}, or, if the ledger is a new one, {again} --new-answer-key; the key is {key}",
                    self.connection.url
                ),
            ),
            ServiceFault::Client(_) => (
                "service",
                format!("{}; if it has another address now, {again}", self.connection.serve_advice()),
            ),
        };
        self.add(check, fault.to_string(), Some(remedy));
    }

    /// Compares the mode of the ledger with that of the hook: a hook that only observes obeys no deny that comes too late.
    fn mode(&mut self, mode: Result<ModeAnswer, ClientError>) {
        let mode = match mode {
            Ok(mode) => mode,
            Err(error) => {
                return self.add("mode", format!("the ledger does not tell it: {error}"), self.again());
            }
        };
        let own =
            |scope: &&bitacora_api::ScopedMode| scope.scope.agent.as_ref() == Some(&self.connection.agent);
        let of_ledger = mode.scopes.iter().find(own).map_or(&mode.mode, |scope| &scope.mode);
        let of_hook = if self.connection.enforce { "enforce" } else { "observe" };
        let found = format!("{of_hook} in the hook, {of_ledger} in the ledger");
        let remedy = if of_ledger == of_hook { None } else { self.again() };
        self.add("mode", found, remedy);
    }

    fn last_event(&mut self, last: Result<Option<LastEvent>, ClientError>) {
        let remedy = format!("start a new session of {}", self.connection.harness);
        match last {
            Ok(Some(LastEvent { kind, recorded })) => {
                self.add("events", format!("the last one, {kind}, {}", to_the_second(&recorded)), None);
            }
            Ok(None) => self.add("events", "none of its hooks since it was connected", Some(remedy)),
            Err(error) => self.add("events", error.to_string(), Some(remedy)),
        }
    }
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

/// Returns the program of that name on the path.
fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| Path::is_file(file))
}

fn listed(differences: &[SettingsDifference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A member that switches hooks off is its user's: `connect` takes none out.
fn remedy_for(differences: &[SettingsDifference], place: &str, again: Option<String>) -> Option<String> {
    let members: Vec<String> = differences
        .iter()
        .filter_map(|difference| match difference {
            SettingsDifference::SwitchedOff(member) => Some(format!("`{member}`")),
            SettingsDifference::Unlisted(member) => Some(format!("`{}`", member.path)),
            _ => None,
        })
        .collect();
    if members.is_empty() {
        return again;
    }
    let take_out = format!("take {} out of {place}", members.join(" and "));
    if members.len() == differences.len() {
        Some(take_out)
    } else {
        again.map(|again| format!("{take_out}, then {again}"))
    }
}
