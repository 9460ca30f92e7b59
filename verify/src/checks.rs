//! The checks of a segment's frames beyond their places in the chain.

use bitacora_formats::{Decompressor, SegmentHeader, SegmentNumber, SigningChain, WalkedFrame};

use super::archives::LedgerArchives;
use super::fault::{Fault, Gap};
use super::folder::{LedgerFolder, shown};
use super::frames::{FoundContents, FrameFault, OpenedFrame, OpenedFrames, Openers};
use super::heads::{FoundHeads, HeadsExpected, ReadHeads, SegmentHeads};
use super::helpers::IdleThreads;
use super::level::StoredLevel;
use super::tree::{FoundTree, SegmentTree};
use super::window::Window;

/// The size of one read of a segment: small enough to stay in the processor's cache while it is hashed.
const SEGMENT_PIECE_BYTES: usize = 512 * 1024;
/// The size of one read of leaves.
const LEAVES_PIECE_BYTES: usize = 128 * 1024;

/// The checks of every frame of a ledger; shared by all threads.
#[derive(Clone, Copy)]
pub(super) struct Checks<'a> {
    pub(super) folder: &'a LedgerFolder<'a>,
    pub(super) every_signature: bool,
    /// Set when leaves are checked.
    pub(super) leaves: bool,
    /// The stored level above them, if it is there and checked.
    pub(super) level: Option<&'a StoredLevel>,
    /// The archives' roots of the tree.
    pub(super) archives: &'a LedgerArchives,
    /// The signers of tree heads; heads are checked if these are known.
    pub(super) signers: Option<&'a SigningChain>,
    /// The expected values of the tree heads.
    pub(super) heads: HeadsExpected<'a>,
    /// The openers of frames, if frames are opened.
    pub(super) openers: Option<&'a Openers<'a>>,
    /// The threads that help to open them, if any may.
    pub(super) idle: Option<&'a IdleThreads>,
}

/// The memory in which one thread checks one segment after the other.
pub(super) struct Workspace {
    pub(super) segment: Window,
    /// The memory for checks of a segment's frames.
    pub(super) frames: FrameWorkspace,
}

/// The part of it that lives as long as a segment's checks.
pub(super) struct FrameWorkspace {
    leaves: Window,
    decompressor: Option<Decompressor>,
}

impl Workspace {
    /// Returns a workspace; without a decompressor nothing is opened.
    pub(super) fn new(decompressor: Option<Decompressor>) -> Self {
        let leaves = Window::new(LEAVES_PIECE_BYTES);
        Self { segment: Window::new(SEGMENT_PIECE_BYTES), frames: FrameWorkspace { leaves, decompressor } }
    }
}

/// The checks of one segment, up to some frame.
pub(super) struct SegmentChecks<'a> {
    number: SegmentNumber,
    opened: Option<OpenedFrames<'a>>,
    key_gap: Option<Gap>,
    tree: SegmentTree<'a>,
    heads: SegmentHeads,
    expected: HeadsExpected<'a>,
}

/// The findings of a segment's frames.
#[derive(Default)]
pub(super) struct FrameFindings {
    /// The contents, if the frames were opened.
    pub(super) contents: Option<FoundContents>,
    /// The reason why they were not opened, although they should have been.
    pub(super) key_gap: Option<Gap>,
    pub(super) tree: FoundTree,
    pub(super) heads: FoundHeads,
}

impl<'a> Checks<'a> {
    /// Reads the tree heads beside a segment; called before the segment is read.
    pub(super) fn read_heads(&self, number: SegmentNumber) -> ReadHeads {
        match self.signers {
            Some(chain) => ReadHeads::read(self.folder, number, chain),
            None => ReadHeads::none(number),
        }
    }

    /// Begins with the segment of this header, before its frames are read.
    pub(super) fn begin(
        &self,
        header: &SegmentHeader,
        heads: ReadHeads,
        workspace: &'a mut FrameWorkspace,
    ) -> Result<SegmentChecks<'a>, Fault> {
        let FrameWorkspace { leaves, decompressor } = workspace;
        let number = header.number;
        let (opened, key_gap) = match self.openers.zip(decompressor.as_mut()) {
            None => (None, None),
            Some((openers, decompressor)) => match openers.begin(header, decompressor, self.idle) {
                Ok(opened) => (Some(opened), None),
                Err(source) => {
                    let first_position = header.first_position.get();
                    (None, Some(Gap::Key { file: shown(number), first_position, source }))
                }
            },
        };
        let tree = match self.leaves {
            true => SegmentTree::begin(self.folder, header, leaves, (self.level, self.archives))?,
            false => SegmentTree::without_leaves(header, self.archives),
        };
        let heads = SegmentHeads::begin(heads, header, self.heads.sizes);
        Ok(SegmentChecks { number, opened, key_gap, tree, heads, expected: self.heads })
    }

    /// Opens frames for other threads until none needs that any more.
    pub(super) fn help(&self, workspace: &mut FrameWorkspace) {
        if let (Some(idle), Some(openers), Some(decompressor)) =
            (self.idle, self.openers, workspace.decompressor.as_mut())
        {
            idle.help(openers, decompressor);
        }
    }
}

impl SegmentChecks<'_> {
    /// Checks the next frame. Where idle threads help, it checks an earlier one, and this one later.
    pub(super) fn frame(&mut self, frame: &WalkedFrame<'_>) -> Result<(), Fault> {
        self.heads.frame(frame.stored.header(), frame.tip.hash);
        loop {
            let Some(opened) = &mut self.opened else {
                return self.tree.grow(frame.offset, frame.stored.header(), None, &mut self.heads);
            };
            if opened.hand_out(frame) {
                return Ok(());
            }
            if let Some(earlier) = opened.take_in() {
                self.go_on(earlier)?;
            } else {
                let opened = opened.open(frame);
                return self.go_on(opened);
            }
        }
    }

    fn go_on(&mut self, mut frame: OpenedFrame) -> Result<(), Fault> {
        let gone_on = self.opened.as_mut().map_or(Ok(()), |opened| opened.go_on(&mut frame));
        gone_on.map_err(|FrameFault { position, kind }| {
            let first = position.unwrap_or(frame.header.first_position);
            let last = position.unwrap_or(frame.header.last_position());
            Fault::at(shown(self.number), frame.offset, first, Some(last), kind)
        })?;
        self.tree.grow(frame.offset, &frame.header, Some(&frame.events), &mut self.heads)
    }

    /// Ends with the findings up to here.
    pub(super) fn found(self) -> FrameFindings {
        let contents = self.opened.map(OpenedFrames::into_contents);
        let heads = self.heads.found(self.expected);
        FrameFindings { contents, key_gap: self.key_gap, tree: self.tree.found(), heads }
    }

    /// Checks the frames that are still handed out, the bytes behind the leaves of the last one, and the tree heads;
    /// `is_closed` if no frame can follow.
    pub(super) fn end(&mut self, is_closed: bool) -> Result<(), Fault> {
        while let Some(frame) = self.opened.as_mut().and_then(OpenedFrames::take_in) {
            self.go_on(frame)?;
        }
        self.tree.end(is_closed)?;
        self.heads.end(self.expected)
    }
}

/// Returns a decompressor for each thread, or the reason why there is none.
pub(super) fn decompressors(threads: usize) -> Result<Vec<Decompressor>, Gap> {
    let made: Result<Vec<_>, _> = (0..threads).map(|_| Decompressor::new()).collect();
    made.map_err(|source| Gap::Memory { source })
}
