//! The webhook for notices to operators, as named on the command line.

use std::io;
use std::path::PathBuf;

use bitacora_server::{NoticeTarget, NoticeTargetError};
use clap::Args;

use crate::files::input_file;

/// The size limit of a secret's file.
const MAX_SECRET_BYTES: usize = 256;

/// The webhook of notices, and the secret that signs them.
#[derive(Debug, Args)]
pub(crate) struct NoticeArguments {
    /// Send a signed request to this URL when a breaker opens, an approval waits, or a ledger takes no appends.
    #[arg(
        long,
        env = "BITACORA_NOTIFY",
        hide_env_values = true,
        value_name = "URL",
        requires = "notify_secret_file"
    )]
    notify: Option<String>,
    /// The file with the secret that signs these requests: `whsec_` and the base64 of 24 to 64 random bytes.
    #[arg(long, env = "BITACORA_NOTIFY_SECRET_FILE", value_name = "FILE")]
    notify_secret_file: Option<PathBuf>,
}

/// The reason why no notices can be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoticeFailure {
    #[error("{}: {source}; nothing was opened", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Target(#[from] NoticeTargetError),
}

impl NoticeArguments {
    /// Returns the webhook, if one is named.
    pub(crate) fn target(&self) -> Result<Option<NoticeTarget>, NoticeFailure> {
        let (Some(url), Some(path)) = (&self.notify, &self.notify_secret_file) else { return Ok(None) };
        let read = input_file::read(path, MAX_SECRET_BYTES);
        let secret = read.map_err(|source| NoticeFailure::File { path: path.clone(), source })?;
        Ok(Some(NoticeTarget::new(url, &String::from_utf8_lossy(&secret))?))
    }
}
