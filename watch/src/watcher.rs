//! The watch over one connection.

mod decisions;
mod search;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use bitacora_connect::{Connection, DeliveryPlace, HookFailure, Spool, deliver_spooled, make_private_folder};
use bitacora_harness::Dialect;

use crate::error::{TranscriptFault, WatchError};
use crate::followed::{Followed, Now, Rules};
use crate::gate::Gate;
use crate::limits::{
    DELIVERIES_OF_A_LOOK, FIRST_PAUSE, IDLE_AFTER, LONGEST_PAUSE, READ_BYTES, READ_BYTES_OF_ALL, SAVE_EVERY,
};
use crate::matching::SessionRequests;
use crate::positions::{self, Positions};
use crate::report::WatchReport;
use crate::roots::{Root, at_micros};
use crate::sealed_file::StateKey;
use crate::status::{WatchStatus, write_status};

/// The watch over one connection: call [`Watcher::look`] every [`crate::POLL`].
pub struct Watcher {
    connection: Connection,
    dialect: Dialect,
    root: Option<Root>,
    rules: Rules,
    key: StateKey,
    spool: Spool,
    gate: Gate,
    positions: Positions,
    followed: BTreeMap<PathBuf, Followed>,
    /// Requests of sessions whose harness names no calls.
    sessions: HashMap<String, SessionRequests>,
    /// Faults that were told, each kind once of a transcript.
    told: HashSet<(PathBuf, &'static str)>,
    status: WatchStatus,
    searched: Option<Instant>,
    saved: Option<Instant>,
    /// The pause after a service that did not answer, and its end.
    pause: Option<(Duration, Instant)>,
    failure: Option<String>,
}

impl Watcher {
    /// Returns the watch over a connection. `since` is the time of connecting, for a connection that does not say it.
    ///
    /// # Errors
    /// The connection cannot be used.
    pub fn new(
        connection: Connection,
        since: SystemTime,
        grace: Duration,
        home: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, WatchError> {
        let token = connection.token()?;
        let dialect: Dialect = connection.harness.parse().map_err(|error| {
            let why = format!("{error}");
            bitacora_connect::ConnectionError::Unreadable { path: connection.state.clone(), why }
        })?;
        let key = StateKey::of(&token);
        make_private_folder(&connection.state)
            .map_err(|source| WatchError::State { path: connection.state.clone(), source })?;
        Ok(Self {
            root: Root::of(dialect, connection.project(), home, variable),
            rules: Rules { since: connection.connected.map_or(since, at_micros), grace },
            spool: Spool::of(&connection.state, &token),
            gate: Gate::of(&connection)?,
            positions: positions::read(&key, &connection.state),
            followed: BTreeMap::new(),
            sessions: HashMap::new(),
            told: HashSet::new(),
            status: WatchStatus::default(),
            searched: None,
            saved: None,
            pause: None,
            failure: None,
            key,
            dialect,
            connection,
        })
    }

    /// Looks once: delivers the spool, reads what transcripts have grown by, records what can be decided. A service that does
    /// not answer is asked again after a pause that grows; nothing is lost meanwhile.
    pub async fn look(&mut self) -> Vec<WatchReport> {
        let now = Now { steady: Instant::now(), wall: SystemTime::now() };
        let mut told = Vec::new();
        self.search(now, &mut told);
        self.read(now, &mut told);
        if self.pause.is_none_or(|(_, end)| now.steady >= end) {
            let recorded = self.record(now, &mut told).await;
            self.note(recorded.err().as_ref(), now, &mut told);
        }
        if self.saved.is_none_or(|saved| now.steady.duration_since(saved) >= SAVE_EVERY) {
            self.saved = Some(now.steady);
            self.let_go(now);
            if let Err(error) = self.save() {
                self.note(Some(&error), now, &mut told);
            }
        }
        told
    }

    /// Returns `true` if nothing waits that another look could decide.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.failure.is_none() && self.followed.values().all(Followed::is_settled)
    }

    /// Returns the status as it would be saved.
    #[must_use]
    pub fn status(&self) -> WatchStatus {
        let counted = |count: fn(&Followed) -> u64| self.followed.values().map(count).sum();
        WatchStatus {
            transcripts: self.followed.len(),
            settled: counted(Followed::settled),
            bytes: counted(Followed::length),
            waiting: self.followed.values().map(|followed| followed.calls.len()).sum(),
            failure: self.failure.clone(),
            ..self.status.clone()
        }
    }

    /// Saves how far the transcripts are decided, and the status.
    ///
    /// # Errors
    /// The files cannot be written; what was read since is read again after a restart.
    pub fn save(&mut self) -> Result<(), WatchError> {
        for (path, followed) in &self.followed {
            if let Some(position) = followed.position() {
                self.positions.insert(path.clone(), position);
            }
        }
        let state = &self.connection.state;
        let written = positions::write(&self.key, state, &self.positions)
            .and_then(|()| write_status(&self.key, state, &self.status()));
        written.map_err(|source| WatchError::State { path: state.clone(), source })
    }

    fn read(&mut self, now: Now, told: &mut Vec<WatchReport>) {
        let (mut left, rules) = (READ_BYTES_OF_ALL, self.rules);
        let mut faults = Vec::new();
        for followed in self.followed.values_mut() {
            if left < READ_BYTES {
                // The rest comes with the next look.
                break;
            }
            let (bytes, found) = followed.read(READ_BYTES, rules, now);
            left = left.saturating_sub(bytes);
            followed.end_answer(rules, now);
            if let Some(project) = self.connection.project() {
                followed.keep_of(project);
            }
            followed.is_faulty |= !found.is_empty();
            faults.extend(found.into_iter().map(|fault| (followed.path.clone(), fault)));
        }
        for (path, fault) in faults {
            self.tell_fault(&path, &fault, told);
        }
    }

    fn tell_fault(&mut self, path: &Path, fault: &TranscriptFault, told: &mut Vec<WatchReport>) {
        if !self.told.insert((path.to_owned(), fault.code())) {
            return;
        }
        let faulty: HashSet<&PathBuf> = self.told.iter().map(|(path, _)| path).collect();
        self.status.faulty = faulty.len();
        told.push(WatchReport::Transcript {
            connection: self.connection.name.clone(),
            path: path.display().to_string(),
            fault: fault.code(),
            why: fault.to_string(),
        });
    }

    /// Delivers and records what the service should have.
    async fn record(&mut self, now: Now, told: &mut Vec<WatchReport>) -> Result<(), WatchError> {
        let left = self.deliver(told).await?;
        self.record_answers(told).await?;
        // What waits in the spool passed the hook: it is no gap, and the service does not know it yet.
        if left == 0 {
            self.decide(now, told).await?;
        }
        Ok(())
    }

    async fn deliver(&mut self, told: &mut Vec<WatchReport>) -> Result<usize, WatchError> {
        let Gate { service, answer_key, ledger, .. } = &mut self.gate;
        let place = DeliveryPlace { ledger, answer_key: Some(answer_key) };
        let delivered = deliver_spooled(&self.spool, service, place, DELIVERIES_OF_A_LOOK).await;
        let delivered = delivered.map_err(|failure| match failure {
            HookFailure::Client(error) => WatchError::Client(error),
            HookFailure::Spool(error) => WatchError::Spool(error),
            _ => WatchError::Late,
        })?;
        let inputs = delivered.taken.saturating_add(delivered.refused);
        if inputs > 0 {
            let connection = self.connection.name.clone();
            told.push(WatchReport::Delivered { connection, inputs, refused: delivered.refused });
        }
        Ok(delivered.left)
    }

    /// Notes whether the watch can go on, and tells a change of that.
    fn note(&mut self, error: Option<&WatchError>, now: Now, told: &mut Vec<WatchReport>) {
        let connection = self.connection.name.clone();
        let Some(error) = error else {
            self.pause = None;
            if self.failure.take().is_some() {
                told.push(WatchReport::Recovered { connection });
            }
            return;
        };
        let pause = self.pause.map_or(FIRST_PAUSE, |(pause, _)| pause.saturating_mul(2).min(LONGEST_PAUSE));
        self.pause = now.steady.checked_add(pause).map(|end| (pause, end));
        let why = error.to_string();
        if self.failure.as_ref() != Some(&why) {
            self.failure = Some(why.clone());
            told.push(WatchReport::Failed { connection, why });
        }
    }

    /// Lets go of transcripts that are settled and do not grow. Their positions say where to go on.
    fn let_go(&mut self, now: Now) {
        let is_idle = |followed: &Followed| now.steady.duration_since(followed.grew) >= IDLE_AFTER;
        let gone = self.followed.iter().filter(|(_, followed)| is_idle(followed) && followed.is_done());
        let gone: Vec<_> = gone.map(|(path, followed)| (path.clone(), followed.position())).collect();
        for (path, position) in gone {
            self.followed.remove(&path);
            if let Some(position) = position {
                self.positions.insert(path, position);
            }
        }
    }
}
