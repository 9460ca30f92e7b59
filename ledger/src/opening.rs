//! Opening for writing: lock, replay, recover, then start the threads and record the opening.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, RwLock};
use std::thread::JoinHandle;
use std::{io, thread};

use bitacora_formats::{After, Compressor, Decompressor, Epoch, Keyring, SegmentEnd, SegmentNumber};
use tokio::sync::oneshot;

use crate::admission::Admission;
use crate::archived_state::begin_in_archives;
use crate::background_scrub;
use crate::committer::{self, Commit, Committer, CommitterHandle};
use crate::compressor::{self, Packing};
use crate::courier::CourierStart;
use crate::disk::Disk;
use crate::duplicate_receipts::{self, Recall};
use crate::environment::Environment;
use crate::error::{AppendError, OpenError, ReadError};
use crate::head_signer::NotaryStart;
use crate::heads;
use crate::inbox::{Inbox, Lane, Queued};
use crate::index_folder::{INDEX, TrialTables, remove_tables};
use crate::known_heads::{Remembered, first_segment, refuse_other_name};
use crate::leaves;
use crate::ledger::Inner;
use crate::live_segment::{LiveSegment, Start};
use crate::loss::{DeclaredLoss, OnLoss};
use crate::loss_record::{self, Begun};
use crate::on_loss::{face_loss, refuse_unknown_end};
use crate::options::{HeadOptions, Options};
use crate::prepare::{PreparedRequest, Preparer};
use crate::put_back;
use crate::quarantine::{self, CutRecord, UnwrittenFrames};
use crate::reactor_state::HotState;
use crate::recover;
use crate::released_files;
use crate::replay::{Replay, Replayed, TailState, refuse_wrong_keyring};
use crate::segment_index::end_of_segment;
use crate::segment_preallocator::Supply;
use crate::segments::{Segments, segments_folder};
use crate::sequencer::Sequencer;
use crate::service_events::ServiceEvent;
use crate::shared::{Parts, Shared};
use crate::signing_keys;
use crate::snapshot_open;
use crate::snapshots::Snapshots;
use crate::staged::Staged;
use crate::status::{ReadOnlyReason, WriterState};
use crate::subjects::Subjects;
use crate::table_writer::Keeper;
use crate::tree::Tree;
use crate::unproven::Unproven;
use crate::whole_behind;
use bitacora_governance::{Governance, Reactor};

/// The name of the lock file in a ledger's folder.
pub(crate) const LOCK: &str = "lock";

pub(crate) fn open(
    environment: &Environment,
    folder: &Path,
    keyring: Arc<Keyring>,
    options: Options,
) -> Result<Inner, OpenError> {
    open_with(environment, folder, keyring, options, OnLoss::Refuse).map(|(inner, _)| inner)
}

/// Opens a ledger that lost what others remember, in a new generation. Returned `Ok` ⇒ its first event, which says what was
/// lost, is durable.
pub(crate) fn declare_loss(
    environment: &Environment,
    folder: &Path,
    keyring: Arc<Keyring>,
    options: Options,
) -> Result<(Inner, DeclaredLoss), OpenError> {
    let (inner, loss) = open_with(environment, folder, keyring, options, OnLoss::Declare)?;
    loss.map(|loss| (inner, loss)).ok_or(OpenError::NothingLost)
}

/// Opens a ledger whose disk did not have frames that lie in quarantine now. Returned `Ok` ⇒ they are durable in their places, and
/// the log says so unless the disk is full.
pub(crate) fn put_back(
    environment: &Environment,
    folder: &Path,
    keyring: Arc<Keyring>,
    options: Options,
) -> Result<Inner, OpenError> {
    open_with(environment, folder, keyring, options, OnLoss::PutBack).map(|(inner, _)| inner)
}

fn open_with(
    environment: &Environment,
    folder: &Path,
    keyring: Arc<Keyring>,
    options: Options,
    on_loss: OnLoss,
) -> Result<(Inner, Option<DeclaredLoss>), OpenError> {
    options.check()?;
    let in_step = |what: &str| {
        let what = format!("{what} of {}", folder.display());
        move |source: io::Error| OpenError::Disk { what, source }
    };
    let anywhere = &environment.disk;
    if !anywhere.exists(folder).map_err(in_step("looking for the folder"))? {
        return Err(OpenError::Missing(folder.display().to_string()));
    }
    // The folder that is locked stays the ledger's, whatever stands under its name later.
    let outside = environment;
    let environment = &environment.within(folder).map_err(in_step("opening the folder"))?;
    let disk = &*environment.disk;
    let lock = disk.lock(&folder.join(LOCK)).map_err(|source| match source.kind() {
        io::ErrorKind::WouldBlock => OpenError::Locked(folder.display().to_string()),
        _ => in_step("taking the lock")(source),
    })?;

    let (reactor, governance) = options.governing.begin();
    if let Err(error) = refuse_wrong_keyring(disk, folder, &keyring) {
        Remembered::refuse_foreign(disk, folder, &keyring, &options)?;
        return Err(error);
    }
    let replay = |tables: Option<PathBuf>| {
        let decompressor =
            Decompressor::new().map_err(|error| in_step("preparing to read")(io::Error::other(error)))?;
        let replay = Replay::new(environment, folder, &keyring, decompressor);
        match tables {
            Some(tables) => replay.with_tables(tables).run(),
            None => replay.run(),
        }
    };
    let replayed = replay(None);
    if let Err(OpenError::Keyring { .. }) = &replayed {
        Remembered::refuse_foreign(disk, folder, &keyring, &options)?;
    }
    let mut replayed = match replayed {
        // Nothing before the damage can be read: there is nothing to write on. What is whole behind it is served.
        Err(OpenError::Corrupt(fault)) if on_loss == OnLoss::Refuse => {
            let inner = snapshot_open::open_damaged(outside, folder, &keyring, &options, fault)?;
            inner.keep_locked(lock);
            return Ok((inner, None));
        }
        replayed => replayed?,
    };
    // Only now is it known that the keyring is the ledger's. The disk counts for a loss, not what tables remember of it. They stay until
    // it is known that there is one: of a ledger whose keys are retired they cannot be made again.
    let mut trial = None;
    let unwritten = UnwrittenFrames::all(disk, folder, replayed.keys.index_key());
    if on_loss == OnLoss::Declare {
        let tables = TrialTables::new(&environment.disk, folder).map_err(in_step("trying the log"))?;
        replayed = replay(Some(tables.folder()))?;
        refuse_unknown_end(&replayed.tail)?;
        trial = Some(tables);
    } else if !unwritten.map_err(in_step("listing the quarantine"))?.is_empty() {
        remove_tables(disk, &folder.join(INDEX)).map_err(in_step("removing the tables"))?;
        replayed = replay(None)?;
    }
    refuse_other_name(options.name.as_ref(), || replayed.name(disk, folder, &keyring))?;
    if on_loss == OnLoss::Refuse && !matches!(replayed.tail, TailState::Corrupt(_)) {
        let unsigned = released_files::unsigned_again(disk, folder, &keyring, &replayed);
        if let Some(fault) = unsigned.map_err(in_step("reading what is left of released segments"))? {
            replayed.tail = TailState::Corrupt(fault);
        }
    }
    NextNumbers::of(&replayed)?;
    put_back::face(environment, folder, &keyring, &options, &mut replayed, on_loss)?;
    let begun = Begun::look(disk, folder, &replayed)?;
    let (remembered, mut loss) =
        face_loss(environment, folder, &keyring, &options, &mut replayed, (on_loss, &begun))?;
    recover::settle(disk, folder, &replayed).map_err(in_step("making durable what was read"))?;
    if let Some(loss) = &mut loss {
        // The rest is read again: the ids, the leaves and the last hash of the segment that was cut are unknown.
        replayed = replay(None)?;
        drop(trial);
        if let TailState::Corrupt(fault) = replayed.tail {
            return Err(OpenError::Corrupt(fault));
        }
        replayed.generation = loss.generation;
        loss.retained = replayed.head;
        recover::settle(disk, folder, &replayed).map_err(in_step("making durable what is left"))?;
    }
    let corrupt = matches!(replayed.tail, TailState::Corrupt(_));
    whole_behind::take_in(disk, folder, &keyring, &mut replayed)
        .map_err(in_step("looking for what is whole"))?;
    if !corrupt {
        leaves::make_tree_folder(disk, folder);
    }
    if let Some(leaves) = replayed.leaves.as_ref().filter(|_| !corrupt) {
        leaves.settle(disk, folder);
    }
    if !corrupt {
        let read_from = replayed.unread.map_or(SegmentNumber::FIRST, |unread| unread.number);
        heads::settle(disk, folder, replayed.keys.index_key(), read_from);
        released_files::mend(disk, folder, &keyring, &replayed.segments);
    }
    let cuts = if corrupt {
        Vec::new()
    } else {
        if loss.is_none() {
            loss_record::forget(disk, folder).map_err(in_step("removing the loss that the log says"))?;
        }
        signing_keys::write_note(disk, folder, &keyring)
            .map_err(in_step("writing the signing keys' note"))?;
        quarantine::unrecorded(disk, folder, replayed.keys.index_key())
            .map_err(in_step("listing the quarantine"))?
    };

    let (next, version) = (NextNumbers::of(&replayed)?, options.governing.version());
    let heads = options.heads.clone().zip(remembered);
    let (first, before, own_keyring) = (first_segment(&replayed), replayed.end, Arc::clone(&keyring));
    let opening = Opening {
        environment: environment.clone(),
        anywhere: Arc::clone(anywhere),
        folder: folder.to_owned(),
        keyring,
        options,
        reactor,
        governance,
        next,
    };
    let inner = opening.start(replayed).map_err(in_step("starting the threads"))?;
    // Segments that no table spared the opening from reading may turn out to be damaged only now.
    let corrupt = corrupt || inner.shared.is_corrupt();
    inner.keep_locked(lock);
    if !corrupt {
        inner.shared.tree.store_at_opening();
        if let Some(loss) = &loss {
            let recorded = append_own(&inner.shared, &ServiceEvent::Recovered(loss));
            recorded.map_err(|error| OpenError::Unrecorded {
                what: format!("recording the loss of {}", folder.display()),
                generation: loss.generation,
                source: io::Error::other(error),
            })?;
            if let Err(error) = loss_record::forget(disk, folder) {
                tracing::warn!(%error, "a loss that the log says could not be marked as such");
            }
        }
        record_opening(&inner.shared, &cuts, next.epoch, version);
        put_back::record(&inner.shared);
    }
    if let Some((heads, mut known)) = heads.filter(|_| !corrupt) {
        // Not before the log says the loss: the anchor would remember a generation that has not begun.
        known.begin_anchor(&heads, &own_keyring, first.as_slice());
        let (notary, courier) = start_of_heads(heads, known, before);
        inner.start_notary(notary).map_err(in_step("starting the notary"))?;
        if let Some(courier) = courier {
            inner.start_courier(courier).map_err(in_step("starting the courier"))?;
        }
    }
    Ok((inner, loss))
}

/// Returns the initial state of the threads that make tree heads and bring them to witnesses.
fn start_of_heads(
    options: HeadOptions,
    remembered: Remembered,
    before: SegmentEnd,
) -> (NotaryStart, Option<CourierStart>) {
    let latest = remembered.latest();
    let may_begin_anchor = options.anchor_is_new || !remembered.has_heads;
    let Remembered { origin, anchored, cosigned, witnessed, .. } = remembered;
    let courier = options.witnesses.clone().map(|witnesses| CourierStart {
        witnesses,
        origin: origin.clone(),
        kept: cosigned,
        sizes: witnessed.sizes,
    });
    (NotaryStart { options, before, latest, origin, anchored, may_begin_anchor }, courier)
}

/// The initial state of the ledger's threads.
struct Opening {
    environment: Environment,
    anywhere: Arc<dyn Disk>,
    folder: PathBuf,
    keyring: Arc<Keyring>,
    options: Options,
    reactor: Option<Arc<dyn Reactor>>,
    governance: Option<Arc<Governance>>,
    next: NextNumbers,
}

/// The numbers that an opening for writing takes.
#[derive(Debug, Clone, Copy)]
struct NextNumbers {
    epoch: Epoch,
    segment: SegmentNumber,
}

impl NextNumbers {
    /// The numbers behind those of the log. None are used twice: data keys are derived from them.
    fn of(replayed: &Replayed) -> Result<Self, OpenError> {
        let epoch = replayed.epoch.next().ok_or(OpenError::Exhausted("epochs"))?;
        let segment = replayed.last_segment.next().ok_or(OpenError::Exhausted("segment numbers"))?;
        Ok(Self { epoch, segment })
    }
}

impl Opening {
    fn start(self, replayed: Replayed) -> io::Result<Inner> {
        let Opening { environment, anywhere, folder, keyring, options, reactor, governance, next } = self;
        let corrupt = match &replayed.tail {
            TailState::Corrupt(fault) => Some(fault.clone()),
            _ => None,
        };
        let next_position = replayed.head.position.next().ok_or(io::ErrorKind::InvalidData)?;
        let subjects = Subjects::of_ledger(environment.clone(), &folder, &replayed.keys);
        let snapshots = reactor.as_ref().map(|reactor| {
            let (disk, index) = (Arc::clone(&environment.disk), folder.join(INDEX));
            let key = replayed.keys.index_key().clone();
            Snapshots::new(disk, index, key, replayed.ledger, reactor.version())
        });
        let mut hot = reactor.as_ref().map(HotState::new);
        let entropy = Arc::clone(&environment.entropy);
        let preparer = Arc::new(Preparer::new(
            replayed.ledger,
            replayed.keys,
            subjects,
            options.request_bytes,
            reactor,
            entropy,
        ));
        let disk = Arc::clone(&environment.disk);
        let tips = Arc::new(RwLock::new(replayed.tips));
        let (recalls, recalled) = mpsc::channel();
        let tree = match &replayed.behind {
            Some(header) => Tree::of_reader(disk, &folder, header, &replayed.end),
            None => Tree::load(disk, &folder, replayed.ledger, replayed.grown, replayed.frontier.clone()),
        };
        let segments = Segments::default();
        replayed.segments.into_iter().for_each(|segment| segments.add(segment));
        let writer = corrupt
            .map(|fault| segments.bounded(fault))
            .map_or(WriterState::Ready, |fault| WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault)));
        let shared = Arc::new(Shared::new(Parts {
            id: replayed.ledger,
            supply: Supply::new(&folder, next.segment, options.segment_bytes),
            folder,
            environment,
            anywhere,
            keyring,
            preparer: Arc::clone(&preparer),
            inbox: Inbox::new(options.queue_bytes),
            segments,
            tier: replayed.tier,
            tips: Arc::clone(&tips),
            keeper: Keeper::new(Arc::clone(&replayed.ids), replayed.tip_tables, replayed.untold, snapshots),
            ids: Arc::clone(&replayed.ids),
            tree,
            unproven: Unproven::new(options.heads.is_some()),
            head: replayed.head,
            writer,
            lost_end: replayed.lost_end,
            governance,
        }));
        shared.hear_of_damage();
        let inner = Inner::without_threads(Arc::clone(&shared));
        if let Some(hot) = &mut hot {
            catch_up(&shared, hot, &replayed.end)?;
        }
        if shared.is_corrupt() {
            return Ok(inner);
        }
        let staged = Staged::new(next_position, replayed.head.time, tips);
        let staged_state = hot.as_ref().map(HotState::fork);
        let admission = Admission::new(staged, replayed.ids, staged_state, preparer, options.derived_bytes());
        let start = Start {
            generation: replayed.generation,
            epoch: next.epoch,
            frontier: replayed.frontier,
            time: replayed.head.time,
            tip: replayed.tip,
        };
        let compressor = || Compressor::new(options.compression_level).map_err(io::Error::other);
        let live = LiveSegment::new(start);
        let (commits, committed) = mpsc::channel();
        let (bodies, unpacked) = mpsc::channel();
        let packing = Packing::new(compressor()?, bodies);
        let committer = CommitterHandle::new(Committer::new(Arc::clone(&shared), hot, recalls));
        let sequencer = Sequencer::new(
            Arc::clone(&shared),
            commits,
            committer.clone(),
            admission,
            packing,
            live,
            options.frame_body_bytes(),
        );
        let packer = compressor()?;
        let packer = move |shared: &Arc<Shared>| compressor::run(shared, packer, &unpacked);
        let mut threads = start_threads(&shared, sequencer, packer, committer, committed, recalled)?;
        match replayed.unread {
            None => shared.set_proven(),
            Some(unread) => {
                let shared = Arc::clone(&shared);
                threads.push(
                    named("prover")
                        .spawn(move || background_scrub::run(&shared, &unread, options.proof_delay))?,
                );
            }
        }
        inner.threads.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(threads);
        Ok(inner)
    }
}

/// Brings the state that decides to the head: what a snapshot holds, then what came after it.
fn catch_up(shared: &Shared, hot: &mut HotState, end: &SegmentEnd) -> io::Result<()> {
    let folder = segments_folder(&shared.folder);
    let end_of = |number| end_of_segment(&*shared.environment.disk, &folder, number, end);
    let mut after = shared.keeper.restore(hot, end_of);
    if after == After::START && shared.segments.released_through().is_some() {
        after = begin_in_archives(shared, hot, shared.preparer.reactor_version());
    }
    match hot.catch_up(shared, after) {
        Err(ReadError::Corrupt(fault)) => {
            shared.is_damaged_by(&fault);
            Ok(())
        }
        caught_up => caught_up.map_err(io::Error::other),
    }
}

pub(crate) fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(format!("bitacora-{name}"))
}

fn start_threads(
    shared: &Arc<Shared>,
    sequencer: Sequencer,
    packer: impl FnOnce(&Arc<Shared>) + Send + 'static,
    committer: CommitterHandle,
    committed: Receiver<Commit>,
    recalled: Receiver<Recall>,
) -> io::Result<Vec<JoinHandle<()>>> {
    let [for_sequencer, for_packer, for_committer, for_supply, for_recall, for_keeper] =
        [(); 6].map(|()| Arc::clone(shared));
    Ok(vec![
        named("sequencer").spawn(move || {
            if catch_unwind(AssertUnwindSafe(|| sequencer.run())).is_err() {
                for_sequencer.poison("the sequencer panicked".to_owned());
            }
            for_sequencer.inbox.abandon();
            for_sequencer.supply.close();
        })?,
        named("packer").spawn(move || packer(&for_packer))?,
        named("committer").spawn(move || {
            if catch_unwind(AssertUnwindSafe(|| committer.run(&committed))).is_err() {
                for_committer.poison("the committer panicked".to_owned());
                committer::refuse_all(&for_committer, &committed);
            }
            for_committer.keeper.close();
        })?,
        named("supply")
            .spawn(move || for_supply.supply.run(&*for_supply.environment.disk, &for_supply.inbox))?,
        named("recall").spawn(move || duplicate_receipts::run(&for_recall, &recalled))?,
        named("keeper").spawn(move || {
            if catch_unwind(AssertUnwindSafe(|| for_keeper.keeper.run(&for_keeper))).is_err() {
                for_keeper.keeper.give_up();
            }
        })?,
    ])
}

/// The first words of an epoch: what was cut, and that it began. Where the disk is full they stay unsaid; cuts are then
/// recorded by a later opening.
fn record_opening(shared: &Shared, cuts: &[CutRecord], epoch: Epoch, reactor: u32) {
    for cut in cuts {
        match append_own(shared, &ServiceEvent::TailCut(cut)) {
            Ok(()) => {
                if let Err(error) = quarantine::mark_recorded(&*shared.environment.disk, &shared.folder, cut)
                {
                    tracing::warn!(%error, file = cut.file, "a recorded cut could not be marked as such");
                }
            }
            Err(error) => tracing::warn!(%error, file = cut.file, "a cut could not be recorded"),
        }
    }
    let opened = ServiceEvent::Opened { epoch, reactor, version: env!("CARGO_PKG_VERSION") };
    if let Err(error) = append_own(shared, &opened) {
        tracing::warn!(%error, "the opening could not be recorded");
    }
}

/// Returned `Ok` ⇒ durable.
pub(crate) fn append_own(shared: &Shared, event: &ServiceEvent<'_>) -> Result<(), AppendError> {
    let next = shared.head().position.next().ok_or(AppendError::Closing)?;
    let request: PreparedRequest = event.prepare(&shared.preparer, shared.id, next)?;
    let (reply, outcome) = oneshot::channel();
    shared.inbox.put(Queued { request, reply }, Lane::Ordinary)?;
    outcome.blocking_recv().unwrap_or(Err(AppendError::Unknown)).map(|_| ())
}
