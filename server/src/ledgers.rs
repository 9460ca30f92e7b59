//! The ledgers of a data folder, by name.

pub(crate) mod anchor_list;
pub(crate) mod data_folder;
mod disk_room;
pub(crate) mod first_tokens;
pub(crate) mod readiness;
pub(crate) mod required_models;
pub(crate) mod slot;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use arc_swap::ArcSwap;
use bitacora_formats::{Keyring, LedgerName, Micros};
use bitacora_governance::StarterState;
use bitacora_ledger::{
    ArchiveTierErrorKind, CloseError, Environment, FolderLock, Ledger, OpenError, Options,
};
use bitacora_projector::{IndexOptions, IndexedLedger, RecallSlots, Scratch};
use bitacora_vocabulary::PrincipalCreated;
use tokio::sync::{Mutex, Notify};

use crate::ledgers::anchor_list::{AnchorList, AnchoredLedgers, UnlistedAnchor, missing};
use crate::ledgers::data_folder::{DataError, DataFolder};
use crate::ledgers::first_tokens::{
    FirstAdminError, FirstTokenError, FirstTokens, give_first_admin, record_admin,
};
use crate::ledgers::slot::{Slot, is_closed};
use crate::problem::{Code, Problem, SideEffects};

/// Ledgers of one process; each has threads, an open segment and maps of its own.
pub const MAX_LEDGERS: usize = 256;

/// The folder of the ledgers, and the keys and options that open them.
#[derive(Clone)]
pub struct LedgersConfig {
    /// The data folder.
    pub data: PathBuf,
    /// The keys of all its ledgers.
    pub keyring: Arc<Keyring>,
    /// Files, time and randomness.
    pub environment: Environment,
    /// The options with which each ledger is opened.
    pub options: Options,
    /// `true` if read models are kept. They lie on the machine's own disk, even if the environment has another one.
    pub read_models: bool,
    /// The read models that are folded again at once for questions about rows that left, in all ledgers.
    pub recalls: Arc<RecallSlots>,
}

/// Every ledger of the data folder, opened or with the reason why it is not.
pub(crate) struct Ledgers {
    config: LedgersConfig,
    folder: DataFolder,
    slots: ArcSwap<BTreeMap<LedgerName, Slot>>,
    /// Held while a ledger is made or opened; a look-up never waits for it.
    making: Mutex<()>,
    /// The source of first tokens, for ledgers that have none; `None` where they stay without.
    first_tokens: Option<Arc<dyn FirstTokens>>,
    /// Makers of ledgers that wait for their anchor: their first admins.
    makers: std::sync::Mutex<BTreeMap<LedgerName, PrincipalCreated>>,
    list: AnchorList,
    /// From then on nothing is opened any more.
    is_closing: AtomicBool,
    /// Told when a ledger was made that waits for its anchor.
    begun_to_wait: Notify,
    /// The folder of derived state for as long as the ledgers are asked, if not in their own folders.
    _scratch: Option<Scratch>,
    /// Held until all are closed; none where the folder is only asked and cannot be written.
    lock: std::sync::Mutex<Option<Box<dyn FolderLock>>>,
}

/// The purpose for which ledgers are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Writing,
    /// Nothing is appended or signed, and no anchor moves.
    Questions,
}

/// Ledgers that did not end cleanly. Acknowledged events are durable all the same.
#[derive(Debug, thiserror::Error)]
#[error("not every ledger closed cleanly: {}", .0.iter().map(|(name, error)| format!("{name}: {error}")).collect::<Vec<_>>().join("; "))]
pub struct CloseFailures(pub Vec<(LedgerName, CloseError)>);

impl Ledgers {
    /// Opens what lies in the data folder. One that does not open is kept as failed; the others serve. One that is not what its
    /// anchor remembers ends it. Ledgers that open later are given first tokens from here. `unlisted`: an anchor that could not say
    /// which ledgers it remembers.
    pub(crate) async fn open(
        config: LedgersConfig,
        first_tokens: Option<Arc<dyn FirstTokens>>,
        unlisted: Option<UnlistedAnchor>,
    ) -> Result<Self, DataError> {
        let opened = Self::open_those(config, Purpose::Writing, |_| true).await?;
        Ok(Self { first_tokens, list: AnchorList::new(unlisted), ..opened })
    }

    /// The same with one of them alone; the others are left as they are.
    pub(crate) async fn open_alone(config: LedgersConfig, only: LedgerName) -> Result<Self, DataError> {
        Self::open_those(config, Purpose::Writing, move |name| *name == only).await
    }

    /// Does the same for questions alone: nothing is appended or signed, and no anchor moves. Derived state lies where the service has it.
    /// In a folder that cannot be written, it is derived anew, and put away with this.
    pub(crate) async fn open_alone_to_ask(
        config: LedgersConfig,
        only: LedgerName,
    ) -> Result<Self, DataError> {
        Self::open_those(config, Purpose::Questions, move |name| *name == only).await
    }

    async fn open_those(
        config: LedgersConfig,
        purpose: Purpose,
        is_meant: impl Fn(&LedgerName) -> bool + Send + 'static,
    ) -> Result<Self, DataError> {
        blocking(move || {
            let folder = DataFolder::open_or_begin(&config.environment, &config.data)?;
            let lock = match folder.lock() {
                Err(DataError::Disk { source, .. })
                    if purpose == Purpose::Questions && is_unwritable(&source) =>
                {
                    None
                }
                lock => Some(lock?),
            };
            let scratch = lock.is_none().then(|| Scratch::make(&config.environment)).transpose();
            let scratch = scratch.map_err(|source| DataError::Disk { path: std::env::temp_dir(), source })?;
            let opens = |name: &LedgerName| match purpose {
                Purpose::Writing => open_one(&config, &folder, name),
                Purpose::Questions => open_to_ask(&config, &folder, name, scratch.as_ref()),
            };
            let mut slots = BTreeMap::new();
            let names = folder.ledger_names()?.into_iter();
            for (index, name) in names.filter(is_meant).enumerate() {
                let slot = if index < MAX_LEDGERS {
                    opens(&name)?
                } else {
                    Slot::Failed(format!(
                        "the data folder holds more than {MAX_LEDGERS} ledgers; move some to another"
                    ))
                };
                slots.insert(name, slot);
            }
            Ok(Self {
                config,
                folder,
                slots: ArcSwap::from_pointee(slots),
                making: Mutex::new(()),
                first_tokens: None,
                makers: std::sync::Mutex::default(),
                list: AnchorList::new(None),
                is_closing: AtomicBool::new(false),
                begun_to_wait: Notify::new(),
                _scratch: scratch,
                lock: std::sync::Mutex::new(lock),
            })
        })
        .await
    }

    /// The ledger of this name, ready to be used.
    pub(crate) fn ledger(&self, name: &LedgerName) -> Result<IndexedLedger, Problem> {
        match self.slots.load().get(name) {
            Some(Slot::Open(ledger)) => Ok(ledger.clone()),
            Some(Slot::Failed(why)) => {
                Err(Problem::new(Code::LedgerUnavailable, format!("ledger {name} did not open: {why}")))
            }
            Some(Slot::Waiting(why)) => {
                let detail = format!("ledger {name} opens by itself once its anchor answers: {why}");
                Err(Problem::new(Code::LedgerUnavailable, detail))
            }
            None => Err(no_such_ledger(name)),
        }
    }

    /// Returns the folder of the ledger of this name, and the environment that its files are reached through.
    pub(crate) fn place(&self, name: &LedgerName) -> (PathBuf, Environment) {
        let (folder, environment) = (self.folder.ledger(name), self.folder.environment());
        let environment = match self.slots.load().get(name) {
            Some(Slot::Open(ledger)) => ledger.environment_of(&folder, environment),
            _ => environment.clone(),
        };
        (folder, environment)
    }

    /// The keys of all of them.
    pub(crate) fn keyring(&self) -> &Arc<Keyring> {
        &self.config.keyring
    }

    /// Returns `true` if there is this ledger, open.
    pub(crate) fn is_open(&self, name: &LedgerName) -> bool {
        matches!(self.slots.load().get(name), Some(Slot::Open(_)))
    }

    /// The time of day, as ledgers see it.
    pub(crate) fn now(&self) -> Micros {
        self.config.environment.clock.now()
    }

    /// The governed time in a ledger: what the clock shows, ahead by the offset of the correction that was accepted last.
    pub(crate) fn time_in(&self, ledger: &Ledger) -> Micros {
        let clock = self.now();
        ledger.governance().map_or(clock, |governance| governance.read(|state| state.time_by(clock)))
    }

    /// All of them, as they are now.
    pub(crate) fn all(&self) -> Arc<BTreeMap<LedgerName, Slot>> {
        self.slots.load_full()
    }

    /// Open ledgers that have no tokens.
    pub(crate) fn without_tokens(&self) -> Vec<LedgerName> {
        let slots = self.slots.load();
        let open = slots.iter().filter(|(_, slot)| match slot {
            Slot::Open(ledger) => !is_closed(ledger.ledger()),
            Slot::Failed(_) | Slot::Waiting(_) => false,
        });
        open.map(|(name, _)| name.clone()).collect()
    }

    /// Tells the operator of each open ledger whose active policy is an earlier starter.
    pub(crate) fn report_outdated_starters(&self) {
        for (name, slot) in &**self.slots.load() {
            if let Slot::Open(ledger) = slot {
                report_outdated_starter(name, ledger);
            }
        }
    }

    /// Gives each open ledger that has no tokens its first admin. A ledger that takes no appends now is closed until the next start.
    ///
    /// # Errors
    /// A token that cannot be made or read, so that nobody would find it.
    pub(crate) async fn give_first_admins(self: &Arc<Self>) -> Result<(), FirstTokenError> {
        let this = Arc::clone(self);
        blocking(move || {
            for (name, slot) in &*this.slots.load_full() {
                let Slot::Open(ledger) = slot else { continue };
                match this.give_first_admin(name, ledger) {
                    Err(FirstAdminError::Token(error)) => return Err(error),
                    Err(error) => report_closed_ledger(name, &error),
                    Ok(()) => (),
                }
            }
            Ok(())
        })
        .await
    }

    /// Gives an open ledger its first admin: its maker, or the holder of the first token.
    fn give_first_admin(&self, name: &LedgerName, ledger: &IndexedLedger) -> Result<(), FirstAdminError> {
        let maker = self.makers.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        if let Some(maker) = maker {
            return Ok(record_admin(ledger.ledger(), &maker.actor(), &maker)?);
        }
        let Some(first_tokens) = &self.first_tokens else { return Ok(()) };
        give_first_admin(name, ledger.ledger(), &*self.config.environment.entropy, &**first_tokens)
    }

    /// Makes a ledger that was not there and opens it. Its maker, if known by a token, is its first admin.
    pub(crate) async fn create(
        self: &Arc<Self>,
        name: LedgerName,
        maker: Option<PrincipalCreated>,
    ) -> Result<Slot, Problem> {
        let _only_one = self.making.lock().await;
        let slots = self.slots.load();
        if slots.contains_key(&name) {
            return Err(Problem::new(
                Code::LedgerExists,
                format!("ledger {name} exists already; nothing was changed"),
            ));
        }
        if slots.len() >= MAX_LEDGERS {
            let detail =
                format!("the service has {MAX_LEDGERS} ledgers, no more are taken; start another service");
            return Err(Problem::new(Code::TooManyLedgers, detail));
        }
        drop(slots);
        let this = Arc::clone(self);
        let made = name.clone();
        let (slot, given) = blocking(move || {
            let LedgersConfig { keyring, options, .. } = &this.config;
            let folder = this.folder.ledger(&made);
            Ledger::create(this.folder.environment(), &folder, &made, keyring, options)?;
            let slot = open_one(&this.config, &this.folder, &made);
            let slot = slot.unwrap_or_else(|rolled_back| Slot::Failed(rolled_back.to_string()));
            if let Some(maker) = maker {
                this.makers.lock().unwrap_or_else(PoisonError::into_inner).insert(made.clone(), maker);
            }
            let given = match &slot {
                Slot::Open(ledger) => this.give_first_admin(&made, ledger),
                // It is given one when it opens.
                Slot::Failed(_) | Slot::Waiting(_) => Ok(()),
            };
            Ok::<_, Problem>((slot, given))
        })
        .await?;
        let mut slots = BTreeMap::clone(&self.slots.load());
        slots.insert(name, slot.clone());
        self.slots.store(Arc::new(slots));
        if let Err(error) = given {
            let detail = format!("the ledger was made, and nobody may use it yet: {error}");
            return Err(
                Problem::new(Code::LedgerUnavailable, detail).with_side_effects(SideEffects::Committed)
            );
        }
        match slot {
            Slot::Failed(why) => {
                let detail = format!("the ledger was made, but did not open: {why}");
                Err(Problem::new(Code::LedgerUnavailable, detail).with_side_effects(SideEffects::Committed))
            }
            Slot::Waiting(why) => {
                self.begun_to_wait.notify_one();
                let detail =
                    format!("the ledger was made, and opens by itself once its anchor answers: {why}");
                Err(Problem::new(Code::LedgerUnavailable, detail).with_side_effects(SideEffects::Committed))
            }
            open => Ok(open),
        }
    }

    /// Returns `true` while a ledger waits for its anchor, or the anchor has not said which ledgers it remembers.
    pub(crate) fn has_waiting(&self) -> bool {
        self.list.is_awaited() || self.slots.load().values().any(|slot| matches!(slot, Slot::Waiting(_)))
    }

    /// The words for an anchor that has not said which ledgers it remembers. `true`: the service is not ready without that.
    pub(crate) fn unlisted(&self) -> Option<(String, bool)> {
        self.list.why(&self.config.options)
    }

    /// Asks the anchor which ledgers it remembers, unless it has said so. One that is missing is a ledger that did not open.
    pub(crate) async fn ask_anchor(&self) {
        let Some(anchor) = self.list.anchor_to_ask(&self.config.options) else { return };
        let keyring = Arc::clone(&self.config.keyring);
        let anchored = blocking(move || AnchoredLedgers::ask(&*anchor, &keyring)).await;
        // One that was made meanwhile has its place now.
        let _only_one = self.making.lock().await;
        let mut slots = BTreeMap::clone(&self.slots.load());
        for name in anchored.names.iter().filter(|name| self.list.expects(name)) {
            slots.entry(name.clone()).or_insert_with_key(missing);
        }
        self.slots.store(Arc::new(slots));
        self.list.take(anchored.failure);
    }

    /// Ends when a ledger was made that waits for its anchor.
    pub(crate) async fn one_waits(&self) {
        self.begun_to_wait.notified().await;
    }

    /// Tries once more to open each ledger that waits for its anchor; those that open serve while others are tried.
    pub(crate) async fn open_waiting(self: &Arc<Self>) {
        let slots = self.slots.load_full();
        for (name, _) in slots.iter().filter(|(_, slot)| matches!(slot, Slot::Waiting(_))) {
            let _only_one = self.making.lock().await;
            if self.is_closing.load(Ordering::SeqCst) {
                return;
            }
            let (this, opened) = (Arc::clone(self), name.clone());
            let slot = blocking(move || this.open_again(&opened)).await;
            let mut slots = BTreeMap::clone(&self.slots.load());
            slots.insert(name.clone(), slot);
            self.slots.store(Arc::new(slots));
        }
    }

    /// One that the anchor contradicts stays closed: the service has begun already, and says so where it is asked.
    fn open_again(&self, name: &LedgerName) -> Slot {
        let slot = open_one(&self.config, &self.folder, name).unwrap_or_else(|rolled_back| {
            tracing::error!(ledger = %name, error = %rolled_back, "the ledger is not what its anchor remembers");
            Slot::Failed(rolled_back.to_string())
        });
        if let Slot::Open(ledger) = &slot {
            tracing::info!(ledger = %name, "the anchor answers; the ledger is open");
            report_outdated_starter(name, ledger);
            if let Err(error) = self.give_first_admin(name, ledger) {
                report_closed_ledger(name, &error);
            }
        }
        slot
    }

    /// Drains, syncs and seals every ledger.
    pub(crate) async fn close_all(&self) -> Result<(), CloseFailures> {
        self.is_closing.store(true, Ordering::SeqCst);
        let _only_one = self.making.lock().await;
        let slots = self.slots.load_full();
        let failures = blocking(move || {
            let closed = slots.iter().filter_map(|(name, slot)| match slot {
                Slot::Open(ledger) => ledger.close().err().map(|error| (name.clone(), error)),
                Slot::Failed(_) | Slot::Waiting(_) => None,
            });
            closed.collect::<Vec<_>>()
        })
        .await;
        // An open connection keeps nobody out.
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
        if failures.is_empty() { Ok(()) } else { Err(CloseFailures(failures)) }
    }
}

fn report_outdated_starter(name: &LedgerName, ledger: &IndexedLedger) {
    let state = ledger
        .ledger()
        .governance()
        .map(|governance| governance.read(bitacora_governance::State::starter_state));
    if state == Some(StarterState::Outdated) {
        tracing::warn!(
            ledger = %name,
            "the active policy is an earlier starter; `bitacora starter` shows the difference, `bitacora starter upgrade` publishes and \
             activates the current one"
        );
    }
}

fn report_closed_ledger(name: &LedgerName, error: &FirstAdminError) {
    tracing::error!(ledger = %name, %error, "the ledger has no tokens; it is closed to every caller");
}

/// Returns the problem of a name that no ledger has.
pub(crate) fn no_such_ledger(name: &LedgerName) -> Problem {
    Problem::new(Code::LedgerNotFound, format!("there is no ledger {name}; POST /v1/ledgers makes one"))
}

/// Opens one ledger. One that was rolled back is an error: it must not be served to those that put it there.
fn open_one(config: &LedgersConfig, folder: &DataFolder, name: &LedgerName) -> Result<Slot, DataError> {
    let LedgersConfig { keyring, options, .. } = config;
    let (environment, folder) = (folder.environment(), folder.ledger(name));
    let options = Options { name: Some(name.clone()), ..options.clone() };
    slot(config, name, &folder, Ledger::open(environment, &folder, Arc::clone(keyring), options))
}

/// The same for questions alone.
fn open_to_ask(
    config: &LedgersConfig,
    folder: &DataFolder,
    name: &LedgerName,
    scratch: Option<&Scratch>,
) -> Result<Slot, DataError> {
    let LedgersConfig { keyring, options, .. } = config;
    let (environment, folder) = (folder.environment(), folder.ledger(name));
    let opened = Ledger::open_for_questions(environment, &folder, keyring, name, options);
    slot(config, name, scratch.map_or(&folder, Scratch::folder), opened)
}

/// The place of a ledger that was opened, or was not; what is derived of it lies below `derived`.
fn slot(
    config: &LedgersConfig,
    name: &LedgerName,
    derived: &Path,
    opened: Result<Ledger, OpenError>,
) -> Result<Slot, DataError> {
    let LedgersConfig { environment, keyring, .. } = config;
    match opened {
        Ok(ledger) => {
            let recalls = Some(Arc::clone(&config.recalls));
            let how = IndexOptions { read_models: config.read_models, recalls, ..IndexOptions::default() };
            Ok(Slot::Open(IndexedLedger::open(ledger, environment, derived, keyring, &how)))
        }
        Err(OpenError::RolledBack(source)) => Err(DataError::RolledBack { ledger: name.clone(), source }),
        Err(OpenError::Anchor(error)) => Ok(Slot::waiting(name, &error)),
        Err(OpenError::Archive(error)) if error.kind == ArchiveTierErrorKind::Unavailable => {
            Ok(Slot::waiting(name, &error))
        }
        Err(OpenError::State(missing)) if missing.may_be_there_later() => Ok(Slot::waiting(name, &missing)),
        Err(error) => {
            tracing::error!(ledger = %name, %error, "a ledger did not open; it is answered as unavailable");
            Ok(Slot::Failed(error.to_string()))
        }
    }
}

/// Returns `true` if a folder cannot be written by this user, or by any.
fn is_unwritable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Runs file work where it may block. A panic in it goes on in the caller, as if it had been called directly.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Cancelled only when the runtime ends, and then nobody polls this any more.
            Err(_) => std::future::pending().await,
        },
    }
}
