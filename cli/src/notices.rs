//! Who is told when somebody should look, as the command line says it.

use std::io;
use std::path::PathBuf;

use bitacora_server::{NoticeTarget, NoticeTargetError};
use clap::Args;

use crate::input_file;

/// Bytes of the longest file of a secret.
const MAX_SECRET_BYTES: usize = 256;

/// Where notices go, and the secret that signs them.
#[derive(Debug, Args)]
pub(crate) struct NoticeArguments {
    /// Send a signed request there when a breaker opens, an approval waits, or a ledger takes no appends.
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

/// Why nobody can be told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoticeFailure {
    #[error("{}: {source}; nothing was opened", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Target(#[from] NoticeTargetError),
}

impl NoticeArguments {
    /// Who is told, if anybody is.
    pub(crate) fn target(&self) -> Result<Option<NoticeTarget>, NoticeFailure> {
        let (Some(url), Some(path)) = (&self.notify, &self.notify_secret_file) else { return Ok(None) };
        let read = input_file::read(path, MAX_SECRET_BYTES);
        let secret = read.map_err(|source| NoticeFailure::File { path: path.clone(), source })?;
        Ok(Some(NoticeTarget::new(url, &String::from_utf8_lossy(&secret))?))
    }
}
