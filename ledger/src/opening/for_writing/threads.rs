//! The step of an opening for writing that builds the ledger in memory and starts its threads.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;

use bitacora_formats::{After, Compressor, Epoch, LedgerName, SegmentEnd};
use bitacora_governance::{Governance, Reactor};

use crate::append::admission::Admission;
use crate::append::commits::Commit;
use crate::append::committer::{self, Committer, CommitterHandle};
use crate::append::compressor::{self, CompressionQueue};
use crate::append::duplicate_receipts;
use crate::append::live_segment::{LiveSegment, LiveSegmentStart};
use crate::append::sequencer::Sequencer;
use crate::append::staged_state::StagedState;
use crate::dedup::id_tables::IdTables;
use crate::erasure::recall::bar_erased;
use crate::host::index_folder::INDEX;
use crate::host::lock_order::OrderedRwLock;
use crate::host::threads::LedgerThread;
use crate::loss::DeclaredLoss;
use crate::open_error::OpenError;
use crate::opening::for_writing::folder::OpeningContext;
use crate::opening::for_writing::next_numbers::NextNumbers;
use crate::opening::for_writing::repair::{RepairedFolder, RepairedParts};
use crate::opening::open_ledger::OpenLedger;
use crate::options::{HeadOptions, Options};
use crate::read::leaf_repair::settle_tree;
use crate::read::log_fold::begin_in_archives;
use crate::read::state_fold::{StateFoldError, fold_state};
use crate::read::{background_scrub, scrub_rounds};
use crate::read_error::ReadError;
use crate::replay::{ReplayedLog, TailState};
use crate::segment_index::end_of_segment;
use crate::segment_preallocator::SegmentPreallocator;
use crate::segments::quarantine::CutRecord;
use crate::segments::{Segment, Segments, segments_folder};
use crate::shared_state::read_side::ReadParts;
use crate::shared_state::write_side::WriteParts;
use crate::shared_state::{SharedParts, SharedState};
use crate::signing::known_heads::{KnownHeads, first_segment};
use crate::subjects::Subjects;
use crate::submission::inbox::Inbox;
use crate::submission::messages::IncompleteAnswer;
use crate::submission::prepare::Preparer;
use crate::tables::reactor_state::ReactorProjection;
use crate::tables::snapshots::Snapshots;
use crate::tables::table_writer::TableWriter;
use crate::tree::Tree;
use crate::unproven_writes::UnprovenWrites;
use crate::writer_state::{ReadOnlyReason, WriterState};

/// A ledger with its threads; a damaged one has none.
pub(super) struct RunningLedger(RunningParts);

/// The parts of a [`RunningLedger`].
pub(super) struct RunningParts {
    pub(super) ledger: OpenLedger,
    pub(super) is_damaged: bool,
    pub(super) epoch: Epoch,
    pub(super) reactor_version: u32,
    pub(super) cuts: Vec<CutRecord>,
    pub(super) loss: Option<DeclaredLoss>,
    pub(super) heads: Option<HeadsStart>,
}

/// The input of the first tree head.
pub(super) struct HeadsStart {
    pub(super) options: HeadOptions,
    pub(super) known_heads: KnownHeads,
    pub(super) first: Option<Arc<Segment>>,
    /// The end of the log before this epoch.
    pub(super) before: SegmentEnd,
}

impl RunningLedger {
    pub(super) fn start(folder: RepairedFolder<'_>) -> Result<Self, OpenError> {
        let RepairedParts { context, replayed, known_heads, loss, cuts } = folder.into_parts();
        let next = NextNumbers::of(&replayed)?;
        let (first, before) = (first_segment(&replayed), replayed.end);
        let name = known_heads.as_ref().map(|heads| heads.origin.name.clone());
        let heads = context.options.heads.clone().zip(known_heads);
        let heads = heads.map(|(options, known_heads)| HeadsStart { options, known_heads, first, before });
        let was_damaged = replayed.tail.is_corrupt();
        let ledger = start(&context, name.as_ref(), replayed, next)?;
        // Segments that no table spared the opening from reading may turn out to be damaged only now.
        let is_damaged = was_damaged || ledger.shared.write.is_corrupt();
        ledger.keep_locked(context.lock);
        Ok(Self(RunningParts {
            ledger,
            is_damaged,
            epoch: next.epoch,
            reactor_version: context.options.governing.version(),
            cuts,
            loss,
            heads,
        }))
    }

    pub(super) fn into_parts(self) -> RunningParts {
        self.0
    }
}

/// Builds the ledger, brings the state that decides to its head, and starts the threads; none for a damaged ledger.
fn start(
    context: &OpeningContext<'_>,
    name: Option<&LedgerName>,
    replayed: ReplayedLog,
    next: NextNumbers,
) -> Result<OpenLedger, OpenError> {
    let failed = || context.failed("starting the threads");
    let (end, generation) = (replayed.end, replayed.generation);
    let (reactor, governance) = context.options.governing.begin();
    let mut state = reactor.as_ref().map(ReactorProjection::new);
    let (shared, writer) = build(context, replayed, next, (reactor, governance)).map_err(failed())?;
    // Damage that a read finds ends appends; the reads of this opening are among them.
    shared.hear_of_damage();
    let ledger = OpenLedger::without_threads(Arc::clone(&shared));
    // Before anything is read or sealed for a caller.
    bar_erased(&shared, (context.options.heads.as_ref(), name), generation)?;
    // Before the sequencer: it admits by this state.
    if let (Some(state), Some(reactor)) = (&mut state, shared.write.preparer.reactor()) {
        match catch_up(&shared, state, &**reactor, &end) {
            Err(StateFoldError::Missing(missing)) => return Err(OpenError::State(missing)),
            caught_up => caught_up.map_err(io::Error::other).map_err(failed())?,
        }
    }
    if !shared.write.is_corrupt() {
        let threads = writer.start_threads(&shared, state, &context.options).map_err(failed())?;
        ledger.threads.lock().extend(threads);
    }
    Ok(ledger)
}

/// The state that the writer's threads begin with, besides the shared one.
struct WriterStart {
    staged: StagedState,
    ids: Arc<IdTables>,
    preparer: Arc<Preparer>,
    live: LiveSegment,
    /// The end of the segments that were not read.
    unread: Option<SegmentEnd>,
}

/// Builds the shared state of a replayed log, and the state that the writer goes on from.
fn build(
    context: &OpeningContext<'_>,
    replayed: ReplayedLog,
    next: NextNumbers,
    (reactor, governance): (Option<Arc<dyn Reactor>>, Option<Arc<Governance>>),
) -> io::Result<(Arc<SharedState>, WriterStart)> {
    let OpeningContext { outside, environment, folder, keyring, options, .. } = context;
    let disk = || Arc::clone(&environment.disk);
    let next_position = replayed.head.position.next().ok_or(io::ErrorKind::InvalidData)?;
    let subjects = Subjects::of_ledger(environment.clone(), folder, &replayed.keys);
    let snapshots = reactor.as_ref().map(|reactor| {
        let key = replayed.keys.index_key().clone();
        Snapshots::new(disk(), folder.join(INDEX), key, replayed.ledger, reactor.version())
    });
    let preparer = Arc::new(Preparer::new(
        replayed.ledger,
        replayed.keys,
        subjects,
        options.request_bytes,
        reactor,
        Arc::clone(&environment.entropy),
    ));
    let tips = Arc::new(OrderedRwLock::new(replayed.tips));
    let tree = match &replayed.behind {
        Some(header) => Tree::of_reader(disk(), folder, header, &replayed.end),
        None => Tree::load(disk(), folder, replayed.ledger, replayed.growth, replayed.frontier.clone()),
    };
    let segments = Segments::default();
    replayed.segments.into_iter().for_each(|segment| segments.add(segment));
    let writer = match replayed.tail {
        TailState::Corrupt(fault) => WriterState::ReadOnly(ReadOnlyReason::Corrupt(segments.bounded(fault))),
        _ => WriterState::Ready,
    };
    let start = WriterStart {
        staged: StagedState::new(next_position, replayed.head.time, Arc::clone(&tips)),
        ids: Arc::clone(&replayed.ids),
        preparer: Arc::clone(&preparer),
        live: LiveSegment::new(LiveSegmentStart {
            generation: replayed.generation,
            epoch: next.epoch,
            frontier: replayed.frontier,
            time: replayed.head.time,
            tip: replayed.tip,
        }),
        unread: replayed.unread,
    };
    let read = ReadParts {
        segments,
        tier: replayed.tier,
        tips,
        tree,
        head: replayed.head,
        lost_end: replayed.lost_end,
    };
    let write = WriteParts {
        preparer,
        inbox: Inbox::new(options.queue_bytes),
        preallocator: SegmentPreallocator::new(folder, next.segment, options.segment_bytes),
        table_writer: TableWriter::new(
            Arc::clone(&replayed.ids),
            replayed.tip_tables,
            replayed.unsaved,
            snapshots,
        ),
        ids: replayed.ids,
        unproven: UnprovenWrites::new(options.heads.is_some()),
        writer,
    };
    let shared = SharedState::new(SharedParts {
        id: replayed.ledger,
        folder: folder.to_path_buf(),
        environment: environment.clone(),
        anywhere: Arc::clone(&outside.disk),
        keyring: Arc::clone(keyring),
        governance,
        read,
        write,
    });
    Ok((Arc::new(shared), start))
}

/// Brings the state that decides to the head: what a snapshot holds, then what came after it.
fn catch_up(
    shared: &SharedState,
    state: &mut ReactorProjection,
    reactor: &dyn Reactor,
    end: &SegmentEnd,
) -> Result<(), StateFoldError> {
    let folder = segments_folder(&shared.folder);
    let end_of = |number| end_of_segment(&*shared.environment.disk, &folder, number, end);
    let mut after = shared.write.table_writer.restore(state, end_of);
    if after == After::START && shared.read.segments.released_through().is_some() {
        after = begin_in_archives(shared, state, reactor.version());
    }
    match fold_state(shared, state, reactor, (after, shared.read.head().position)) {
        Err(StateFoldError::Read(ReadError::Corrupt(fault))) => {
            shared.write.is_damaged_by(&fault);
            Ok(())
        }
        caught_up => caught_up,
    }
}

impl WriterStart {
    /// Starts the threads that every ledger for writing has, and the scrub where the opening did not read all.
    fn start_threads(
        self,
        shared: &Arc<SharedState>,
        state: Option<ReactorProjection>,
        options: &Options,
    ) -> io::Result<Vec<JoinHandle<()>>> {
        let Self { staged, ids, preparer, live, unread } = self;
        // The sequencer's state runs ahead of the committer's, which is durable.
        let staged_state = state.as_ref().map(ReactorProjection::fork);
        let admission = Admission::new(staged, ids, staged_state, preparer, options.derived_bytes());
        let compressor = || Compressor::new(options.compression_level).map_err(io::Error::other);
        let (commits, sealed) = mpsc::channel();
        let (bodies, uncompressed) = mpsc::channel();
        let (duplicates, incomplete) = mpsc::channel();
        let compression = CompressionQueue::new(compressor()?, bodies);
        let committer = CommitterHandle::new(Committer::new(Arc::clone(shared), state, duplicates));
        let sequencer = Sequencer::new(
            Arc::clone(shared),
            commits,
            committer.clone(),
            admission,
            compression,
            live,
            options.frame_body_bytes(),
        );
        let mut threads = vec![
            start_sequencer(shared, sequencer)?,
            start_compressor(shared, compressor()?, uncompressed)?,
            start_committer(shared, committer, sealed)?,
            start_preallocator(shared)?,
            start_duplicate_receipts(shared, incomplete)?,
            start_table_writer(shared)?,
        ];
        if unread.is_none() {
            shared.set_proven();
        }
        if unread.is_some() || options.scrub.is_some() {
            threads.push(start_scrub(shared, unread, options)?);
        }
        Ok(threads)
    }
}

fn start_sequencer(shared: &Arc<SharedState>, sequencer: Sequencer) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    LedgerThread::Sequencer.builder().spawn(move || {
        if catch_unwind(AssertUnwindSafe(|| sequencer.run())).is_err() {
            shared.write.poison("the sequencer panicked".to_owned());
        }
        // Nobody takes requests any more, and no segment is needed.
        shared.write.inbox.abandon();
        shared.write.preallocator.close();
    })
}

fn start_compressor(
    shared: &Arc<SharedState>,
    compressor: Compressor,
    bodies: Receiver<Vec<u8>>,
) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    LedgerThread::Compressor
        .builder()
        .spawn(move || compressor::run(&shared.write.inbox, compressor, &bodies))
}

fn start_committer(
    shared: &Arc<SharedState>,
    committer: CommitterHandle,
    sealed: Receiver<Commit>,
) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    LedgerThread::Committer.builder().spawn(move || {
        if catch_unwind(AssertUnwindSafe(|| committer.run(&sealed))).is_err() {
            shared.write.poison("the committer panicked".to_owned());
            committer::refuse_all(&shared.write.inbox, &sealed);
        }
        // The last to give tables news.
        shared.write.table_writer.close();
    })
}

fn start_preallocator(shared: &Arc<SharedState>) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    LedgerThread::SegmentPreallocator
        .builder()
        .spawn(move || shared.write.preallocator.run(&*shared.environment.disk, &shared.write.inbox))
}

fn start_duplicate_receipts(
    shared: &Arc<SharedState>,
    incomplete: Receiver<IncompleteAnswer>,
) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    LedgerThread::DuplicateReceipts.builder().spawn(move || duplicate_receipts::run(&shared, &incomplete))
}

fn start_table_writer(shared: &Arc<SharedState>) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    LedgerThread::TableWriter.builder().spawn(move || {
        let written = || shared.write.table_writer.run(&|| settle_tree(&shared));
        if catch_unwind(AssertUnwindSafe(written)).is_err() {
            shared.write.table_writer.give_up();
        }
    })
}

fn start_scrub(
    shared: &Arc<SharedState>,
    unread: Option<SegmentEnd>,
    options: &Options,
) -> io::Result<JoinHandle<()>> {
    let (shared, delay, rounds) = (Arc::clone(shared), options.proof_delay, options.scrub);
    LedgerThread::BackgroundScrub.builder().spawn(move || {
        if let Some(unread) = unread {
            background_scrub::run(&shared, &unread, delay);
        }
        if let Some(rounds) = rounds.filter(|_| shared.is_proven()) {
            scrub_rounds::run(&shared, rounds);
        }
    })
}
