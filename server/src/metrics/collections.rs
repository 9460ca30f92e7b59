//! One collection of metrics at a time, and its text for all who wait for one.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bitacora_formats::LedgerName;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::limits::COLLECTION_WAIT;
use crate::problem::{Code, Problem};

/// The ledgers whose governing is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MetricsScope {
    /// Every ledger of the service.
    Service,
    /// These alone, in which the caller is known.
    Only(BTreeSet<LedgerName>),
}

impl MetricsScope {
    pub(super) fn has(&self, ledger: &LedgerName) -> bool {
        match self {
            Self::Service => true,
            Self::Only(known) => known.contains(ledger),
        }
    }
}

/// The collections of a service. They take no place of readers: metrics have to come also while those are taken.
#[derive(Debug, Default)]
pub(crate) struct Collections(Arc<Mutex<Option<Collected>>>);

/// The last collection.
#[derive(Debug)]
struct Collected {
    began: Instant,
    scope: MetricsScope,
    text: Arc<str>,
}

impl Collections {
    /// Returns the text of a collection that began after this call, by this caller or by another one who waited.
    pub(crate) async fn text(
        &self,
        scope: MetricsScope,
        collect: impl FnOnce(&MetricsScope) -> Result<String, fmt::Error> + Send + 'static,
    ) -> Result<Arc<str>, Problem> {
        let asked = Instant::now();
        let turn = tokio::time::timeout(COLLECTION_WAIT, Arc::clone(&self.0).lock_owned()).await;
        let mut turn = turn.map_err(|_| {
            let detail = "another collection of metrics has not ended; try again";
            Problem::new(Code::Overloaded, detail).with_retry_after(1)
        })?;
        if let Some(last) = turn.as_ref().filter(|last| last.began > asked && last.scope == scope) {
            return Ok(Arc::clone(&last.text));
        }
        let collected = tokio::task::spawn_blocking(move || {
            let began = Instant::now();
            let text: Arc<str> = collect(&scope)?.into();
            *turn = Some(Collected { began, scope, text: Arc::clone(&text) });
            Ok(text)
        });
        let text = collected.await.unwrap_or(Err(fmt::Error));
        text.map_err(|error| Problem::new(Code::Internal, format!("the metrics were not written: {error}")))
    }
}
