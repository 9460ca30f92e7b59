//! Reloads of the settings at SIGHUP: what can change changes, and the rest is told.

use bitacora_server::{LiveSettings, NoticeTarget, ReloadOutcome};
use bitacora_settings::Setting;
use tokio::signal::unix::Signal;

use super::{ServeError, ServeSettings, SettingsReader, examine};
use crate::error::CommandError;
use crate::terminal::logging::RunningLog;

/// The settings that may change while the service runs, by name.
const LIVE_SETTINGS: [&str; 7] = [
    "archive-after",
    "archive-over",
    "keep-archived-segments",
    "log-filter",
    "notify",
    "notify-secret-file",
    "require-models",
];
/// The setting that begins and ends notices.
const NOTIFY: &str = "notify";

/// The reader of settings, and those in effect.
pub(super) struct Reloads {
    pub(super) read: SettingsReader,
    pub(super) log: RunningLog,
    /// The settings in effect.
    pub(super) running: Vec<Setting>,
}

/// Settings that were read again, each of them checked.
struct NewSettings {
    settings: ServeSettings,
    notices: Option<NoticeTarget>,
}

impl Reloads {
    /// Reads the settings again at each of these signals, until the service ends.
    pub(super) async fn run(mut self, mut hangups: Signal, live: LiveSettings) {
        while hangups.recv().await.is_some() {
            let read = std::sync::Arc::clone(&self.read);
            // Files may be slow, and requests are served meanwhile.
            let new =
                tokio::task::spawn_blocking(move || checked(&read).map_err(|error| error.to_string())).await;
            let outcome = match new {
                Ok(Ok(new)) => {
                    self.apply(new, &live);
                    ReloadOutcome::Done
                }
                Ok(Err(error)) => {
                    tracing::error!(error, "the settings were read again and have a fault; nothing changed");
                    ReloadOutcome::Failed
                }
                Err(_) => {
                    tracing::error!("the settings could not be read again; nothing changed");
                    ReloadOutcome::Failed
                }
            };
            live.count_reload(outcome);
        }
    }

    /// Puts the settings that may change into effect, and tells which these were.
    fn apply(&mut self, new: NewSettings, live: &LiveSettings) {
        let NewSettings { settings: ServeSettings { serve, settings, .. }, notices } = new;
        let sends = has_value(&self.running, NOTIFY);
        let begins_or_ends = sends != has_value(&settings, NOTIFY);
        let can_change =
            |name: &str| LIVE_SETTINGS.contains(&name) && !(name.starts_with(NOTIFY) && begins_or_ends);
        let (mut changed, mut waiting) = (Vec::new(), Vec::new());
        for setting in settings {
            let Some(running) = self.running.iter_mut().find(|running| running.name == setting.name) else {
                continue;
            };
            match running.values != setting.values {
                true if can_change(&setting.name) => {
                    changed.push(setting.name.clone());
                    *running = setting;
                }
                true => waiting.push(setting.name),
                false => (),
            }
        }
        self.log.set_filter(serve.log_filter.as_ref());
        live.set_required_models(serve.require_models);
        let (rules, releases) = serve.archiving.rules();
        live.set_archive_rules(&rules, releases);
        // Whatever the name of its file, the secret in it may be another one.
        if let Some(target) = notices.filter(|_| sends) {
            live.set_notice_target(target);
        }
        tracing::info!(changed = names(&changed), "the settings were read again");
        if !waiting.is_empty() {
            tracing::warn!(settings = names(&waiting), "these settings changed and need a restart");
        }
    }
}

fn checked(read: &SettingsReader) -> Result<NewSettings, CommandError> {
    let settings = read()?;
    // A file that is being written may be empty, or a pipe that was read at the start: defaults are in nobody's mind.
    if settings.file_settings == 0 {
        return Err(ServeError::EmptySettings.into());
    }
    examine(&settings)?;
    let notices = settings.serve.notices.target().map_err(ServeError::from)?;
    Ok(NewSettings { settings, notices })
}

fn has_value(settings: &[Setting], name: &str) -> bool {
    settings.iter().any(|setting| setting.name == name && !setting.values.is_empty())
}

fn names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
