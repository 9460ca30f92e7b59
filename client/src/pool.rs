//! A pool of connections: as many as concurrent requests, some kept for the next ones.

use std::sync::{Arc, Mutex, PoisonError};

use crate::connection::{Connection, Connector};
use crate::ledger_doubt::LedgerDoubt;
use crate::limits::MAX_IDLE_CONNECTIONS;
use crate::service_url::ServiceUrl;
use crate::token::Token;

pub(crate) struct Pool {
    first: Connection,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    pub(crate) fn new(url: ServiceUrl, token: Option<Token>) -> Self {
        Self { first: Connection::new(url, token), idle: Mutex::default() }
    }

    pub(crate) fn within(service: Arc<dyn Connector>) -> Self {
        Self { first: Connection::within(service), idle: Mutex::default() }
    }

    /// Returns the doubt that the answers of all its connections share.
    pub(crate) fn doubt(&self) -> &LedgerDoubt {
        self.first.doubt()
    }

    /// Takes a connection that nobody else uses; it is made with its first request.
    pub(crate) fn take(&self) -> Connection {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop().unwrap_or_else(|| self.first.another())
    }

    /// Gives a connection back whose answer was read completely.
    pub(crate) fn put_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE_CONNECTIONS {
            idle.push(connection);
        }
    }
}
