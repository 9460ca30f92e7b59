//! A client for commands: of the service at `--url`, or of one within this process for a folder.
//!
//! Without a URL, the service runs in this process for the ledger in the folder, which no other service may have
//! meanwhile. The folder is first opened for queries, which change nothing in the ledger and leave its anchor where it
//! is. It is opened for writing with the first act.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bitacora_api::HeadAnswer;
use bitacora_formats::LedgerName;
use bitacora_ledger::Environment;
use bitacora_server::{CloseFailures, InProcess, LedgersConfig};
use hyper::Method;
use hyper::body::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;
use tokio::runtime::Runtime;

use crate::error::CommandFailure;
use crate::exit::Exit;
use crate::ledger_access::access::{AccessError, before_opening, event_loop};
use crate::ledger_access::in_process::Connections;
use crate::ledger_access::token_advice::token_advice;
use crate::options::global::{Global, LedgerLocation};
use bitacora_client::{ClientError, Connection, LedgerDoubt};

/// The timeout for a read model that is being folded.
pub const FOLD_PATIENCE: Duration = Duration::from_secs(600);
/// The pause before it is asked again.
pub const FOLD_PAUSE: Duration = Duration::from_millis(200);

/// A service and the ledger that it is asked about.
pub struct ServiceClient {
    way: ServiceRoute,
    ledger: LedgerName,
    /// The position that answers have to rest on.
    at_least: Option<String>,
    /// Set while that position is still unknown: it is the ledger's head at the first answer.
    rests_on_now: bool,
    /// Set when an agent asks, and no token is named for it.
    lacks_agents_token: bool,
    runtime: Runtime,
}

/// The connection to the service, or the service of the folder.
enum ServiceRoute {
    Address(Connection),
    Folder { config: Box<LedgersConfig>, open: Option<FolderService>, doubt: LedgerDoubt },
}

/// The caller of a service, and what it asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceUse {
    /// A person.
    Person,
    /// A person's queries to read models, which are folded up to the ledger's head first.
    ReadModels,
    /// An executor, on behalf of an agent. It uses the token that is named, never the admin token beside the keyring.
    Agent,
}

/// The purpose for which a ledger is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Purpose {
    Questions,
    Acts,
}

/// An answer of the service: JSON of one line.
pub struct ServiceAnswer(Bytes);

/// The reason why there is no answer, or no clean end after it.
#[derive(Debug, thiserror::Error)]
pub enum ServiceFailure {
    /// The service refuses, or does not answer.
    #[error("{0}{advice}", advice = token_advice(.0))]
    Client(#[from] ClientError),
    /// The service refuses a request without an agent's token.
    #[error(
        "{0}; agents never use the admin token: `bitacora token create --role agent --agent NAME > NAME.token` makes one, to be named with --token-file or in BITACORA_TOKEN"
    )]
    NoAgentsToken(#[source] ClientError),
    /// The service's answer is not one of this interface.
    #[error(
        "the service's answer is not what a bitacora service says; check the address, and that both are of one version"
    )]
    Strange,
    /// The ledger cannot be reached.
    #[error(transparent)]
    Open(#[from] AccessError),
    /// A request cannot be written.
    #[error("a request cannot be written as JSON: {0}; nothing was sent")]
    Request(serde_json::Error),
    /// A named thing does not exist.
    #[error("{0}")]
    NotThere(String),
    /// The ledger in the folder cannot be closed.
    #[error(transparent)]
    Close(#[from] CloseFailures),
}

impl CommandFailure for ServiceFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Client(error) | Self::NoAgentsToken(error) => error.into(),
            Self::Open(error) => error.exit(),
            Self::Strange | Self::Request(_) | Self::NotThere(_) | Self::Close(_) => Exit::Failed,
        }
    }
}

impl ServiceClient {
    /// Opens the service or the folder that the command line names.
    pub fn open(global: &Global, purpose: ServiceUse) -> Result<Self, AccessError> {
        let ledger = global.ledger.clone();
        let runtime = event_loop()?;
        let mut lacks_agents_token = false;
        let reads_models = purpose == ServiceUse::ReadModels;
        let way = match (global.place(), purpose) {
            (LedgerLocation::Service(url), ServiceUse::Agent) => {
                let token = global.agents_token()?;
                lacks_agents_token = token.is_none();
                ServiceRoute::Address(Connection::new(url, token).noting(&global.doubt))
            }
            (LedgerLocation::Service(url), _) => ServiceRoute::Address(global.client(&url)?),
            (LedgerLocation::Folder(data), _) => {
                let config = Box::new(folder(global, data, reads_models)?);
                ServiceRoute::Folder { config, open: None, doubt: global.doubt.clone() }
            }
        };
        Ok(Self { way, ledger, at_least: None, rests_on_now: reads_models, lacks_agents_token, runtime })
    }

    /// Opens the ledger for this purpose, if it is not yet.
    fn open_for(&mut self, purpose: Purpose) -> Result<(), ServiceFailure> {
        self.way.client(purpose, &self.ledger, &self.runtime)?;
        Ok(())
    }

    /// Has later answers rest on everything that is in the ledger now.
    pub fn wait_for_now(&mut self) -> Result<(), ServiceFailure> {
        (self.at_least, self.rests_on_now) = (None, false);
        let head: HeadAnswer = self.get("head")?.read()?;
        self.at_least = Some(head.position);
        Ok(())
    }

    /// Gets the position that answers have to rest on, if it is still unknown. Nothing is waited for if the service does not name it.
    fn settle_position(&mut self) -> Result<(), ServiceFailure> {
        if !std::mem::take(&mut self.rests_on_now) {
            return Ok(());
        }
        let path = format!("/v1/ledgers/{}/head", self.ledger);
        match self.ask(&Method::GET, &path, &None) {
            Err(failure @ ServiceFailure::Open(_)) => return Err(failure),
            head => {
                self.at_least =
                    head.and_then(|head| head.read::<HeadAnswer>()).ok().map(|head| head.position);
            }
        }
        Ok(())
    }

    /// Returns the position that answers rest on, once one was asked for.
    pub fn at_least(&self) -> Option<&str> {
        self.at_least.as_deref()
    }

    /// Returns `true` if the service runs in this process, for a folder.
    pub fn is_within(&self) -> bool {
        matches!(self.way, ServiceRoute::Folder { .. })
    }

    /// Gets a resource under the ledger: `mode`, `tools?after=1`.
    pub fn get(&mut self, path: &str) -> Result<ServiceAnswer, ServiceFailure> {
        self.exchange(&Method::GET, path, None)
    }

    /// Sends a query that needs a body; it changes nothing.
    pub fn ask_with(&mut self, path: &str, json: Option<String>) -> Result<ServiceAnswer, ServiceFailure> {
        self.open_for(Purpose::Questions)?;
        self.exchange_opened(&Method::POST, path, json)
    }

    /// Sends a request of this method.
    pub fn exchange(
        &mut self,
        method: &Method,
        path: &str,
        json: Option<String>,
    ) -> Result<ServiceAnswer, ServiceFailure> {
        self.open_for(if *method == Method::GET { Purpose::Questions } else { Purpose::Acts })?;
        self.exchange_opened(method, path, json)
    }

    fn exchange_opened(
        &mut self,
        method: &Method,
        path: &str,
        json: Option<String>,
    ) -> Result<ServiceAnswer, ServiceFailure> {
        self.settle_position()?;
        let path = format!("/v1/ledgers/{}/{path}", self.ledger);
        self.ask(method, &path, &json.map(Bytes::from))
    }

    /// Gets a file under the ledger, of at most so many bytes.
    pub fn file(&mut self, path: &str, most: usize) -> Result<Vec<u8>, ServiceFailure> {
        let path = format!("/v1/ledgers/{}/{path}", self.ledger);
        let client = self.way.client(Purpose::Questions, &self.ledger, &self.runtime)?;
        self.runtime.block_on(async {
            let mut pieces = client.get(&path, "*/*").await?;
            let mut file = Vec::new();
            while let Some(piece) = pieces.next().await? {
                if file.len() + piece.len() > most {
                    return Err(ServiceFailure::Strange);
                }
                file.extend_from_slice(&piece);
            }
            Ok(file)
        })
    }

    /// Gets a resource that is under no ledger: `projections`.
    pub fn get_of_all(&mut self, path: &str) -> Result<ServiceAnswer, ServiceFailure> {
        self.settle_position()?;
        self.ask(&Method::GET, &format!("/v1/{path}"), &None)
    }

    /// Returns a gauge of the ledger, where the caller may see it.
    pub fn gauge(&mut self, name: &str) -> Option<f64> {
        let client = self.way.client(Purpose::Questions, &self.ledger, &self.runtime).ok()?;
        let metrics = async { client.get("/metrics", "*/*").await.ok()?.whole().await.ok() };
        let metrics = self.runtime.block_on(metrics)?;
        let name = format!("{name}{{ledger=\"{}\"}} ", self.ledger);
        let metrics = std::str::from_utf8(&metrics).ok()?;
        metrics.lines().find_map(|line| line.strip_prefix(&name))?.parse().ok()
    }

    fn ask(
        &mut self,
        method: &Method,
        path: &str,
        json: &Option<Bytes>,
    ) -> Result<ServiceAnswer, ServiceFailure> {
        let end = Instant::now() + FOLD_PATIENCE;
        let answer = loop {
            let at_least = self.at_least.as_deref();
            // It is open for as much as is asked of it already.
            let client = self.way.client(Purpose::Questions, &self.ledger, &self.runtime)?;
            let asked = client.exchange(method, path, json.clone(), at_least);
            match self.runtime.block_on(asked) {
                // It is being folded from the log, which takes as long as it takes.
                Err(error) if error.is_behind() && Instant::now() < end => thread::sleep(FOLD_PAUSE),
                Err(error) if self.lacks_agents_token && error.is_unauthorized() => {
                    return Err(ServiceFailure::NoAgentsToken(error));
                }
                answer => break answer?,
            }
        };
        serde_json::from_slice::<IgnoredAny>(&answer).map_err(|_| ServiceFailure::Strange)?;
        Ok(ServiceAnswer(answer))
    }

    /// Ends the service; a folder is closed.
    pub fn end(self) -> Result<(), ServiceFailure> {
        match self.way {
            ServiceRoute::Folder { open: Some(within), .. } => within.close(&self.runtime),
            ServiceRoute::Folder { open: None, .. } | ServiceRoute::Address(_) => Ok(()),
        }
    }
}

impl ServiceRoute {
    /// Returns the connection to the service. A folder that was opened for queries alone is closed, and opened again for the first act.
    fn client(
        &mut self,
        purpose: Purpose,
        ledger: &LedgerName,
        runtime: &Runtime,
    ) -> Result<&mut Connection, ServiceFailure> {
        let (config, open, doubt) = match self {
            Self::Address(client) => return Ok(client),
            Self::Folder { config, open, doubt } => (config, open, &*doubt),
        };
        if let Some(within) = open.take_if(|within| within.purpose < purpose) {
            within.close(runtime)?;
        }
        let within = match open.take() {
            Some(within) => within,
            None => FolderService::open(config, ledger, (purpose, doubt), runtime)?,
        };
        Ok(&mut open.insert(within).client)
    }
}

/// An open service of this process.
struct FolderService {
    client: Connection,
    service: Arc<InProcess>,
    purpose: Purpose,
}

impl FolderService {
    fn open(
        config: &LedgersConfig,
        ledger: &LedgerName,
        (purpose, doubt): (Purpose, &LedgerDoubt),
        runtime: &Runtime,
    ) -> Result<Self, AccessError> {
        let (mut config, ledger) = (config.clone(), ledger.clone());
        // Questions change nothing: they go on without an anchor, and the log says that nothing was compared.
        if let Some(heads) = config.options.heads.as_mut().filter(|_| purpose == Purpose::Questions) {
            heads.anchor_required = false;
        }
        let service = Arc::new(runtime.block_on(async {
            match purpose {
                Purpose::Questions => InProcess::open_to_ask(config, ledger).await,
                Purpose::Acts => InProcess::open(config, ledger).await,
            }
        })?);
        let client = Connection::within(Arc::new(Connections(Arc::clone(&service)))).noting(doubt);
        Ok(Self { client, service, purpose })
    }

    fn close(self, runtime: &Runtime) -> Result<(), ServiceFailure> {
        drop(self.client);
        Ok(runtime.block_on(self.service.close())?)
    }
}

/// Returns the settings for opening the ledger in the folder: the same as for `append`.
fn folder(global: &Global, data: &Path, read_models: bool) -> Result<LedgersConfig, AccessError> {
    let (environment, keyring): (Environment, _) = before_opening(global, data)?;
    let options = global.anchor()?.options(&environment, global.anchor_trust()?)?;
    let keyring = Arc::new(keyring);
    Ok(LedgersConfig {
        data: data.to_owned(),
        keyring,
        environment,
        options,
        read_models,
        recalls: Arc::default(),
    })
}

impl ServiceAnswer {
    /// Parses the answer.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ServiceFailure> {
        serde_json::from_slice(&self.0).map_err(|_| ServiceFailure::Strange)
    }

    /// Returns the answer as a value within another document.
    pub fn raw(&self) -> Result<&RawValue, ServiceFailure> {
        raw(self.text())
    }

    /// Returns the answer as it came.
    pub fn text(&self) -> &str {
        // JSON is UTF-8.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Returns JSON text as a value within another document.
pub fn raw(text: &str) -> Result<&RawValue, ServiceFailure> {
    serde_json::from_str(text).map_err(|_| ServiceFailure::Strange)
}
