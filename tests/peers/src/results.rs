//! The results of measuring the stores.

use serde::{Deserialize, Serialize};

use crate::PeerError;

#[derive(Debug, Serialize, Deserialize)]
pub struct Results {
    pub measured_s: u32,
    pub peers: Vec<Peer>,
}

/// One store in one setting.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Peer {
    pub name: String,
    /// Its version, as it says itself.
    pub version: String,
    /// The settings that matter for the store's promises.
    pub settings: String,
    /// `true` if an answer means synced.
    pub is_durable: bool,
    /// `true` if it runs in the client's process, without a network.
    pub is_in_process: bool,
    pub appends: Vec<Appends>,
    pub scan_events_per_s: Option<f64>,
    /// The reason for which it was not measured.
    pub failure: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Appends {
    pub clients: usize,
    pub events: usize,
    pub events_per_s: f64,
    pub p50_us: u32,
    pub p99_us: u32,
    pub max_us: u32,
}

impl Peer {
    pub fn failed(name: &str, failure: &PeerError) -> Self {
        let failure = failure.to_string();
        let first = failure.lines().next().unwrap_or_default().to_owned();
        Self { name: name.to_owned(), failure: Some(first), ..Self::default() }
    }

    pub fn shaped(&self, clients: usize, events: usize) -> Option<&Appends> {
        self.appends.iter().find(|found| found.clients == clients && found.events == events)
    }
}
