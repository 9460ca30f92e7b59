//! The webhook for notices to operators: its URL, and the file with the secret that signs them.

use std::io;
use std::path::{Path, PathBuf};

use bitacora_server::{NoticeTarget, NoticeTargetError};
use bitacora_verify::input_file;

/// The size limit of a secret's file.
const MAX_SECRET_BYTES: usize = 256;

/// The reason why no notices can be sent.
#[derive(Debug, thiserror::Error)]
pub enum NoticeFailure {
    /// The secret's file could not be read.
    #[error("{}: {source}; nothing was opened", path.display())]
    File {
        /// The secret's file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The URL or the secret is refused.
    #[error(transparent)]
    Target(#[from] NoticeTargetError),
}

/// Returns the webhook at a URL, with the secret in this file.
///
/// # Errors
/// A file that cannot be read, a URL or a secret of another form.
pub fn notice_target(url: &str, secret_file: &Path) -> Result<NoticeTarget, NoticeFailure> {
    let secret = input_file::read(secret_file, MAX_SECRET_BYTES)
        .map_err(|source| NoticeFailure::File { path: secret_file.to_owned(), source })?;
    Ok(NoticeTarget::new(url, &String::from_utf8_lossy(&secret))?)
}
