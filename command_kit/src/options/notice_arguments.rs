//! The webhook for notices to operators, as named on the command line.

use std::path::PathBuf;

use bitacora_data_folder::{NoticeFailure, notice_target};
use bitacora_server::NoticeTarget;
use clap::Args;

/// The webhook of notices, and the secret that signs them.
#[derive(Debug, Args)]
pub struct NoticeArguments {
    /// Send a signed request to this URL when a breaker opens, an approval waits, or a ledger takes no appends.
    #[arg(long, env = "BITACORA_NOTIFY", hide_env_values = true, value_name = "URL")]
    notify: Option<String>,
    /// The file with the secret that signs these requests: `whsec_` and the base64 of 24 to 64 random bytes.
    #[arg(long, env = "BITACORA_NOTIFY_SECRET_FILE", value_name = "FILE")]
    notify_secret_file: Option<PathBuf>,
}

/// The reason why the options name no webhook.
#[derive(Debug, thiserror::Error)]
pub enum NoticeArgumentError {
    /// A URL without the secret that signs requests to it.
    #[error("found --notify alone, expected --notify-secret-file too: each notice is signed")]
    NoSecret,
    /// The webhook cannot be used.
    #[error(transparent)]
    Target(#[from] NoticeFailure),
}

impl NoticeArguments {
    /// Returns the webhook, if one is named.
    ///
    /// # Errors
    /// A URL without a secret, which each may come from a source of its own; and those of [`notice_target`].
    pub fn target(&self) -> Result<Option<NoticeTarget>, NoticeArgumentError> {
        match (&self.notify, &self.notify_secret_file) {
            (Some(url), Some(file)) => Ok(Some(notice_target(url, file)?)),
            (Some(_), None) => Err(NoticeArgumentError::NoSecret),
            (None, _) => Ok(None),
        }
    }
}
