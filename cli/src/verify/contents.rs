//! The second half of a verification with keys: the events of every frame, in their order, make the tree and the streams.

use std::collections::HashMap;
use std::path::Path;
use std::thread;

use bitacora_formats::{
    CompressionError, Decompressor, FrameOpener, Frontier, Keyring, LedgerKeys, StreamKey,
};

use super::fault::{Fault, FaultKind, Gap};
use super::frames::{OpenedFrame, Openers, open_frames};
use super::genesis::Genesis;
use super::parts::{PartCounts, Parts};
use super::report::{ContentsChecked, Report};
use super::segment::WalkedSegment;

/// Threads that open frames at most.
const MAX_OPENERS: usize = 16;
/// Streams whose versions are followed; a ledger has no more.
const MAX_STREAMS: usize = 1 << 22;

/// What is known of the events so far.
pub(super) struct Contents<'a> {
    keyring: &'a Keyring,
    name: Option<&'a str>,
    folder: &'a Path,
    /// Known once the first segment says which ledger it is.
    known: Option<(LedgerKeys, Parts)>,
    decompressors: Vec<Decompressor>,
    frontier: Frontier,
    streams: HashMap<StreamKey, u64>,
    counts: PartCounts,
    /// Why contents are no longer checked.
    gap: Option<Gap>,
}

impl<'a> Contents<'a> {
    pub(super) fn new(keyring: &'a Keyring, name: Option<&'a str>, folder: &'a Path) -> Self {
        let (decompressors, gap) = match make_decompressors() {
            Ok(decompressors) => (decompressors, None),
            Err(source) => (Vec::new(), Some(Gap::Memory { source })),
        };
        Self {
            keyring,
            name,
            folder,
            known: None,
            decompressors,
            frontier: Frontier::new(),
            streams: HashMap::new(),
            counts: PartCounts::default(),
            gap,
        }
    }

    /// Opens the next segment's frames and goes on with tree and streams.
    pub(super) fn check(&mut self, segment: &WalkedSegment) -> Result<(), Fault> {
        if self.gap.is_some() {
            return Ok(());
        }
        let key = match segment.header.unwrap_key(self.keyring) {
            Ok(key) => key,
            Err(source) => {
                // Later segments may open again, but what comes between tree and streams is lost.
                let first_position = segment.header.first_position.get();
                self.gap = Some(Gap::Key { file: segment.shown(), first_position, source });
                return Ok(());
            }
        };
        let ledger = segment.header.ledger;
        let (keys, parts) = self.known.get_or_insert_with(|| {
            let keys = LedgerKeys::new(self.keyring, ledger);
            let parts = Parts::new(self.folder, ledger, &keys);
            (keys, parts)
        });
        let genesis = Genesis { ledger, signing_key: &segment.header.signing_public, name: self.name };
        let openers = Openers { opener: &FrameOpener::new(&key), keys, parts, genesis };
        for frame in open_frames(segment, openers, &mut self.decompressors) {
            self.append(segment, &frame?)?;
        }
        Ok(())
    }

    fn append(&mut self, segment: &WalkedSegment, frame: &OpenedFrame) -> Result<(), Fault> {
        let OpenedFrame { offset, header, events, parts } = frame;
        let positions = (0..).map_while(|distance| header.first_position.plus(distance));
        for (position, event) in positions.zip(events) {
            self.frontier.push(event.leaf);
            self.follow(event.stream, event.stream_version)
                .map_err(|kind| segment.fault(*offset, position, Some(position), kind))?;
        }
        let (expected, found) = (header.tree_root, self.frontier.root());
        if expected != found {
            let kind = FaultKind::TreeRoot { expected, found };
            return Err(segment.fault(*offset, header.first_position, Some(header.last_position()), kind));
        }
        self.counts.add(*parts);
        Ok(())
    }

    /// The next event of a stream.
    fn follow(&mut self, stream: StreamKey, found: u64) -> Result<(), FaultKind> {
        let room = self.streams.len() < MAX_STREAMS || self.streams.contains_key(&stream);
        if !room {
            return Err(FaultKind::Streams { max: MAX_STREAMS });
        }
        let version = self.streams.entry(stream).or_insert(0);
        let expected = version.saturating_add(1);
        *version = found;
        if expected == found { Ok(()) } else { Err(FaultKind::StreamVersion { expected, found }) }
    }

    pub(super) fn into_report(self, report: &mut Report) {
        report.contents = Some(ContentsChecked {
            events: self.frontier.size(),
            streams: self.streams.len(),
            parts: self.counts,
        });
        report.gaps.extend(self.gap);
        report.gaps.extend(self.known.and_then(|(_, parts)| parts.into_gap()));
    }
}

fn make_decompressors() -> Result<Vec<Decompressor>, CompressionError> {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (0..cores.min(MAX_OPENERS)).map(|_| Decompressor::new()).collect()
}
