//! The original receipts of duplicates, read back from the log for callers that repeat a request.

use std::sync::mpsc::Receiver;

use crate::read::log_reader::LogReader;
use crate::shared_state::SharedState;
use crate::submission::append_error::AppendError;
use crate::submission::messages::{EventPlacement, IncompleteAnswer, RequestPlacement, give};

/// The body of the thread; ends when the committer is gone.
pub(crate) fn run(shared: &SharedState, incomplete: &Receiver<IncompleteAnswer>) {
    for IncompleteAnswer { reply, accepted } in incomplete {
        give(reply, complete(shared, accepted));
    }
}

fn complete(shared: &SharedState, mut accepted: RequestPlacement) -> Result<RequestPlacement, AppendError> {
    let mut reader = LogReader::new(shared);
    let lacking = |placed: &&mut EventPlacement| placed.stream_version.is_none();
    let positions: Vec<_> =
        accepted.placed.iter_mut().filter(lacking).map(|placed| placed.position).collect();
    let originals = reader.original_receipts(&positions).map_err(AppendError::LookUp)?;
    for (placed, version) in accepted.placed.iter_mut().filter(lacking).zip(originals.versions) {
        placed.stream_version = Some(version);
    }
    // New events of the request have derived events of their own, which are in no request of before.
    accepted.derived.extend(originals.derived);
    accepted.derived.sort_by_key(|receipt| receipt.position);
    Ok(accepted)
}
