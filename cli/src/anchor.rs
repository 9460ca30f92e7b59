//! Where tree heads are remembered, outside the data folder: by default in a folder beside the keyring.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use bitacora_formats::LedgerName;
use bitacora_ledger::{Environment, FolderAnchor, HeadOptions, Options};

/// What the folder's name has behind the keyring's.
const BESIDE_KEYRING: &str = ".anchors";
/// What says that there is none.
const NONE: &str = "none";

/// Where the anchor is, as the command line says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnchorPlace {
    Folder(PathBuf),
    None,
}

impl FromStr for AnchorPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err(format!("a folder, or '{NONE}'")),
            NONE => Ok(Self::None),
            folder => Ok(Self::Folder(folder.into())),
        }
    }
}

impl AnchorPlace {
    /// The folder beside a keyring.
    pub(crate) fn beside(keyring: &Path) -> Self {
        let mut path = OsString::from(keyring);
        path.push(BESIDE_KEYRING);
        Self::Folder(path.into())
    }

    /// The folder, if there is one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::None => None,
        }
    }

    /// Where the last head of this ledger is remembered, if anywhere.
    pub(crate) fn file_of(&self, ledger: &LedgerName) -> Option<PathBuf> {
        Some(self.folder()?.join(FolderAnchor::file_name(ledger)))
    }

    /// How a ledger is opened whose heads are remembered there.
    pub(crate) fn options(&self, environment: &Environment, required: bool) -> Options {
        let anchor = self.folder().map(|folder| FolderAnchor::new(Arc::clone(&environment.disk), folder));
        let anchor = anchor.map(|anchor| Arc::new(anchor) as _);
        let heads = HeadOptions { anchor, anchor_required: required, ..HeadOptions::default() };
        Options { heads: Some(heads), ..Options::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_beside_the_keyring_under_a_name_of_its_own() {
        let beside = AnchorPlace::beside(Path::new("/keys/keyring"));
        assert_eq!(beside.folder(), Some(Path::new("/keys/keyring.anchors")));
    }

    #[test]
    fn none_is_a_word_and_nothing_is_a_mistake() {
        assert_eq!("none".parse(), Ok(AnchorPlace::None));
        assert_eq!("/x".parse(), Ok(AnchorPlace::Folder("/x".into())));
        assert!("".parse::<AnchorPlace>().is_err());
    }
}
