//! The end of appends after acknowledged frames prove to be missing on the disk.
//! Nothing more is acknowledged, and memory is put aside.

use std::io;

use bitacora_formats::Generation;

use crate::segments::quarantine::UnwrittenFrames;
use crate::segments::segment_file_name;
use crate::shared_state::SharedState;

/// Ends the taking of appends, then keeps in quarantine what was written since it was last read back. `bitacora recover --put-back`
/// puts it in its place.
pub(crate) fn end_appends(shared: &SharedState, generation: Generation, found: &io::Error) {
    shared.write.poison(format!(
        "{found}; what memory still has of it is put in quarantine: stop the service, then run `bitacora recover --put-back`"
    ));
    // Tables would spare the next opening from reading what is not there.
    shared.write.table_writer.distrust();
    let written = shared.write.unproven.end();
    tracing::error!(error = %found, segments = written.len(), "acknowledged events are not on the disk; nothing more is taken");
    for stretch in written {
        let (disk, segment) = (&*shared.environment.disk, segment_file_name(stretch.segment));
        let (key, place) = (shared.write.preparer.keys().index_key(), (segment.as_str(), stretch.offset));
        let kept = UnwrittenFrames::keep(disk, &shared.folder, key, generation, place, &stretch.bytes);
        if let Err(error) = kept {
            tracing::error!(%error, segment, offset = stretch.offset, "frames that the disk does not have could not be kept either");
        }
    }
}
