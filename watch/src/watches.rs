//! The watches over all connections of one user. Connections that come, change or go are noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use bitacora_connect::{Connection, Places};

use crate::error::WatchError;
use crate::limits::RELOAD_EVERY;
use crate::report::WatchReport;
use crate::watcher::Watcher;

/// The file that a watcher was made of: the time of its writing, and its inode.
type Stamp = (SystemTime, u64);
/// A look-up of an environment variable.
type Variable = fn(&str) -> Option<String>;

/// The watches over connections.
pub struct Watches {
    places: Places,
    home: PathBuf,
    variable: Variable,
    grace: Duration,
    /// The one connection that is watched; `None`: all.
    only: Option<PathBuf>,
    watchers: BTreeMap<PathBuf, (Stamp, Watcher)>,
    /// Connections that cannot be used, as they were told.
    unusable: BTreeSet<(PathBuf, Stamp)>,
    reloaded: Option<Instant>,
}

impl Watches {
    /// Returns the watches over the connections of a user, or over one of them.
    #[must_use]
    pub fn new(
        places: Places,
        home: PathBuf,
        variable: Variable,
        grace: Duration,
        only: Option<PathBuf>,
    ) -> Self {
        Self {
            places,
            home,
            variable,
            grace,
            only,
            watchers: BTreeMap::new(),
            unusable: BTreeSet::new(),
            reloaded: None,
        }
    }

    /// Looks once at every connection.
    pub async fn look(&mut self) -> Vec<WatchReport> {
        let mut told = Vec::new();
        if self.reloaded.is_none_or(|reloaded| reloaded.elapsed() >= RELOAD_EVERY) {
            self.reloaded = Some(Instant::now());
            self.reload(&mut told);
        }
        for (_, watcher) in self.watchers.values_mut() {
            told.extend(watcher.look().await);
        }
        told
    }

    /// Returns `true` if no connection is watched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.watchers.is_empty()
    }

    /// Returns `true` if nothing waits that another look could decide.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.watchers.values().all(|(_, watcher)| watcher.is_settled())
    }

    /// Returns `true` if a connection cannot be watched now.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        !self.unusable.is_empty()
            || self.watchers.values().any(|(_, watcher)| watcher.status().failure.is_some())
    }

    /// Saves how far the transcripts are decided.
    ///
    /// # Errors
    /// A file cannot be written; the others are.
    pub fn save(&mut self) -> Result<(), WatchError> {
        let mut saved = Ok(());
        for (_, watcher) in self.watchers.values_mut() {
            saved = saved.and(watcher.save());
        }
        saved
    }

    fn reload(&mut self, told: &mut Vec<WatchReport>) {
        let files = match &self.only {
            Some(file) => vec![file.clone()],
            None => self.places.all_connections().unwrap_or_default(),
        };
        self.watchers.retain(|file, _| files.contains(file));
        for file in files {
            let Some(stamp) = stamp_of(&file) else {
                self.watchers.remove(&file);
                continue;
            };
            let is_known = self.watchers.get(&file).is_some_and(|(known, _)| *known == stamp);
            if is_known || self.unusable.contains(&(file.clone(), stamp)) {
                continue;
            }
            self.unusable.retain(|(unusable, _)| *unusable != file);
            match self.watcher_of(&file, stamp.0) {
                Ok(watcher) => {
                    self.watchers.insert(file, (stamp, watcher));
                }
                Err(error) => {
                    let connection = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                    told.push(WatchReport::Failed { connection, why: error.to_string() });
                    self.watchers.remove(&file);
                    self.unusable.insert((file, stamp));
                }
            }
        }
    }

    fn watcher_of(&self, file: &std::path::Path, written: SystemTime) -> Result<Watcher, WatchError> {
        let connection = Connection::load(file)?;
        Watcher::new(connection, written, self.grace, &self.home, self.variable)
    }
}

fn stamp_of(file: &std::path::Path) -> Option<Stamp> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.ino()))
}
