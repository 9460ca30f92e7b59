//! `serve`: creates missing ledgers if it is told to, then serves until a signal ends it.

mod preflight;
mod reload;
pub(super) mod shutdown;

pub(crate) use preflight::examine;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bitacora_data_folder::{
    AdminTokenFile, AnchorTrust, KnownLedgersError, LedgerSetup, PreparedFolder, WitnessFailure,
    archive_store, environment_with_archives, refuse_in_data,
};
use bitacora_formats::LedgerName;
use bitacora_ledger::limits::SCRUB_BYTES_PER_S;
use bitacora_ledger::{IDLE_HEADS_EVERY, ScrubOptions};
use bitacora_server::{
    Admission, ArchiveSettings, CallerProtection, CloseFailures, DataError, LedgersConfig, ListenError,
    Origin, RequiredModel, Server, ServerConfig, ServerLimits, ServiceTls, StartError, TlsFileError,
    WarmBound, may_listen,
};
use bitacora_settings::Setting;
use clap::Args;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::LevelFilter;

use crate::commands::serve::reload::Reloads;
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::files::descriptors;
use crate::options::archiving_arguments::ArchivingArguments;
use crate::options::global::{DEFAULT_ADDRESS, Global};
use crate::options::notice_arguments::{NoticeArgumentError, NoticeArguments};
use crate::options::tls_arguments::{TlsArgumentError, TlsArguments};
use crate::options::witness_arguments::WitnessArguments;
use crate::terminal::logging::{self, LogFilter, LogForm};
use crate::terminal::output::Output;
use crate::terminal::passphrase::PASSPHRASE;
use crate::web_pages::{link_line, serve_console};

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Read settings from this TOML file. Variables and options override it; SIGHUP reads it again.
    #[arg(long, env = "BITACORA_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value_t = DEFAULT_ADDRESS)]
    listen: SocketAddr,
    /// A Unix socket to listen on too.
    #[arg(long, value_name = "PATH")]
    unix: Option<PathBuf>,
    /// Serve ledgers without tokens to everybody on this machine as admin, on loopback only. By default they get an admin token.
    #[arg(long)]
    open: bool,
    /// Allow web pages of this origin, https://HOST:PORT, to act here with a token. Pages of other origins are refused.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<Origin>,
    #[command(flatten)]
    tls: TlsArguments,
    /// Create this ledger if it is missing, with the data folder and the keyring.
    #[arg(long, value_name = "NAME")]
    create: Vec<LedgerName>,
    /// Give up this missing ledger, or declare that it is in another data folder; needed at every start while the anchor remembers it.
    #[arg(long, value_name = "NAME")]
    without_ledger: Vec<LedgerName>,
    /// Write nothing while the anchor is unreachable. [default: if an anchor has ever known a ledger of this keyring]
    #[arg(long)]
    anchor_required: bool,
    /// Sign a tree head this many seconds after the last one even without events, to show that none arrived.
    #[arg(long, value_name = "SECONDS", default_value_t = IDLE_HEADS_EVERY.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    idle_heads: u64,
    /// Read old segments and archives again and again to find damage, this many bytes a second in each ledger; 0 does not.
    #[arg(long, value_name = "BYTES", default_value_t = SCRUB_BYTES_PER_S)]
    scrub_rate: u64,
    /// Keep rows of read models on this disk for this long after their last event: `12mo`, `52w` or `365d`. Older ones are folded again
    /// from the log and its archives when asked for. [default: for good]
    #[arg(long, value_name = "TIME")]
    warm_for: Option<WarmBound>,
    /// Report not ready at /readyz while one of these read models is far behind or does not answer: `calls,trust`.
    #[arg(long, value_name = "MODELS", value_delimiter = ',')]
    require_models: Vec<RequiredModel>,
    #[command(flatten)]
    witnesses: WitnessArguments,
    #[command(flatten)]
    notices: NoticeArguments,
    #[command(flatten)]
    archiving: ArchivingArguments,
    /// The format of the log on stderr.
    #[arg(long, value_enum, default_value_t = LogForm::Text)]
    log: LogForm,
    /// Log what this filter lets through: `warn`, or `info,bitacora_server=debug`. [default: RUST_LOG, else info]
    #[arg(long, value_name = "FILTER")]
    log_filter: Option<LogFilter>,
}

/// The settings of a service as a whole: the options of one start, and where their values came from.
pub(crate) struct ServeSettings {
    pub(crate) global: Global,
    pub(crate) serve: ServeArguments,
    pub(crate) settings: Vec<Setting>,
    /// The settings file, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// The number of settings in that file, in effect or not.
    pub(crate) file_settings: usize,
    /// Variables that look like settings and are none, each with the nearest one.
    pub(crate) unknown_variables: Vec<(String, Option<String>)>,
}

/// A reader of the settings on this process's command line. It reads the file again each time.
pub(crate) type SettingsReader = Arc<dyn Fn() -> Result<ServeSettings, CommandError> + Send + Sync>;

/// The reason why the service did not start, or did not end cleanly.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Known(#[from] KnownLedgersError),
    #[error(transparent)]
    Witnesses(#[from] WitnessFailure),
    #[error(transparent)]
    Notices(#[from] NoticeArgumentError),
    #[error(transparent)]
    Tls(#[from] TlsFileError),
    #[error(transparent)]
    TlsArguments(#[from] TlsArgumentError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the settings file has no setting; replace it whole, by a rename")]
    EmptySettings,
    #[error("the system gives the service no threads or signals: {0}; it did not start")]
    Runtime(io::Error),
    #[error(transparent)]
    Close(#[from] CloseFailures),
}

impl CommandFailure for ServeError {
    fn exit(&self) -> Exit {
        match self {
            Self::Start(StartError::Listen(ListenError::NotLoopback(_) | ListenError::Unencrypted(_)))
            | Self::Notices(NoticeArgumentError::NoSecret)
            | Self::TlsArguments(_) => Exit::Usage,
            Self::Start(StartError::Data(DataError::RolledBack { .. }))
            | Self::Known(KnownLedgersError::Anchored { .. }) => Exit::Diverged,
            _ => Exit::Failed,
        }
    }
}

impl ServeArguments {
    /// Reads the certificate and its key, if they are named, and checks them.
    fn load_tls(&self) -> Result<Option<ServiceTls>, ServeError> {
        Ok(self.tls.files()?.map(ServiceTls::load).transpose()?)
    }

    fn protection(&self, tls: Option<&ServiceTls>) -> CallerProtection {
        let (is_open, has_tls, allows_remote) = (self.open, tls.is_some(), self.tls.allow_remote);
        CallerProtection { is_open, has_tls, allows_remote }
    }
}

pub(crate) fn run(read: SettingsReader, output: &mut Output) -> Result<Exit, CommandError> {
    let settings = read()?;
    let ServeSettings { global, serve: arguments, .. } = &settings;
    let log = logging::start_with(arguments.log, LevelFilter::INFO, arguments.log_filter.as_ref());
    report_settings(&settings);
    let (data, keyring) = (global.data()?, global.keyring()?);
    // Before the anchor, which lies beside it where nobody says otherwise.
    refuse_in_data(&keyring, Some(data))?;
    let place = global.archive_place(data);
    let objects = archive_store(place.clone());
    let environment = environment_with_archives(&objects);
    let trust = global.anchor_trust()?;
    let was_used = trust.required;
    let is_required = arguments.anchor_required && !global.anchor_optional;
    let trust = AnchorTrust { required: is_required || was_used, ..trust };
    let mut options = global.anchor()?.options(&environment, trust)?;
    if was_used && options.heads.as_ref().is_some_and(|heads| heads.anchor.is_none()) {
        tracing::warn!("an anchor was used with this keyring before, and this start compares with none");
    }
    if let Some(heads) = &mut options.heads {
        heads.idle_every = Duration::from_secs(arguments.idle_heads);
    }
    let scrub = ScrubOptions { bytes_per_s: arguments.scrub_rate, ..ScrubOptions::default() };
    options.scrub = Some(scrub).filter(|scrub| scrub.bytes_per_s > 0);
    let archiving = arguments.archiving.archiving(&objects, &place);
    let archiving = Some(ArchiveSettings { scrub: options.scrub, ..archiving });
    arguments.witnesses.add_to(&mut options).map_err(ServeError::from)?;
    let notices = arguments.notices.target().map_err(ServeError::from)?;
    let without = &arguments.without_ledger;
    let tls = arguments.load_tls()?;
    let setup = LedgerSetup {
        environment: &environment,
        data,
        keyring: &keyring,
        passphrase: PASSPHRASE,
        options: &options,
        without,
    };
    if setup.makes(&arguments.create)? {
        let may = may_listen(arguments.listen, arguments.protection(tls.as_ref()));
        may.map_err(|error| ServeError::Start(error.into()))?;
    }
    let first_token = AdminTokenFile::beside(&keyring, data);
    let admin_token = (!arguments.open).then(|| first_token.path().to_owned());
    let admission = match arguments.open {
        true => Admission::Open,
        false => Admission::Tokens(Arc::new(first_token)),
    };
    let PreparedFolder { keyring, mut known, folder, unlisted } = setup.run(&arguments.create)?;
    let keyring = Arc::new(keyring);
    let ledgers = LedgersConfig {
        data: data.to_owned(),
        keyring: Arc::clone(&keyring),
        // The folder that was found stays the service's, whatever stands under its name later.
        environment: folder.environment().clone(),
        options: options.clone(),
        read_models: true,
        recalls: Arc::default(),
    };
    let mut limits = ServerLimits::default();
    descriptors::allow_connections(&mut limits);
    let config = ServerConfig {
        addresses: vec![arguments.listen],
        tls: tls.map(Arc::new),
        allows_remote: arguments.tls.allow_remote,
        unix_socket: arguments.unix.clone(),
        admission,
        allowed_origins: arguments.allow_origin.clone(),
        notices,
        archiving,
        warm: arguments.warm_for,
        ledgers,
        unlisted,
        required_models: arguments.require_models.clone(),
        limits,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(ServeError::Runtime)?;
    let is_json = global.json;
    let reloads = settings.file.is_some().then(|| Reloads { read, log, running: settings.settings.clone() });
    let served = runtime.block_on(serve(config, admin_token, is_json, reloads, output));
    // Ledgers created over HTTP are listed too, however the service ended.
    let present = folder.ledger_names().map_err(ServeError::from)?;
    known.note(&present, &keyring).map_err(ServeError::from)?;
    served.map(|()| Exit::Done)
}

/// Tells where the settings are from, and of variables that are none.
fn report_settings(settings: &ServeSettings) {
    if let Some(file) = &settings.file {
        tracing::info!(file = %file.display(), "settings are read from this file; SIGHUP reads it again");
    }
    for (name, nearest) in &settings.unknown_variables {
        let nearest = nearest.as_deref().unwrap_or("none");
        tracing::warn!(name, nearest, "this variable is no setting, and is ignored");
    }
}

async fn serve(
    config: ServerConfig,
    admin_token: Option<PathBuf>,
    as_json: bool,
    reloads: Option<Reloads>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let shutdown = shutdown::asked().map_err(ServeError::Runtime)?;
    let (unix, data) = (config.unix_socket.clone(), config.ledgers.data.clone());
    let hangups = reloads.is_some().then(|| signal(SignalKind::hangup())).transpose();
    let hangups = hangups.map_err(ServeError::Runtime)?;
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let mut server = Server::bind(config).await.map_err(ServeError::from)?;
    if let Some((reloads, hangups)) = reloads.zip(hangups) {
        tokio::spawn(reloads.run(hangups, server.live_settings()));
    }
    let console = serve_console(&mut server);
    let address = server.local_addr();
    let http = address.map(|address| format!("{scheme}://{address}"));
    let unix = unix.map(|path| format!("unix:{}", path.display()));
    let listening: Vec<String> = http.iter().cloned().chain(unix).collect();
    if as_json {
        output.json(&json!({"listening": listening}))?;
    } else {
        output.line(format!("listening on {}", listening.join(" and ")))?;
        if let Some(address) = address {
            // No browser opens the address that stands for all of a machine's.
            let url = match address.ip().is_unspecified() {
                true => format!("{scheme}://localhost:{}", address.port()),
                false => format!("{scheme}://{address}"),
            };
            // On a terminal, and in no journal or file that keeps it.
            let link = match admin_token.filter(|_| output.is_terminal()) {
                Some(token) => console.admin_link(&token, &data).await,
                None => None,
            };
            let plain = || format!("{url}/console; `bitacora console` opens it, signed in");
            let console = link.map_or_else(plain, |link| link_line(&url, &link));
            output.line(format!("console at {console}"))?;
        }
    }
    // The service runs also if nobody reads the line.
    let _unread = output.flush().is_err();
    Ok(server.run(shutdown).await.map_err(ServeError::from)?)
}
