//! A session between one client and one server.
//!
//! One task reads the client, one reads the server, and each call of a tool has a task of its own. A call is *held* until the gate
//! lets it go, and *running* from then on. It changes from the one to the other in one place, under the lock of the requests in
//! flight, so a cancelled call never reaches the server.

mod calls;
mod client_side;
mod in_flight;
mod listing;
mod server_side;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt, BufReader};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio::time::{sleep, timeout};

use self::in_flight::InFlight;
use crate::definitions::Definitions;
use crate::error::McpError;
use crate::gate::{Gate, note};
use crate::limits::{END_PATIENCE, MAX_CALLS_IN_FLIGHT, MAX_REQUESTS_IN_FLIGHT, SERVER_END_PATIENCE};
use crate::upstream::{Upstream, UpstreamAddress};

/// The most tasks of a session at once.
const MAX_TASKS: u32 = 2_048;
/// Random bytes of the names that a session gives.
const RANDOM_BYTES: usize = 12;
/// The pause between two looks at what still runs when a session ends.
const END_PAUSE: Duration = Duration::from_millis(20);

/// An event of a server.
#[derive(Debug)]
pub(crate) enum UpstreamEvent {
    /// A line.
    Message(Vec<u8>),
    /// A message that is too long for anybody.
    TooLong,
    /// A message of the client got no answer, for this reason. The request's id is written as JSON.
    Failed { id: Option<crate::frame::Id>, why: String },
    /// Nothing comes any more.
    Ended(String),
}

/// A session.
pub(crate) struct Proxy {
    gate: Gate,
    upstream: Upstream,
    client: Mutex<Box<dyn AsyncWrite + Send + Unpin>>,
    in_flight: InFlight,
    definitions: Definitions,
    /// A text that nobody else's ids begin with.
    prefix: String,
    next: AtomicU64,
    /// Each task has a permit, so that the end of the session waits for all.
    tasks: Arc<Semaphore>,
}

/// Returns a new name of a session.
///
/// # Errors
/// The system has no random bytes.
pub fn new_session() -> Result<String, McpError> {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(|_| McpError::Random)?;
    Ok(format!("mcp-{}", hex::encode(random)))
}

/// Runs a session between this process's standard streams and a server, until one of them ends it.
///
/// # Errors
/// The server cannot be started or reached, or ended the session.
pub async fn run_proxy(gate: Gate, address: UpstreamAddress) -> Result<(), McpError> {
    let (upstream, events) = Upstream::open(address)?;
    let proxy = Arc::new(Proxy {
        prefix: new_session()?,
        in_flight: InFlight::new(MAX_REQUESTS_IN_FLIGHT, MAX_CALLS_IN_FLIGHT),
        client: Mutex::new(Box::new(tokio::io::stdout())),
        tasks: Arc::new(Semaphore::new(usize::try_from(MAX_TASKS).unwrap_or(usize::MAX))),
        definitions: Definitions::default(),
        next: AtomicU64::new(1),
        upstream,
        gate,
    });
    proxy.run(events).await
}

impl Proxy {
    async fn run(self: Arc<Self>, events: mpsc::Receiver<UpstreamEvent>) -> Result<(), McpError> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut server = tokio::spawn(Arc::clone(&self).read_server(events));
        let ended = tokio::select! {
            read = Arc::clone(&self).read_client(BufReader::new(tokio::io::stdin())) => {
                self.let_calls_end().await;
                read.map_err(McpError::Client)
            }
            ended = &mut server => {
                Err(McpError::ServerEnded(ended.unwrap_or_else(|error| error.to_string())))
            }
            _ = terminate.recv() => Ok(()),
            _ = interrupt.recv() => Ok(()),
        };
        server.abort();
        let why = match &ended {
            Err(McpError::ServerEnded(why)) => why,
            _ => "the session ended",
        };
        self.end_all(why).await;
        self.upstream.end().await;
        let all = timeout(SERVER_END_PATIENCE, self.tasks.acquire_many(MAX_TASKS)).await;
        if all.is_err() {
            note("some outcomes are not recorded; the service is slow or hangs");
        }
        ended
    }

    /// Gives calls that were asked for before the client left a short time to end.
    async fn let_calls_end(&self) {
        let _over = timeout(END_PATIENCE, async {
            while !self.in_flight.is_empty() {
                sleep(END_PAUSE).await;
            }
        })
        .await;
    }

    /// Runs a task that the end of the session waits for.
    async fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        let Ok(permit) = Arc::clone(&self.tasks).acquire_owned().await else { return };
        tokio::spawn(async move {
            task.await;
            drop(permit);
        });
    }

    /// Returns a text that nobody else uses as an id.
    fn new_id(&self) -> String {
        format!("{}-{}", self.prefix, self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Writes a message to the client. A client that is gone is noticed by its reader.
    async fn to_client(&self, message: &str) {
        let mut client = self.client.lock().await;
        let written = client.write_all(format!("{message}\n").as_bytes()).await;
        let _gone = match written {
            Ok(()) => client.flush().await,
            failed => failed,
        };
    }
}
