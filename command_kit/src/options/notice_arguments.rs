//! The webhook for notices to operators, as named on the command line.

use std::path::PathBuf;

use bitacora_data_folder::{NoticeFailure, notice_target};
use bitacora_server::NoticeTarget;
use clap::Args;

/// The webhook of notices, and the secret that signs them.
#[derive(Debug, Args)]
pub struct NoticeArguments {
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

impl NoticeArguments {
    /// Returns the webhook, if one is named.
    pub fn target(&self) -> Result<Option<NoticeTarget>, NoticeFailure> {
        let (Some(url), Some(file)) = (&self.notify, &self.notify_secret_file) else { return Ok(None) };
        notice_target(url, file).map(Some)
    }
}
