//! The measured service: this same program, in a separate process.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

use super::connection::get;
use super::error::BenchError;
use super::keyring;
use super::machine;
use super::scratch::ScratchLedger;
use super::scratch::ledger_name;
use super::stop::StopSignal;

/// The time that read models get to catch up with the ledger.
const CATCH_UP_PATIENCE: Duration = Duration::from_secs(120);
/// The pause between two looks at their progress.
const CATCH_UP_PAUSE: Duration = Duration::from_millis(20);

/// A service on a port of its own; ended, by its id, on drop.
pub(super) struct ServiceProcess {
    process: Child,
    pub(super) address: SocketAddr,
    /// The header field of its admin, whose token the load uses.
    pub(super) authorization: String,
}

/// The first line of `serve --json`.
#[derive(Deserialize)]
struct ListeningLine {
    listening: Vec<String>,
}

impl ServiceProcess {
    /// Serves the place, and creates missing parts of it.
    pub(super) fn start(place: &ScratchLedger) -> Result<Self, BenchError> {
        let failed = |what| move |source| BenchError::System { what, source };
        let program = std::env::current_exe().map_err(failed("this program's own file"))?;
        let mut command = Command::new(program);
        command.args(["serve", "--json", "--listen", "127.0.0.1:0", "--create", ledger_name()?.as_str()]);
        command.arg("--data").arg(place.data()).arg("--keyring").arg(place.keyring());
        command.env_remove("BITACORA_URL").env("RUST_LOG", "warn");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let process = command.spawn().map_err(failed("a service of its own"))?;
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut service = Self { process, address, authorization: String::new() };
        let mut line = String::new();
        if let Some(stdout) = service.process.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(failed("what the service says"))?;
        }
        let told: Option<ListeningLine> = serde_json::from_str(&line).ok();
        let address = told.iter().flat_map(|told| &told.listening).next();
        let address = address.and_then(|address| address.strip_prefix("http://")?.parse().ok());
        service.address = address.ok_or_else(|| BenchError::Service("did not start".to_owned()))?;
        let token = keyring::admin_token(&place.keyring());
        let token = token.map_err(|error| BenchError::Service(format!("made no token: {error}")))?;
        service.authorization = format!("authorization: Bearer {token}\r\n");
        Ok(service)
    }

    /// Returns the service once its read models have caught up with the ledger.
    pub(super) fn caught_up(self, stop: &StopSignal) -> Result<Self, BenchError> {
        self.wait_until_caught_up(stop).map(|()| self)
    }

    /// Waits until its read models have caught up with the ledger.
    pub(super) fn wait_until_caught_up(&self, stop: &StopSignal) -> Result<(), BenchError> {
        let began = Instant::now();
        while began.elapsed() < CATCH_UP_PATIENCE {
            stop.check()?;
            let answer = get(self, "/v1/projections");
            let answer = answer.map_err(|error| BenchError::Service(format!("broke off: {error}")))?;
            if !answer.as_ref().is_some_and(lags) {
                return Ok(());
            }
            thread::sleep(CATCH_UP_PAUSE);
        }
        Err(BenchError::Service("did not catch up with its own ledger".to_owned()))
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the most memory that it has had, in bytes.
    pub(super) fn peak_memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.id(), "VmHWM")
    }
}

/// Returns `true` if any member of the answer reports a lag.
fn lags(answer: &Value) -> bool {
    match answer {
        Value::Object(members) => members.iter().any(|(name, value)| match (name.as_str(), value) {
            ("lag", Value::String(lag)) => lag != "0",
            ("lag", Value::Number(lag)) => lag.as_u64() != Some(0),
            (_, value) => lags(value),
        }),
        Value::Array(values) => values.iter().any(lags),
        _ => false,
    }
}

impl Drop for ServiceProcess {
    fn drop(&mut self) {
        // Its files are thrown away, so nobody waits for a clean end.
        let _already_gone = self.process.kill().is_err();
        let _already_waited = self.process.wait().is_err();
    }
}
