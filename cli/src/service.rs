//! What is asked of a service, whichever it is: the one at `--url`, or, where none is named, one within this process for the
//! ledger in the folder, which nobody else may have open meanwhile.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bitacora_formats::LedgerName;
use bitacora_ledger::Environment;
use bitacora_server::answers::{ActAnswer, HeadAnswer};
use bitacora_server::{CloseFailures, InProcess, LedgersConfig};
use hyper::Method;
use hyper::body::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::runtime::Runtime;

use crate::access::{AccessError, before_opening, event_loop};
use crate::anchor::AnchorTrust;
use crate::arguments::{Global, UsageError};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::{Output, printable};
use crate::percent::percent_encoded;
use crate::within::Within;
use bitacora_client::{ClientError, Connection};

/// How long a read model is waited for that is being folded.
pub(crate) const FOLD_PATIENCE: Duration = Duration::from_secs(600);
/// How long before it is asked again.
pub(crate) const FOLD_PAUSE: Duration = Duration::from_millis(200);

/// A service and the ledger that it is asked about.
pub(crate) struct Service {
    client: Connection,
    ledger: LedgerName,
    /// The position that answers have to rest on.
    at_least: Option<String>,
    within: Option<Arc<InProcess>>,
    runtime: Runtime,
}

/// What the service answered: JSON of one line.
pub(crate) struct Answer(Bytes);

/// Why there is no answer, or no clean end after it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServiceFailure {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(
        "the service's answer is not what a bitacora service says; check the address, and that both are of one version"
    )]
    Strange,
    #[error(transparent)]
    Close(#[from] CloseFailures),
}

impl ServiceFailure {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Client(error) => error.into(),
            Self::Strange | Self::Close(_) => Exit::Failed,
        }
    }
}

/// Does what needs a service, and ends it.
pub(crate) fn with_service<T>(
    global: &Global,
    work: impl FnOnce(&mut Service) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    work_with(Service::open(global, false)?, work)
}

/// The same of what asks read models: they are folded up to where the ledger stands before they are asked.
pub(crate) fn with_read_models<T>(
    global: &Global,
    work: impl FnOnce(&mut Service) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let mut service = Service::open(global, true)?;
    let head = service.get("head").and_then(|head| head.read::<HeadAnswer>());
    service.at_least = head.ok().map(|head| head.position);
    work_with(service, work)
}

fn work_with<T>(
    mut service: Service,
    work: impl FnOnce(&mut Service) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let done = work(&mut service);
    let ended = service.end();
    let done = done?;
    ended.map_err(ServiceFailure::from)?;
    Ok(done)
}

impl Service {
    fn open(global: &Global, read_models: bool) -> Result<Self, AccessError> {
        let ledger = global.ledger.clone();
        let runtime = event_loop()?;
        if let Some(url) = &global.url {
            let client = global.client(url)?;
            return Ok(Self { client, ledger, at_least: None, within: None, runtime });
        }
        let config = folder(global, read_models)?;
        let within = Arc::new(runtime.block_on(InProcess::open(config, ledger.clone()))?);
        let client = Connection::within(Arc::new(Within(Arc::clone(&within))));
        Ok(Self { client, ledger, at_least: None, within: Some(within), runtime })
    }

    /// Has the answers from here on rest on all that stands in the ledger now.
    pub(crate) fn wait_for_now(&mut self) -> Result<(), ServiceFailure> {
        self.at_least = None;
        let head: HeadAnswer = self.get("head")?.read()?;
        self.at_least = Some(head.position);
        Ok(())
    }

    /// The position that answers rest on.
    pub(crate) fn at_least(&self) -> Option<&str> {
        self.at_least.as_deref()
    }

    /// Whether it runs in this process, for a folder.
    pub(crate) fn is_within(&self) -> bool {
        self.within.is_some()
    }

    /// Gets what lies under the ledger: `mode`, `tools?after=1`.
    pub(crate) fn get(&mut self, path: &str) -> Result<Answer, ServiceFailure> {
        self.exchange(&Method::GET, path, None)
    }

    pub(crate) fn post(&mut self, path: &str, json: Option<String>) -> Result<Answer, ServiceFailure> {
        self.exchange(&Method::POST, path, json)
    }

    pub(crate) fn put(&mut self, path: &str, json: String) -> Result<Answer, ServiceFailure> {
        self.exchange(&Method::PUT, path, Some(json))
    }

    pub(crate) fn delete(&mut self, path: &str, json: Option<String>) -> Result<Answer, ServiceFailure> {
        self.exchange(&Method::DELETE, path, json)
    }

    fn exchange(
        &mut self,
        method: &Method,
        path: &str,
        json: Option<String>,
    ) -> Result<Answer, ServiceFailure> {
        let path = format!("/v1/ledgers/{}/{path}", self.ledger);
        self.exchange_at(method, &path, &json.map(Bytes::from))
    }

    /// Gets what lies under no ledger: `projections`.
    pub(crate) fn get_of_all(&mut self, path: &str) -> Result<Answer, ServiceFailure> {
        self.exchange_at(&Method::GET, &format!("/v1/{path}"), &None)
    }

    fn exchange_at(
        &mut self,
        method: &Method,
        path: &str,
        json: &Option<Bytes>,
    ) -> Result<Answer, ServiceFailure> {
        let end = Instant::now() + FOLD_PATIENCE;
        let answer = loop {
            let at_least = self.at_least.as_deref();
            let asked = self.client.exchange(method, path, json.clone(), at_least);
            match self.runtime.block_on(asked) {
                // It is being folded from the log, which takes as long as it takes.
                Err(error) if error.is_behind() && Instant::now() < end => thread::sleep(FOLD_PAUSE),
                answer => break answer?,
            }
        };
        serde_json::from_slice::<IgnoredAny>(&answer).map_err(|_| ServiceFailure::Strange)?;
        Ok(Answer(answer))
    }

    fn end(self) -> Result<(), CloseFailures> {
        let Self { client, within, runtime, .. } = self;
        drop(client);
        within.map_or(Ok(()), |within| runtime.block_on(within.close()))
    }
}

/// How the ledger in the folder is opened: as by `append`.
fn folder(global: &Global, read_models: bool) -> Result<LedgersConfig, AccessError> {
    let data = global.data.as_deref().ok_or(UsageError::Ledger)?;
    let (environment, keyring): (Environment, _) = before_opening(global, data)?;
    let trust = AnchorTrust { required: false, is_new: global.new_anchor };
    let options = global.anchor()?.options(&environment, trust)?;
    let keyring = Arc::new(keyring);
    Ok(LedgersConfig { data: data.to_owned(), keyring, environment, options, read_models })
}

impl Answer {
    /// What it says.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, ServiceFailure> {
        serde_json::from_slice(&self.0).map_err(|_| ServiceFailure::Strange)
    }

    /// Shows that an act was recorded, and where.
    pub(crate) fn write_act(&self, global: &Global, output: &mut Output) -> Result<(), CommandError> {
        if global.json {
            return Ok(output.json_text(self.text())?);
        }
        let act: ActAnswer = self.read()?;
        Ok(output.line(format_args!("recorded at position {}", printable(&act.position)))?)
    }

    /// As it came.
    pub(crate) fn text(&self) -> &str {
        // What is JSON is UTF-8.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// A path with parameters, of which those without a value are left out.
pub(crate) fn with_query(path: &str, parameters: &[(&str, Option<&str>)]) -> String {
    let mut whole = path.to_owned();
    let given = parameters.iter().filter_map(|(name, value)| Some((name, (*value)?)));
    for (index, (name, value)) in given.enumerate() {
        whole.push(if index == 0 { '?' } else { '&' });
        whole.push_str(&format!("{name}={}", percent_encoded(value)));
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_encoded_and_those_without_a_value_left_out() {
        assert_eq!(with_query("trust", &[("tool", None)]), "trust");
        let parameters = [("tool", Some("a&b")), ("context", None), ("limit", Some("3"))];
        assert_eq!(with_query("trust", &parameters), "trust?tool=a%26b&limit=3");
    }
}
