//! The anchor: a memory of tree heads outside the data folder, by default beside the keyring.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use bitacora_archiver::{
    ArchiveLocation, ArchiveLocationError, ObjectAnchor, StoreError, StoreSettings, StoreUrl,
};
use bitacora_formats::LedgerName;
use bitacora_ledger::{Anchor, AnchorError, Environment, FolderAnchor, HeadOptions, Options, ReactorChoice};

use crate::durable_file;

/// The suffix of the folder's name, behind the keyring's name.
const BESIDE_KEYRING: &str = ".anchors";
/// The suffix, behind the keyring's name, of the file that records that an anchor was used.
const USED: &str = ".anchored";
/// The word for no anchor.
const NONE: &str = "none";

/// The place of the anchor. Its text is a folder, the URL of an object store, or `none`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnchorPlace {
    /// A folder of this machine.
    Folder(PathBuf),
    /// An object store.
    Store(StoreUrl),
    /// No anchor.
    None,
}

/// The requirements on an anchor before a ledger is opened for writing.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnchorTrust {
    /// Set when the anchor has to answer.
    pub required: bool,
    /// Set when the anchor may remember nothing of a ledger that has tree heads.
    pub is_new: bool,
}

/// The reason why the memory of an anchor in a store is unknown.
#[derive(Debug, thiserror::Error)]
pub enum AnchoredHeadError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store gives no answer, or another one than an anchor's.
    #[error("{anchor}: {source}")]
    Unreachable {
        /// The anchor.
        anchor: String,
        /// The error of the request.
        source: io::Error,
    },
    /// The anchor has no tree head of this ledger.
    #[error("{0}: no tree head is remembered there")]
    Nothing(String),
}

impl FromStr for AnchorPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == NONE {
            return Ok(Self::None);
        }
        match text.parse() {
            Ok(ArchiveLocation::Folder(folder)) => Ok(Self::Folder(folder)),
            Ok(ArchiveLocation::Store(url)) => Ok(Self::Store(url)),
            Err(ArchiveLocationError::Nothing) => {
                Err(format!("a folder, the URL of an object store, or '{NONE}'"))
            }
            Err(ArchiveLocationError::Url(error)) => Err(error.to_string()),
        }
    }
}

impl From<PathBuf> for AnchorPlace {
    fn from(folder: PathBuf) -> Self {
        Self::Folder(folder)
    }
}

impl AnchorPlace {
    /// Returns the folder beside a keyring.
    #[must_use]
    pub fn beside(keyring: &Path) -> Self {
        Self::Folder(folder_beside(keyring))
    }

    /// Returns the file of this ledger's last head, if the anchor is a folder.
    #[must_use]
    pub fn file_of(&self, ledger: &LedgerName) -> Option<PathBuf> {
        match self {
            Self::Folder(folder) => Some(folder.join(FolderAnchor::file_name(ledger))),
            Self::Store(_) | Self::None => None,
        }
    }

    /// Returns the last head of this ledger in a store, and its place there; `None` if the anchor is no store.
    ///
    /// # Errors
    /// A store that remembers no head of it, or that cannot be asked.
    pub fn stored_head(&self, ledger: &LedgerName) -> Result<Option<(String, String)>, AnchoredHeadError> {
        let Self::Store(url) = self else { return Ok(None) };
        let anchor = ObjectAnchor::open(url.clone(), &StoreSettings::from_environment())?;
        let recalled = anchor.load(ledger).map_err(|error| match error {
            AnchorError::Unreachable { anchor, source } => AnchoredHeadError::Unreachable { anchor, source },
            other @ (AnchorError::Moved { .. } | AnchorError::Damaged { .. }) => {
                AnchoredHeadError::Unreachable { anchor: url.to_string(), source: io::Error::other(other) }
            }
        });
        let shown = anchor.shown(ledger);
        match recalled? {
            Some(head) => Ok(Some((shown, head))),
            None => Err(AnchoredHeadError::Nothing(shown)),
        }
    }

    /// Returns the options for opening a ledger with this anchor.
    ///
    /// # Errors
    /// A store that cannot be used with the settings of the environment.
    pub fn options(&self, environment: &Environment, trust: AnchorTrust) -> Result<Options, StoreError> {
        let anchor: Option<Arc<dyn Anchor>> = match self {
            Self::Folder(folder) => Some(in_folder(environment, folder)),
            Self::Store(url) => {
                Some(Arc::new(ObjectAnchor::open(url.clone(), &StoreSettings::from_environment())?))
            }
            Self::None => None,
        };
        Ok(with_anchor(anchor, trust))
    }
}

/// Returns the options for opening a ledger with the anchor beside the keyring.
#[must_use]
pub fn options_with_anchor_beside(keyring: &Path, environment: &Environment) -> Options {
    with_anchor(Some(in_folder(environment, &folder_beside(keyring))), AnchorTrust::default())
}

fn folder_beside(keyring: &Path) -> PathBuf {
    beside(keyring, BESIDE_KEYRING)
}

fn beside(keyring: &Path, ending: &str) -> PathBuf {
    let mut path = OsString::from(keyring);
    path.push(ending);
    path.into()
}

/// Returns `true` if a file beside this keyring records that an anchor has remembered a ledger of it. Returns `true` as
/// well if that file cannot be looked for.
#[must_use]
pub fn anchor_was_used(keyring: &Path) -> bool {
    beside(keyring, USED).try_exists().unwrap_or(true)
}

/// Records beside the keyring that an anchor remembers a ledger of it. Returned `Ok` ⇒ durable.
pub(crate) fn note_used(keyring: &Path) -> io::Result<()> {
    if anchor_was_used(keyring) {
        return Ok(());
    }
    durable_file::replace(&beside(keyring, USED), b"an anchor remembers ledgers of this keyring\n")
}

fn in_folder(environment: &Environment, folder: &Path) -> Arc<dyn Anchor> {
    Arc::new(FolderAnchor::new(Arc::clone(&environment.disk), folder))
}

fn with_anchor(anchor: Option<Arc<dyn Anchor>>, trust: AnchorTrust) -> Options {
    let AnchorTrust { required: anchor_required, is_new: anchor_is_new } = trust;
    let heads = HeadOptions { anchor, anchor_required, anchor_is_new, ..HeadOptions::default() };
    Options { heads: Some(heads), governing: ReactorChoice::Governance, ..Options::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_beside_the_keyring_under_a_name_of_its_own() {
        let beside = AnchorPlace::beside(Path::new("/keys/keyring"));
        assert_eq!(beside, AnchorPlace::Folder("/keys/keyring.anchors".into()));
    }

    #[test]
    fn none_is_a_word_and_nothing_is_a_mistake() {
        assert_eq!("none".parse(), Ok(AnchorPlace::None));
        assert_eq!("/x".parse(), Ok(AnchorPlace::Folder("/x".into())));
        assert!("".parse::<AnchorPlace>().is_err());
    }

    #[test]
    fn what_looks_like_a_url_is_never_taken_for_a_folder() {
        assert_eq!("s3://b/x".parse(), Ok(AnchorPlace::Store("s3://b/x".parse().unwrap())));
        for wrong in ["ftp://b/x", "s3:///", "s3://key:secret@b"] {
            assert!(wrong.parse::<AnchorPlace>().is_err(), "{wrong}");
        }
    }
}
