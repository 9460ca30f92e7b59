//! The place of archives: a folder, or a prefix in an object store.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::store_url::{StoreUrl, StoreUrlError};

/// A folder, or a place in an object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveLocation {
    /// A folder of this machine; made when the first archive is written.
    Folder(PathBuf),
    /// A prefix in a bucket.
    Store(StoreUrl),
}

/// A text that is no such place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveLocationError {
    /// Nothing.
    #[error("a folder, or the URL of an object store")]
    Nothing,
    /// A URL that is none of a store.
    #[error(transparent)]
    Url(#[from] StoreUrlError),
}

impl FromStr for ArchiveLocation {
    type Err = ArchiveLocationError;

    fn from_str(text: &str) -> Result<Self, ArchiveLocationError> {
        match text {
            "" => Err(ArchiveLocationError::Nothing),
            url if StoreUrl::is_store_url(url) => Ok(Self::Store(url.parse()?)),
            folder => Ok(Self::Folder(folder.into())),
        }
    }
}

impl From<PathBuf> for ArchiveLocation {
    fn from(folder: PathBuf) -> Self {
        Self::Folder(folder)
    }
}

impl fmt::Display for ArchiveLocation {
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
        assert_eq!("/x".parse(), Ok(ArchiveLocation::Folder("/x".into())));
        assert_eq!("s3://b/x".parse(), Ok(ArchiveLocation::Store("s3://b/x".parse().unwrap())));
        assert_eq!("".parse::<ArchiveLocation>(), Err(ArchiveLocationError::Nothing));
        assert!(matches!("ftp://b/x".parse::<ArchiveLocation>(), Err(ArchiveLocationError::Url(_))));
    }
}
