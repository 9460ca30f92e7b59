//! The place of archives: a folder, or a prefix in an object store.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::store_url::{StoreUrl, StoreUrlError};

/// A folder, or a place in an object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchivePlace {
    /// A folder of this machine; made when the first archive is written.
    Folder(PathBuf),
    /// A prefix in a bucket.
    Store(StoreUrl),
}

/// A text that is no such place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchivePlaceError {
    /// Nothing.
    #[error("a folder, or the URL of an object store")]
    Nothing,
    /// A URL that is none of a store.
    #[error(transparent)]
    Url(#[from] StoreUrlError),
}

impl FromStr for ArchivePlace {
    type Err = ArchivePlaceError;

    fn from_str(text: &str) -> Result<Self, ArchivePlaceError> {
        match text {
            "" => Err(ArchivePlaceError::Nothing),
            url if StoreUrl::is_meant_by(url) => Ok(Self::Store(url.parse()?)),
            folder => Ok(Self::Folder(folder.into())),
        }
    }
}

impl From<PathBuf> for ArchivePlace {
    fn from(folder: PathBuf) -> Self {
        Self::Folder(folder)
    }
}

impl fmt::Display for ArchivePlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(formatter),
            Self::Store(url) => url.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_url_is_never_taken_for_a_folder() {
        assert_eq!("/x".parse(), Ok(ArchivePlace::Folder("/x".into())));
        assert_eq!("s3://b/x".parse(), Ok(ArchivePlace::Store("s3://b/x".parse().unwrap())));
        assert_eq!("".parse::<ArchivePlace>(), Err(ArchivePlaceError::Nothing));
        assert!(matches!("ftp://b/x".parse::<ArchivePlace>(), Err(ArchivePlaceError::Url(_))));
    }
}
