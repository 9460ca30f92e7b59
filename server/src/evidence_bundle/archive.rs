//! The file of a bundle: a tar archive without compression, whose members stand in a fixed order.

use tar::{Builder, Header};

use crate::problem::{Code, Problem};

/// The rights of an unpacked member: its owner writes, everybody reads.
const MODE: u32 = 0o644;

/// Returns the archive of these members, of this time in seconds since 1970.
pub(super) fn archive(members: &[(&str, &[u8])], time_s: u64) -> Result<Vec<u8>, Problem> {
    let bytes = members.iter().map(|(_, bytes)| bytes.len() + 1024).sum();
    let mut builder = Builder::new(Vec::with_capacity(bytes));
    let written = members.iter().try_for_each(|(name, bytes)| {
        let mut header = Header::new_ustar();
        header.set_path(name)?;
        header.set_size(bytes.len() as u64);
        header.set_mode(MODE);
        header.set_mtime(time_s);
        header.set_cksum();
        builder.append(&header, *bytes)
    });
    written.and_then(|()| builder.into_inner()).map_err(|error| {
        Problem::new(
            Code::Internal,
            format!("the bundle cannot be written: {error}; nothing is missing in the ledger"),
        )
    })
}
