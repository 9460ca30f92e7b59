//! Drives other stores with the events and the clients of `bitacora bench`, and prints one table.
//!
//! `tests/peers/run` installs what is missing, measures Bitacora and then starts this. Each store is started here with a fresh folder and
//! a port of its own. It must acknowledge only synced events, and is ended by its id.

mod closed_loop;
mod daemon;
mod events;
mod nats;
mod postgresql;
mod redis;
mod results;
mod sqlite;
mod table;
mod umadb;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;

use crate::closed_loop::{LoadShape, Loop};
use crate::results::{Peer, Results};

/// The error of a measurement. It ends that measurement alone, and is told in the table.
pub type PeerError = Box<dyn Error + Send + Sync>;

/// The shapes that every store is driven with.
const SHAPES: [LoadShape; 2] = [LoadShape { clients: 64, events: 1 }, LoadShape { clients: 16, events: 100 }];
/// Every fourth part of a measurement's time is warm-up before it.
const WARM_UP_SHARE: u32 = 4;

#[derive(Debug, Parser)]
#[command(about = "Measures other stores beside Bitacora")]
struct PeerArguments {
    /// A folder to make on the disk to be measured; removed at the end.
    #[arg(long, default_value = "peers-measured")]
    folder: PathBuf,
    /// Length of each measurement, in seconds.
    #[arg(long, default_value_t = 4)]
    seconds: u32,
    /// Results of `bitacora bench --json` in the same shapes.
    #[arg(long)]
    bitacora: Option<PathBuf>,
    /// File to which the results are written as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Measure nothing; make the table of results written before.
    #[arg(long, conflicts_with_all = ["folder", "seconds", "json"])]
    from: Option<PathBuf>,
    /// Measure these alone: postgresql-insert, postgresql-copy, sqlite, redis, nats-always, nats-default, umadb.
    #[arg(long)]
    only: Vec<String>,
}

fn main() -> Result<(), PeerError> {
    let arguments = PeerArguments::parse();
    let results = match &arguments.from {
        Some(file) => serde_json::from_slice(&fs::read(file)?)?,
        None => measure(&arguments)?,
    };
    if let Some(file) = &arguments.json {
        fs::write(file, serde_json::to_vec(&results)?)?;
    }
    let bitacora = match &arguments.bitacora {
        Some(file) => table::of_bitacora(&serde_json::from_slice(&fs::read(file)?)?),
        None => Vec::new(),
    };
    for line in table::lines(&bitacora, &results) {
        println!("{line}");
    }
    Ok(())
}

/// One store in one setting.
type Measure = fn(&Path, &Loop) -> Result<Peer, PeerError>;

const PEERS: [(&str, Measure); 7] = [
    ("postgresql-insert", postgresql::insert),
    ("postgresql-copy", postgresql::copy),
    ("sqlite", sqlite::measure),
    ("redis", redis::measure),
    ("nats-always", nats::sync_always),
    ("nats-default", nats::sync_default),
    ("umadb", umadb::measure),
];

fn measure(arguments: &PeerArguments) -> Result<Results, PeerError> {
    fs::create_dir(&arguments.folder).map_err(|error| {
        format!("{}: {error}; name a folder that can be made", arguments.folder.display())
    })?;
    let folder = Scratch(arguments.folder.canonicalize()?);
    let measured = Duration::from_secs(arguments.seconds.into());
    let closed_loop = Loop { warm_up: measured / WARM_UP_SHARE, measured };
    let mut peers = Vec::new();
    for (name, measure) in PEERS {
        if !arguments.only.is_empty() && !arguments.only.iter().any(|only| only == name) {
            continue;
        }
        eprintln!("{name} …");
        let place = folder.0.join(name);
        fs::create_dir(&place)?;
        let peer = measure(&place, &closed_loop);
        peers.push(peer.unwrap_or_else(|failure| Peer::failed(name, &failure)));
        fs::remove_dir_all(&place)?;
    }
    Ok(Results { measured_s: arguments.seconds, peers })
}

/// Removed with all it holds when this goes.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("{}: {error}; it is left behind", self.0.display());
        }
    }
}
