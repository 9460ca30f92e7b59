//! `quickstart`: a demo ledger, governed by the starter, filled, verified, shown and served.
//! It lies in a folder of its own and holds a recorded, invented hour of several agents.

mod folder;
mod summary;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bitacora_api::HeadAnswer;
use bitacora_data_folder::{
    LedgerSetup, PreparedFolder, SetupError, generate_token, options_with_anchor_beside, read_admin_token,
    token_hash,
};
use bitacora_demo::{Act, ConnectedLedger, DecisionCounts, DemoAgent, DemoHour, PlayedAct, recorded_hour};
use bitacora_formats::{BodyForm, Keyring, Micros, write_event_line};
use bitacora_ledger::Environment;
use bitacora_server::{
    Admission, CloseFailures, FirstTokens, LedgersConfig, ListenError, Server, ServerConfig, ServerLimits,
    StartError,
};
use clap::Args;
use hyper::body::Bytes;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tracing_subscriber::filter::LevelFilter;

use self::folder::{FolderError, QuickstartFolder};
use self::summary::QuickstartSummary;
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::files::descriptors;
use crate::ledger_access::access::{Access, AccessError};
use crate::ledger_access::append_retry::{Delivery, Miss};
use crate::ledger_access::interrupt::Interrupts;
use crate::options::global::{DEFAULT_ADDRESS, Global};
use crate::terminal::logging::{self, LogForm};
use crate::terminal::output::Output;
use crate::terminal::passphrase::PASSPHRASE;
use crate::terminal::progress::{ByteBar, EventBar};
use crate::web_pages::{ConsolePages, serve_console};
use bitacora_client::{Connection, ServiceUrl};
use bitacora_import::AppendMiss as _;
use bitacora_verify::{Report, Verdict, VerifyOptions, verify_ledger};

/// The number of recorded events.
const DEFAULT_EVENTS: u64 = 10_000;
/// The most events; `bench` is for more.
const MAX_EVENTS: u64 = 500_000;
/// Retries of one request: few, so that a fault is reported soon to the person who waits.
const MAX_RETRIES: u32 = 2;
/// Events a request.
const BATCH_EVENTS: usize = 100;

#[derive(Debug, Args)]
pub(crate) struct QuickstartArguments {
    /// The folder to create everything in; it must be new or empty. [default: bitacora-quickstart, or with a number behind it]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// The address to listen on. [default: 127.0.0.1:7717, or a free port if that is taken]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The number of events; more than the default are further agents.
    #[arg(long, value_name = "EVENTS", default_value_t = DEFAULT_EVENTS,
        value_parser = clap::value_parser!(u64).range(1..=MAX_EVENTS))]
    events: u64,
    /// End after verification, and do not go on serving.
    #[arg(long)]
    exit: bool,
}

/// The reason why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QuickstartFailure {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the system gives the service no threads or signals: {0}; it did not start")]
    Runtime(io::Error),
    #[error("{why}; what was begun stays in {folder}, which can be removed{ELSEWHERE}")]
    NotBegun { why: Box<SetupError>, folder: String },
    #[error("{miss}; what was acknowledged stays in {folder}, which can be removed{}", elsewhere(miss))]
    Missed { miss: Box<Miss>, folder: String },
    /// The ledger is new, so it refuses the admin's token only if it could not record that.
    #[error(
        "the new ledger could not record its first admin, as the lines above tell; what was begun stays in {0}, which can be removed{ELSEWHERE}"
    )]
    NoAdmin(String),
    #[error("the hour that this program contains is damaged; install the program again")]
    Recording,
    #[error("the system gives no random bytes: {0}; what was begun stays, and can be removed")]
    Random(io::Error),
    #[error("interrupted; what was acknowledged stays in {0}, which can be removed")]
    Interrupted(String),
    #[error("the service ended early; what was acknowledged stays in {0}, which can be removed")]
    Ended(String),
    #[error(transparent)]
    Close(#[from] CloseFailures),
}

/// The advice where this disk does not take the ledger.
const ELSEWHERE: &str = "; make room on this disk, or name a folder on another one with --folder";

/// Returns the advice for a ledger that takes no events.
fn elsewhere(miss: &Miss) -> &'static str {
    if matches!(miss.code(), "disk-full" | "read-only") { ELSEWHERE } else { "" }
}

impl CommandFailure for QuickstartFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::NotBegun { why, .. } => why.exit(),
            Self::Missed { miss, .. } => miss.exit(),
            Self::Interrupted(_) => Exit::Interrupted,
            _ => Exit::Failed,
        }
    }
}

pub(crate) fn run(
    arguments: &QuickstartArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    logging::start(LogForm::Text, LevelFilter::WARN);
    let (address, was_taken) = free_address(arguments.listen).map_err(QuickstartFailure::from)?;
    let folder = QuickstartFolder::make(arguments.folder.as_deref()).map_err(QuickstartFailure::from)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(QuickstartFailure::Runtime)?;
    let mut quickstart = Quickstart { arguments, global, folder, address, was_taken, output };
    runtime.block_on(quickstart.run())
}

/// Returns the address that was asked for, else the default one, or a free port where that is taken; and whether it was
/// taken. Nothing is created before this.
fn free_address(asked: Option<SocketAddr>) -> Result<(SocketAddr, bool), StartError> {
    let address = asked.unwrap_or(DEFAULT_ADDRESS);
    if !address.ip().to_canonical().is_loopback() {
        return Err(ListenError::NotLoopback(address).into());
    }
    match TcpListener::bind(address) {
        Ok(_) => Ok((address, false)),
        Err(_) if asked.is_none() => Ok((SocketAddr::new(address.ip(), 0), true)),
        Err(source) => Err(ListenError::Address { address, source }.into()),
    }
}

struct Quickstart<'a> {
    arguments: &'a QuickstartArguments,
    global: &'a Global,
    folder: QuickstartFolder,
    address: SocketAddr,
    was_taken: bool,
    output: &'a mut Output,
}

/// The service, which runs beside its feeder.
struct RunningService {
    url: ServiceUrl,
    console: Arc<ConsolePages>,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Result<(), CloseFailures>>,
}

/// The result of feeding.
struct Fed {
    head: HeadAnswer,
    json_bytes: u64,
    stored_bytes: Option<u64>,
    elapsed: Duration,
    decided: DecisionCounts,
    played: PlayedAct,
}

impl Quickstart<'_> {
    async fn run(&mut self) -> Result<Exit, CommandError> {
        let mut interrupts = Interrupts::listen().map_err(AccessError::Runtime)?;
        let (running, keyring) = self.start().await?;
        let told = tokio::select! {
            told = self.tell(&running, keyring) => told,
            () = interrupts.next() => Err(QuickstartFailure::Interrupted(self.folder.shown()).into()),
        };
        if matches!(told, Ok(Exit::Done)) && !self.arguments.exit {
            interrupts.next().await;
        }
        // If the service has ended already, its result shows below.
        let _ended_already = running.stop.send(()).is_err();
        let ended = tokio::select! {
            ended = running.ended => ended,
            () = interrupts.next() => std::process::exit(Exit::Interrupted.code().into()),
        };
        let exit = told?;
        ended.map_err(|_| self.ended_early())?.map_err(QuickstartFailure::from)?;
        Ok(exit)
    }

    /// Makes the ledger and serves it.
    async fn start(&mut self) -> Result<(RunningService, Arc<Keyring>), CommandError> {
        let environment = Environment::real();
        let (data, keyring) = (self.folder.data(), self.folder.keyring());
        let options = options_with_anchor_beside(&keyring, &environment);
        let setup = LedgerSetup {
            environment: &environment,
            data: &data,
            keyring: &keyring,
            passphrase: PASSPHRASE,
            options: &options,
            without: &[],
        };
        let prepared = setup.run(std::slice::from_ref(&self.global.ledger));
        let PreparedFolder { keyring, folder, unlisted, .. } = prepared
            .map_err(|why| QuickstartFailure::NotBegun { why: Box::new(why), folder: self.folder.shown() })?;
        let keyring = Arc::new(keyring);
        let mut limits = ServerLimits::default();
        descriptors::allow_connections(&mut limits);
        let first_tokens = Arc::new(self.folder.admin_token());
        let config = |address| ServerConfig {
            addresses: vec![address],
            tls: None,
            allows_remote: false,
            unix_socket: None,
            admission: Admission::Tokens(Arc::clone(&first_tokens) as Arc<dyn FirstTokens>),
            allowed_origins: Vec::new(),
            notices: None,
            archiving: None,
            warm: None,
            ledgers: LedgersConfig {
                data: data.clone(),
                keyring: Arc::clone(&keyring),
                environment: folder.environment().clone(),
                options: options.clone(),
                read_models: true,
                recalls: Arc::default(),
            },
            unlisted: unlisted.clone(),
            required_models: Vec::new(),
            limits: limits.clone(),
        };
        let server = match Server::bind(config(self.address)).await {
            // Somebody was faster.
            Err(StartError::Listen(ListenError::Address { address, .. }))
                if self.arguments.listen.is_none() =>
            {
                self.was_taken = true;
                Server::bind(config(SocketAddr::new(address.ip(), 0))).await
            }
            bound => bound,
        };
        let mut server = server.map_err(QuickstartFailure::from)?;
        let console = serve_console(&mut server);
        let address = server.local_addr().unwrap_or(self.address);
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(server.run(async {
            // A dropped sender is a request to end too.
            let _asked = stopped.await.is_ok();
        }));
        Ok((RunningService { url: ServiceUrl::Tcp(address.to_string()), console, stop, ended }, keyring))
    }

    /// Feeds, verifies and shows.
    async fn tell(&mut self, running: &RunningService, keyring: Arc<Keyring>) -> Result<Exit, CommandError> {
        let url = &running.url;
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Micros(u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX));
        let events = usize::try_from(self.arguments.events).unwrap_or(usize::MAX);
        // A long hour takes its time, in which an interruption is heard.
        let hour = tokio::task::spawn_blocking(move || recorded_hour(events, now)).await;
        let hour = hour.map_err(|_| self.ended_early())?.ok_or(QuickstartFailure::Recording)?;
        let fed = self.feed(url, &hour, now).await?;
        let report = self.verify(keyring).await?;
        let exit = if report.verdict() == Verdict::Alone { Exit::Done } else { Exit::Invalid };
        // On a terminal, and nowhere that keeps it.
        let sign_in = match self.output.is_terminal() && !self.global.json && !self.arguments.exit {
            true => running.console.admin_link(self.folder.admin_token().path(), &self.folder.data()).await,
            false => None,
        };
        let shown = QuickstartSummary {
            folder: &self.folder,
            url,
            sign_in,
            ledger: &self.global.ledger,
            hour: &hour,
            fed: &fed,
            report: &report,
            was_taken: self.was_taken,
            is_served: !self.arguments.exit,
        };
        if self.global.json {
            self.output.json(&shown.to_json())?;
        } else {
            shown.lines().into_iter().try_for_each(|line| self.output.line(line))?;
        }
        self.output.flush()?;
        Ok(exit)
    }

    /// Sends the hour through the public interface, in its order, to a ledger that is governed by the starter, and has a few calls
    /// decided after it.
    async fn feed(&self, url: &ServiceUrl, hour: &DemoHour, now: Micros) -> Result<Fed, CommandError> {
        let missed = |miss| QuickstartFailure::Missed { miss: Box::new(miss), folder: self.folder.shown() };
        let token = read_admin_token(self.folder.admin_token().path(), None).map_err(AccessError::from)?;
        let service = Connection::new(url.clone(), token);
        let mut ledger = ConnectedLedger::new(service, self.global.ledger.clone());
        ledger.begin().await.map_err(|error| match error.is_unauthorized() {
            true => QuickstartFailure::NoAdmin(self.folder.shown()),
            false => missed(Miss::Client(error)),
        })?;
        let began = Instant::now();
        let mut access = Access::Service(ledger.connection());
        let mut delivery = Delivery::new(&access, &self.global.ledger, None).with_retries(MAX_RETRIES);
        let bar = EventBar::new("feeding", hour.events.len() as u64);
        let before = access.stored_bytes(&self.global.ledger).await.unwrap_or_default();
        let mut json_bytes = 0;
        for events in hour.events.chunks(BATCH_EVENTS) {
            let mut body = Vec::new();
            events.iter().for_each(|event| write_event_line(event, &mut body));
            json_bytes += body.len() as u64;
            delivery.deliver(BodyForm::Ndjson, &Bytes::from(body)).await.map_err(missed)?;
            bar.advance(events.len() as u64);
        }
        let stored = access.stored_bytes(&self.global.ledger).await;
        let stored_bytes = stored.and_then(|stored| stored.checked_sub(before));
        let elapsed = began.elapsed();
        let unanswered = |error| missed(Miss::Client(error));
        let decided = ledger.count().await.map_err(unanswered)?;
        let agent = || -> Result<DemoAgent, QuickstartFailure> {
            let token = generate_token().map_err(QuickstartFailure::Random)?;
            Ok(DemoAgent { hash: token_hash(&token), token })
        };
        let act = Act { url, agents: [agent()?, agent()?, agent()?], now };
        let played = act.play(&mut ledger).await.map_err(unanswered)?;
        let head = ledger.head().await.map_err(unanswered)?;
        Ok(Fed { head, json_bytes, stored_bytes, elapsed, decided, played })
    }

    /// Verifies with the verifier that everybody has, on a blocking thread.
    async fn verify(&self, keyring: Arc<Keyring>) -> Result<Report, CommandError> {
        let folder = self.folder.data().join("ledgers").join(self.global.ledger.as_str());
        let name = self.global.ledger.clone();
        let verified = tokio::task::spawn_blocking(move || {
            let bar = ByteBar::new("verifying");
            let options = VerifyOptions {
                every_signature: true,
                keyring: Some(&keyring),
                name: Some(name.as_str()),
                progress: Some(&bar),
                ..VerifyOptions::default()
            };
            verify_ledger(&folder, &options)
        });
        Ok(verified.await.map_err(|_| self.ended_early())?)
    }

    fn ended_early(&self) -> QuickstartFailure {
        QuickstartFailure::Ended(self.folder.shown())
    }
}
