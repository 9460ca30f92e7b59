//! Tree heads behind the last segment: signed proof of events that were cut off.
//! An attacker who removes a segment, or fills it with zeros, and leaves its heads, leaves this proof.

use std::io;

use bitacora_formats::{SegmentNumber, SigningChain};

use super::fault::{Fault, Gap};
use super::folder::{LedgerFolder, TREE};
use super::heads::ReadHeads;
use super::report::Report;

/// Looks for a head that the ledger signed and does not reach. Call it once the segments up to `last` were read.
///
/// A service may have written a segment since: its frames are there before its heads are. So only heads beside a
/// segment that holds nothing now show a loss.
pub(super) fn look(
    folder: &LedgerFolder<'_>,
    last: SegmentNumber,
    chain: &SigningChain,
    report: &mut Report,
) {
    let numbers = match folder.heads_behind(last) {
        Ok(numbers) => numbers,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(error) => {
            let (file, what) = (TREE.to_owned(), error.to_string());
            report.gaps.push(Gap::Heads { file, what });
            return;
        }
    };
    for number in numbers {
        let read = ReadHeads::read(folder, number, chain);
        let fault = lost(&read, report);
        if (fault.is_some() || read.gap.is_some()) && !folder.holds_nothing(number) {
            continue;
        }
        report.gaps.extend(read.gap);
        if fault.is_some() {
            report.fault = fault;
            return;
        }
    }
}

/// Returns the first head over missing events as a fault. A head of an earlier generation was given up when a loss was declared.
fn lost(read: &ReadHeads, report: &Report) -> Option<Fault> {
    let (ledger, generation, head) = (report.ledger?, report.generation?, report.head?);
    read.first_lost(ledger, generation, head.position)
}
