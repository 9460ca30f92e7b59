//! The global options, and the location of the ledger that they name.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bitacora_archiver::ArchiveLocation;
use bitacora_client::{Connection, LedgerDoubt, ServiceUrl, Token};
use bitacora_data_folder::{
    AnchorPlace, AnchorTrust, NamedToken, TokenError, admin_token_path, anchor_was_used, archive_store,
    archives_beside, environment_with_archives, lies_in_data, read_admin_token,
};
use bitacora_formats::LedgerName;
use bitacora_ledger::Environment;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args};

use crate::ledger_access::token_advice::note_places;
use crate::options::place_parser::PlaceParser;
use crate::options::trust_options::TrustOptions;
use crate::options::usage::UsageError;

/// The default address of the service: it listens there, and commands look for it there.
pub const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7717);
/// The ledger's default name.
pub const DEFAULT_LEDGER: &str = "main";
/// The keyring in the current folder, under its name in the documents. The admin token is looked for beside it.
const KEYRING_HERE: &str = "bitacora.keyring";

/// The global options.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Write JSON: one document on one line, or one item a line where items come one by one.
    #[arg(long, global = true)]
    pub json: bool,
    /// Show every column and text whole. By default tables fit the terminal.
    #[arg(long, global = true)]
    pub wide: bool,
    /// The data folder.
    #[arg(long, global = true, env = "BITACORA_DATA", value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// The keyring's file, outside the data folder. [default: bitacora/keyring in the configuration folder]
    #[arg(long, global = true, env = "BITACORA_KEYRING", value_name = "FILE")]
    keyring: Option<PathBuf>,
    /// The anchor: it remembers the last tree heads, so that an older copy of a ledger is refused. A folder,
    /// s3://BUCKET/PREFIX (gs://, az://; credentials from the environment), or 'none'. [default: the keyring's name
    /// with .anchors]
    #[arg(long, global = true, env = "BITACORA_ANCHOR", hide_env_values = true, value_name = "PLACE", value_parser = PlaceParser::<AnchorPlace>::new())]
    anchor: Option<AnchorPlace>,
    /// The store of archives: a folder, or s3://BUCKET/PREFIX (gs://, az://; credentials from the environment).
    /// [default: archives in the data folder]
    #[arg(long, global = true, env = "BITACORA_ARCHIVE_STORE", hide_env_values = true, value_name = "PLACE", value_parser = PlaceParser::<ArchiveLocation>::new())]
    archive_store: Option<ArchiveLocation>,
    /// Accept an anchor that does not know a ledger, and record the present tree heads in it. Refused by default.
    #[arg(long, global = true)]
    pub new_anchor: bool,
    /// Continue while the anchor is unreachable, even one that knows the ledger. An older copy then opens unnoticed.
    #[arg(long, global = true)]
    pub anchor_optional: bool,
    /// The service: http://HOST:PORT, https://HOST:PORT or unix:PATH. [default: http://127.0.0.1:7717, where no data folder is named]
    #[arg(long, global = true, env = "BITACORA_URL", value_name = "URL")]
    pub url: Option<ServiceUrl>,
    #[command(flatten)]
    trust: TrustOptions,
    /// The file with the token for the service. [default: the token in BITACORA_TOKEN; else the admin token
    /// beside the keyring, for a service on this machine and not for `decide` and `outcome`]
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The ledger's name.
    #[arg(long, global = true, env = "BITACORA_LEDGER", value_name = "NAME", default_value = DEFAULT_LEDGER)]
    pub ledger: LedgerName,
    #[arg(skip)]
    given: GivenOptions,
    /// The doubt about the ledger that was named in answers.
    #[arg(skip)]
    pub doubt: LedgerDoubt,
}

/// The options given on the command line itself, apart from variables and defaults.
#[derive(Debug, Clone, Default)]
struct GivenOptions {
    /// Set when the data folder or the service stands on the command line.
    place: bool,
    /// Set when the ledger's name stands on the command line.
    ledger: bool,
    /// Set when the command has chosen the place by [`Global::place`].
    is_chosen: Arc<AtomicBool>,
}

/// The place of a ledger.
pub enum LedgerLocation<'a> {
    /// The address of a service.
    Service(ServiceUrl),
    /// A ledger in this data folder.
    Folder(&'a Path),
}

impl Global {
    /// Records the options on the command line itself: a place there beats every variable.
    ///
    /// # Errors
    /// [`UsageError::TwoPlaces`], unless the command works on a folder and a service at once.
    pub fn settle(&mut self, matches: &ArgMatches, takes_both: bool) -> Result<(), UsageError> {
        let is_said = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
        let (data, url) = (is_said("data"), is_said("url"));
        (self.given.place, self.given.ledger) = (data || url, is_said("ledger"));
        self.url = self.url.take().map(|url| url.trusting(self.trust.trust()));
        match (data, url) {
            _ if takes_both => {}
            (true, true) => return Err(UsageError::TwoPlaces),
            (true, false) => self.url = None,
            (false, true) => self.data = None,
            (false, false) => {}
        }
        Ok(())
    }

    /// Returns `true` if the ledger's name stands on the command line.
    pub fn is_ledger_named(&self) -> bool {
        self.given.ledger
    }

    /// Describes the ledger that was asked, where the command line itself does not name its place.
    pub fn asked_elsewhere(&self) -> Option<String> {
        if self.given.place || !self.given.is_chosen.load(Ordering::Relaxed) {
            return None;
        }
        let (place, said) = match (&self.url, &self.data) {
            (Some(url), _) => (format!("at {url}"), "BITACORA_URL"),
            (None, Some(data)) => (format!("in {}", data.display()), "BITACORA_DATA"),
            (None, None) => (format!("at http://{DEFAULT_ADDRESS}"), "the usual address"),
        };
        Some(format!("ledger {} {place} ({said})", self.ledger))
    }

    /// Returns the data folder, which the command cannot do without.
    pub fn data(&self) -> Result<&Path, UsageError> {
        self.data.as_deref().ok_or(UsageError::Data)
    }

    /// Returns the place of the ledger: the service that is named, else the data folder that is named, else the service
    /// at its default address.
    pub fn place(&self) -> LedgerLocation<'_> {
        self.given.is_chosen.store(true, Ordering::Relaxed);
        match (&self.url, self.data.as_deref()) {
            (Some(url), _) => LedgerLocation::Service(url.clone()),
            (None, Some(data)) => LedgerLocation::Folder(data),
            (None, None) => LedgerLocation::Service(ServiceUrl::Tcp(DEFAULT_ADDRESS.to_string())),
        }
    }

    /// Returns a connection to the service at `url`, with the token for it.
    pub fn client(&self, url: &ServiceUrl) -> Result<Connection, TokenError> {
        let token = match self.named_token()? {
            NamedToken::Token(token) => Some(token),
            NamedToken::Nothing => None,
            // A token that nobody named is sent to no other machine.
            NamedToken::Unsaid if url.is_on_this_machine() => self.admin_token()?,
            NamedToken::Unsaid => None,
        };
        Ok(Connection::new(url.clone(), token).noting(&self.doubt))
    }

    /// Returns the token of an agent: one that is named. The admin token is never taken for it.
    pub fn agents_token(&self) -> Result<Option<Token>, TokenError> {
        Ok(match self.named_token()? {
            NamedToken::Token(token) => Some(token),
            NamedToken::Nothing | NamedToken::Unsaid => None,
        })
    }

    fn named_token(&self) -> Result<NamedToken, TokenError> {
        NamedToken::read(self.token_file.as_deref(), self.data.as_deref())
    }

    /// Returns the admin token beside the keyring that is named. If none is named, looks beside `bitacora.keyring` in
    /// the current folder, then beside the keyring in the user's configuration folder.
    fn admin_token(&self) -> Result<Option<Token>, TokenError> {
        let keyrings = match &self.keyring {
            Some(keyring) => vec![keyring.clone()],
            None => [Some(PathBuf::from(KEYRING_HERE)), default_keyring()].into_iter().flatten().collect(),
        };
        let places: Vec<_> = keyrings.iter().map(|keyring| admin_token_path(keyring)).collect();
        for place in &places {
            if let Some(token) = read_admin_token(place, self.data.as_deref())? {
                return Ok(Some(token));
            }
        }
        note_places(places);
        Ok(None)
    }

    /// Returns the keyring's file: the one that was named, else the one in the user's configuration folder.
    pub fn keyring(&self) -> Result<PathBuf, UsageError> {
        self.keyring.clone().or_else(default_keyring).ok_or(UsageError::Keyring)
    }

    /// Returns `true` if there is a keyring to read: one was named, or one lies in the user's configuration folder.
    pub fn has_keyring(&self) -> bool {
        self.keyring.is_some() || default_keyring().is_some_and(|path| path.exists())
    }

    /// Returns the anchor that the command line names, if it names one.
    ///
    /// # Errors
    /// [`UsageError::AnchorInData`].
    pub fn named_anchor(&self) -> Result<Option<&AnchorPlace>, UsageError> {
        self.anchor.as_ref().map(|anchor| self.outside_data(anchor).map(|()| anchor)).transpose()
    }

    /// Returns the place of the anchor: the one that is named, else the one beside the keyring.
    pub fn anchor(&self) -> Result<AnchorPlace, UsageError> {
        let anchor = self.anchor.clone().map_or_else(|| Ok(AnchorPlace::beside(&self.keyring()?)), Ok)?;
        self.outside_data(&anchor)?;
        Ok(anchor)
    }

    /// Returns the requirements on every opening for writing: once an anchor has remembered a ledger of this keyring,
    /// it has to answer.
    pub fn anchor_trust(&self) -> Result<AnchorTrust, UsageError> {
        let was_used = anchor_was_used(&self.keyring()?);
        Ok(AnchorTrust { required: was_used && !self.anchor_optional, is_new: self.new_anchor })
    }

    /// Returns the store of archives: the one that is named, else the one beside the ledgers of this data folder.
    pub fn archive_place(&self, data: &Path) -> ArchiveLocation {
        self.archive_store.clone().unwrap_or_else(|| archives_beside(data))
    }

    /// Returns the environment for ledgers in this data folder.
    pub fn environment(&self, data: &Path) -> Environment {
        environment_with_archives(&archive_store(self.archive_place(data)))
    }

    fn outside_data(&self, anchor: &AnchorPlace) -> Result<(), UsageError> {
        match (anchor, &self.data) {
            (AnchorPlace::Folder(path), Some(data)) if lies_in_data(path, data) => {
                Err(UsageError::AnchorInData { path: path.clone(), data: data.clone() })
            }
            _ => Ok(()),
        }
    }
}

/// Returns `true` if the value of a global option, named as on the command line, is a folder and no URL or word.
pub fn is_folder(option: &str, value: &str) -> bool {
    match option {
        "anchor" => matches!(value.parse(), Ok(AnchorPlace::Folder(_))),
        "archive-store" => matches!(value.parse(), Ok(ArchiveLocation::Folder(_))),
        _ => false,
    }
}

/// Returns the keyring's default path by the XDG base directory specification: a configuration folder that is not
/// absolute does not count.
fn default_keyring() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("bitacora").join("keyring"))
}
