//! The hook process: reads the harness's input, asks the service, and says what the harness is to do.
//!
//! A harness waits for this process before each tool call, so it starts nothing that it does not need. What it does on a
//! failure depends on one flag of its command line, which is read before anything can fail:
//!
//! - **enforce**: a call that nobody decided is blocked (exit code 2), whatever the reason.
//! - **observe**: the call runs. The input goes into the spool and is delivered later, once.
//!
//! An answer counts only if the ledger signed it for this request: any program could take the service's port.
//!
//! The process ends before the harness's own timeout, because some harnesses run a call whose hook was too slow.

mod arguments;
mod delivery;
mod exit;
mod final_codes;
mod input_body;
mod open_calls;
mod other_id;
mod trace;
mod transcript;

use std::ffi::OsString;
use std::io::Read;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bitacora_api::paths::percent_encoded;
use bitacora_client::{ClientError, Connection as ServiceConnection, Token};
use bitacora_harness::{Dialect, HookEvent, HookInput, HookVerdict};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

pub use self::arguments::HookArguments;
pub(crate) use self::delivery::ALL_HARNESSES;
pub use self::delivery::{Delivered, DeliveryPlace, deliver_before, deliver_spooled};
pub use self::exit::HookExit;
pub use self::final_codes::is_final;
use self::input_body::InputBody;
use self::open_calls::OpenCalls;
use self::other_id::{is_taken_id, random_id};
use self::trace::leave_trace;
pub(crate) use self::trace::lost_event;
use crate::connection::Connection;
use crate::error::HookFailure;
use crate::limits::{
    DECISION_PATIENCE, END_PATIENCE, MARK_PATIENCE, MAX_HOLD, MAX_INPUT_BYTES, PREPARE_PATIENCE,
    REPORT_PATIENCE,
};
use crate::losses::{LossReason, Losses};
use crate::spool::Spool;

/// The type of what is posted.
const JSON: &str = "application/json";
/// The signal of a file that would grow past the process's limit, on Linux and macOS.
const FILE_SIZE_SIGNAL: i32 = 25;

/// Runs a hook of a harness: `claude --connection FILE [--gate] [--enforce]`, with the harness's input.
#[must_use]
pub fn run_hook(
    arguments: &[OsString],
    input: impl Read + Send + 'static,
    variable: impl Fn(&str) -> Option<String> + Send + 'static,
) -> HookExit {
    let enforce = arguments.iter().any(|argument| argument == HookArguments::ENFORCE);
    let failed = |failure: HookFailure| {
        let stderr = format!("bitacora: {failure}");
        if enforce { HookExit::blocked(stderr) } else { HookExit::without_opinion(stderr) }
    };
    // A pipe in the place of a file would stop this process for ever, and a harness runs a call whose hook is too slow. So the work
    // has a thread of its own, and this one ends in time.
    let (steps, heard) = channel();
    let owned = arguments.to_vec();
    let spawned = thread::Builder::new().spawn(move || work(&owned, input, &variable, &steps));
    if let Err(error) = spawned {
        return failed(HookFailure::Process(error.to_string()));
    }
    let (mut patience, mut losses) = (PREPARE_PATIENCE, None);
    loop {
        match heard.recv_timeout(patience) {
            Ok(HookStep::Prepared { longest, losses: marks }) => {
                (patience, losses) = (longest.saturating_add(END_PATIENCE), Some(marks));
            }
            Ok(HookStep::Ended(exit)) => return exit,
            Ok(HookStep::Failed(failure)) => return failed(failure),
            Err(RecvTimeoutError::Timeout) => {
                mark_late(losses);
                return failed(HookFailure::Late(patience.as_secs()));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return failed(HookFailure::Process("it ended by a fault".to_owned()));
            }
        }
    }
}

/// A step of a hook's work.
enum HookStep {
    /// Input and connection are read. The rest takes this long at most.
    Prepared {
        longest: Duration,
        /// The marks of the connection's losses.
        losses: Losses,
    },
    Ended(HookExit),
    Failed(HookFailure),
}

/// Marks that a hook ended by its deadline. The disk may be what it waits for, so a thread of its own does it.
fn mark_late(losses: Option<Losses>) {
    let (done, marked) = channel();
    let spawned = losses.map(|losses| {
        thread::Builder::new().spawn(move || {
            losses.mark(LossReason::Late);
            let _unheard = done.send(());
        })
    });
    if matches!(spawned, Some(Ok(_))) {
        let _in_time = marked.recv_timeout(MARK_PATIENCE);
    }
}

/// Returns the loop that the service is asked in. From here on a file that would grow past the process's limit is an error of its
/// writing, and no more the end of the process.
fn event_loop() -> Result<Runtime, HookFailure> {
    let failed = |error: std::io::Error| HookFailure::Process(error.to_string());
    let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
    let entered = runtime.enter();
    // Where the signal has no number, it is not heard, as before.
    let _heard = signal(SignalKind::from_raw(FILE_SIZE_SIGNAL));
    drop(entered);
    Ok(runtime)
}

/// Does the work of a hook, and tells its steps. Nobody hears them after the process's time.
fn work(
    arguments: &[OsString],
    input: impl Read,
    variable: &impl Fn(&str) -> Option<String>,
    steps: &Sender<HookStep>,
) {
    let prepared =
        event_loop().and_then(|runtime| Ok((runtime, HookRun::prepare(arguments, input, variable)?)));
    let last = match prepared {
        Ok((runtime, run)) => {
            let losses = Losses::of(&run.connection.state, &run.token);
            let _heard = steps.send(HookStep::Prepared { longest: run.longest(), losses });
            HookStep::Ended(run.finish(&runtime))
        }
        Err(failure) => HookStep::Failed(failure),
    };
    let _heard = steps.send(last);
}

/// A hook whose input and connection are read.
struct HookRun {
    dialect: Dialect,
    enforce: bool,
    connection: Connection,
    token: Token,
    answer_key: [u8; 32],
    /// The input as the harness wrote it.
    body: InputBody,
    input: HookInput,
    /// The call's id, where the harness names none.
    call: Option<String>,
    model: Option<String>,
    /// `true` if the harness's user is there to be asked.
    interactive: bool,
    /// An id of this run, under which its events are recorded once.
    delivery: String,
    /// The time at which it began, microseconds since 1970.
    occurred: u128,
}

impl HookRun {
    fn prepare(
        arguments: &[OsString],
        input: impl Read,
        variable: &impl Fn(&str) -> Option<String>,
    ) -> Result<Self, HookFailure> {
        let arguments = HookArguments::parse(arguments)?;
        let body = InputBody::read(input, !arguments.enforce)?;
        let connection = Connection::load(&arguments.connection)?;
        let (token, answer_key) = (connection.token()?, connection.answer_key()?);
        let dialect = arguments.dialect;
        let read = match body.is_whole() {
            true => dialect.read(&body.bytes).map_err(HookFailure::from),
            false => Err(HookFailure::InputTooLong(MAX_INPUT_BYTES)),
        };
        let input = match read {
            Ok(input) => input,
            Err(failure) => {
                // A blocked call needs no trace: it does not run.
                if !arguments.enforce {
                    let spool = Spool::of(&connection.state, &token);
                    let reason = failure.to_string();
                    let _marked = leave_trace(&spool, &connection, &body, &reason);
                }
                return Err(failure);
            }
        };
        if arguments.gate && arguments.enforce && !matches!(input.event, HookEvent::BeforeTool(_)) {
            return Err(HookFailure::NoCall);
        }
        Ok(Self {
            enforce: arguments.enforce,
            call: OpenCalls::of(&connection.state).id_for(&input),
            model: input.transcript.as_deref().and_then(transcript::model).filter(|_| input.model.is_none()),
            interactive: is_interactive(dialect, variable),
            delivery: random_id()?,
            occurred: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros(),
            dialect,
            connection,
            token,
            answer_key,
            body,
            input,
        })
    }

    fn finish(self, runtime: &Runtime) -> HookExit {
        match runtime.block_on(self.ask_in_time()) {
            Ok(output) => self.passed(output, String::new()),
            Err(failure) => self.without_answer(&failure),
        }
    }

    /// Says what the harness is to do without an answer. Only a call that waits for a verdict is ever blocked.
    fn without_answer(&self, failure: &HookFailure) -> HookExit {
        let is_gate = matches!(self.input.event, HookEvent::BeforeTool(_));
        if is_gate && self.enforce {
            let stderr =
                format!("Bitacora blocked this call, because nobody could decide about it: {failure}");
            return HookExit::blocked(stderr);
        }
        let outlook = match failure {
            HookFailure::Client(ClientError::Refused(refusal))
                if is_final(&refusal.problem) && !is_taken_id(&refusal.problem.code) =>
            {
                let reason = format!("the service refuses it ({})", refusal.problem.code);
                match leave_trace(&self.spool(), &self.connection, &self.body, &reason) {
                    Ok(()) => {
                        "the service will not take the event; a trace of it is delivered later".to_owned()
                    }
                    Err(lost) => format!("the event is lost: {lost}"),
                }
            }
            _ => match self.spool().keep(&self.late_path(), &self.body.bytes) {
                Ok(()) => "the event is delivered later".to_owned(),
                Err(lost) => format!("the event is lost: {lost}"),
            },
        };
        let stderr = format!("bitacora: {failure}; {outlook}");
        if is_gate {
            return self.passed(self.dialect.answer(&HookVerdict::Allow), stderr);
        }
        HookExit::without_opinion(stderr)
    }

    fn passed(&self, stdout: String, stderr: String) -> HookExit {
        match self.input.event {
            HookEvent::BeforeTool(_) => HookExit::verdict(self.dialect, stdout, stderr, self.enforce),
            _ => HookExit { stdout, ..HookExit::without_opinion(stderr) },
        }
    }

    fn spool(&self) -> Spool {
        Spool::of(&self.connection.state, &self.token)
    }

    /// Returns the longest time that the service has for everything that this hook asks of it.
    fn longest(&self) -> Duration {
        match self.input.event {
            HookEvent::BeforeTool(_) => self.longest_hold().saturating_add(DECISION_PATIENCE),
            _ => REPORT_PATIENCE,
        }
    }

    /// Asks the service, deliveries and holds together no longer than the harness waits.
    async fn ask_in_time(&self) -> Result<String, HookFailure> {
        let longest = self.longest();
        timeout(longest, self.ask()).await.map_err(|_| HookFailure::Late(longest.as_secs()))?
    }

    /// Asks the service, and asks again while a person is waited for.
    async fn ask(&self) -> Result<String, HookFailure> {
        let mut service = ServiceConnection::new(self.connection.service()?, Some(self.token.clone()));
        let place = DeliveryPlace { ledger: &self.connection.ledger, answer_key: Some(&self.answer_key) };
        deliver_before(&self.spool(), &mut service, place).await;
        let mut left = self.longest_hold();
        loop {
            let hold = left.min(MAX_HOLD);
            let patience = match self.input.event {
                HookEvent::BeforeTool(_) => hold.saturating_add(DECISION_PATIENCE),
                _ => REPORT_PATIENCE,
            };
            let began = Instant::now();
            let output = self.post(&mut service, hold, patience).await?;
            left = left.saturating_sub(hold);
            // The service answers a held call as soon as a person does. Only a call that was held to the end is asked for again.
            if left.is_zero() || began.elapsed() < hold {
                return Ok(output);
            }
        }
    }

    /// Returns the longest time that a call is held for a person. Where the harness asks its own user, it is not held.
    fn longest_hold(&self) -> Duration {
        let is_gate = matches!(self.input.event, HookEvent::BeforeTool(_));
        let asks_itself = self.interactive && self.dialect.can_ask();
        if is_gate && !asks_itself { Duration::from_secs(self.connection.wait_s) } else { Duration::ZERO }
    }

    async fn post(
        &self,
        service: &mut ServiceConnection,
        hold: Duration,
        patience: Duration,
    ) -> Result<String, HookFailure> {
        let path = self.path(hold);
        let body = self.body.bytes.clone().into();
        let asked = service.post_signed(&path, JSON, body, &self.answer_key);
        let answered =
            timeout(patience, asked).await.map_err(|_| HookFailure::Late(patience.as_secs()))??;
        let output = String::from_utf8(answered.into()).map_err(|_| HookFailure::Answer)?;
        // Whatever answers there, a harness takes only an object.
        let is_object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&output).is_ok();
        if is_object { Ok(output) } else { Err(HookFailure::Answer) }
    }

    /// Returns the path of an input that is told later. It says when the hook ran, by this machine's clock.
    fn late_path(&self) -> String {
        format!("{}&occurred={}", self.path(Duration::ZERO), self.occurred)
    }

    fn path(&self, hold: Duration) -> String {
        let mut path = format!(
            "/v1/ledgers/{}/hooks/{}?delivery={}&interactive={}",
            self.connection.ledger,
            self.dialect.name(),
            self.delivery,
            self.interactive
        );
        for (name, value) in [("call", &self.call), ("model", &self.model)] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", percent_encoded(value)));
            }
        }
        if !hold.is_zero() {
            path.push_str(&format!("&wait={}s", hold.as_secs()));
        }
        path
    }
}

/// Returns `true` if the harness says that a person sits before it.
fn is_interactive(dialect: Dialect, variable: &impl Fn(&str) -> Option<String>) -> bool {
    match dialect {
        // `cli` is the terminal; `sdk-cli` and others have nobody to ask.
        Dialect::Claude => variable("CLAUDE_CODE_ENTRYPOINT").as_deref() == Some("cli"),
        Dialect::Cursor => true,
        Dialect::Codex | Dialect::Gemini => false,
    }
}
