//! The pass over one segment, independent of the segments before.
//! It finds out only whether all is valid.

use std::fs::File;
use std::io;

use bitacora_formats::{
    ChainHash, MAX_SEGMENT_HEADER_BYTES, PassStep, SegmentNumber, SegmentPass, is_all_zeros,
};

use super::checks::{Checks, SegmentChecks, Workspace};
use super::options::Progress;
use super::segment::{CheckedSegment, signatures};
use super::window::Window;

/// Passes over a segment. `None` if anything is invalid: [`walk`](super::segment::walk) finds the fault.
pub(super) fn check_segment(
    number: SegmentNumber,
    checks: &Checks<'_>,
    workspace: &mut Workspace,
    progress: Option<&dyn Progress>,
) -> Option<CheckedSegment> {
    let Workspace { segment: window, frames } = workspace;
    window.begin();
    let heads = checks.read_heads(number);
    let mut file = SegmentReader { file: checks.folder.open(number).ok()?, window, progress, told_bytes: 0 };
    file.fill(MAX_SEGMENT_HEADER_BYTES).ok()?;
    let (mut pass, header) = SegmentPass::start(file.window.bytes(), checks.every_signature)?;
    let mut begun = checks.begin(&header, heads, frames).ok()?;
    let head_hash = pass_frames(&mut file, &mut pass, &mut begun)?;
    pass_zeros(&mut file)?;

    let file_bytes = file.window.read_bytes();
    let passed = pass.finish(file_bytes)?;
    begun.end(passed.is_closed).ok()?;
    Some(CheckedSegment {
        number,
        header,
        file_bytes,
        frames: passed.frames,
        signatures: signatures(passed.is_closed, checks.every_signature, passed.frames),
        first_time: Some(passed.first_time),
        head_hash,
        end: passed.end,
        found: begun.found(),
    })
}

/// Passes over every frame, and the footer if there is one. Returns the chain hash after the last frame.
fn pass_frames(
    file: &mut SegmentReader<'_>,
    pass: &mut SegmentPass,
    checks: &mut SegmentChecks<'_>,
) -> Option<Option<ChainHash>> {
    let mut head_hash = None;
    loop {
        file.window.advance_to(pass.offset());
        let needed = match pass.step(file.window.bytes()) {
            PassStep::Frame(frame) => {
                checks.frame(&frame).ok()?;
                head_hash = Some(frame.tip.hash);
                continue;
            }
            PassStep::More { needed } => needed,
            PassStep::Zeros => break,
            PassStep::Doubt => return None,
        };
        if !file.fill(needed).ok()? {
            break;
        }
    }
    file.window.advance_to(pass.offset());
    Some(head_hash)
}

/// Passes over the zeros from here to the end of the file.
fn pass_zeros(file: &mut SegmentReader<'_>) -> Option<()> {
    while is_all_zeros(file.window.bytes()) {
        file.window.advance();
        if !file.fill(1).ok()? {
            return Some(());
        }
    }
    None
}

/// A segment's file in the middle of being read.
struct SegmentReader<'a> {
    file: File,
    window: &'a mut Window,
    progress: Option<&'a dyn Progress>,
    /// The number of bytes read that were reported to the progress.
    told_bytes: u64,
}

impl SegmentReader<'_> {
    fn fill(&mut self, needed: usize) -> io::Result<bool> {
        let is_there = self.window.fill(&mut self.file, needed)?;
        let read_bytes = self.window.read_bytes();
        if let Some(progress) = self.progress {
            progress.advance(read_bytes - self.told_bytes);
        }
        self.told_bytes = read_bytes;
        Ok(is_there)
    }
}
