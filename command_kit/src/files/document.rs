//! JSON from a user, on the command line or in a file, that is sent unchanged.

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::CommandFailure;
use crate::exit::Exit;
use crate::files::input_file;

/// The size limit of a document: the same as the service's of a request.
const MAX_DOCUMENT_BYTES: usize = 4 * 1024 * 1024;

/// One JSON value, byte for byte but for the space around it.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Document(Box<RawValue>);

/// A request whose arguments are sent byte for byte.
#[derive(Serialize)]
pub struct WithArgs<T> {
    /// All other members.
    #[serde(flatten)]
    pub rest: T,
    /// The arguments.
    pub args: Document,
}

/// The reason why a document is not sent.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The file cannot be read.
    #[error("{place}: {source}; nothing was sent")]
    File {
        /// The file, or `stdin`.
        place: String,
        /// The error of the disk.
        source: io::Error,
    },
    /// The document is too long.
    #[error("{place}: longer than {MAX_DOCUMENT_BYTES} bytes; nothing was sent")]
    Long {
        /// The file, or `stdin`.
        place: String,
    },
    /// The document is no JSON of the expected form.
    #[error("{place}: not what is expected: {what}; nothing was sent")]
    Unfit {
        /// The file, or `stdin`.
        place: String,
        /// The error of the parser.
        what: String,
    },
}

impl CommandFailure for DocumentError {
    fn exit(&self) -> Exit {
        match self {
            Self::File { .. } | Self::Long { .. } | Self::Unfit { .. } => Exit::Failed,
        }
    }
}

impl FromStr for Document {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map(Self).map_err(|error| format!("not JSON: {error}"))
    }
}

impl Document {
    /// Reads the document in this file; `-` is stdin.
    pub fn read(file: &Path) -> Result<Self, DocumentError> {
        let place = place_of(file);
        let path = if file == Path::new("-") { PathBuf::from("/dev/stdin") } else { file.to_owned() };
        let bytes = input_file::read(&path, MAX_DOCUMENT_BYTES)
            .map_err(|source| DocumentError::File { place: place.clone(), source })?;
        if bytes.len() > MAX_DOCUMENT_BYTES {
            return Err(DocumentError::Long { place });
        }
        let document = serde_json::from_slice(&bytes).map(Self);
        document.map_err(|error| DocumentError::Unfit { place, what: error.to_string() })
    }

    /// Returns the arguments of a call: those that are given, those in the file, or `{}`.
    pub fn of_call(given: Option<Self>, file: Option<&Path>) -> Result<Self, DocumentError> {
        match file {
            Some(file) => Self::read(file),
            None => {
                Ok(given.unwrap_or_else(|| Self(RawValue::from_string("{}".to_owned()).unwrap_or_default())))
            }
        }
    }

    /// Returns the JSON as it was written.
    pub fn text(&self) -> &str {
        self.0.get()
    }
}

/// Returns the name of a file in messages.
pub fn place_of(file: &Path) -> String {
    if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_kept_as_it_was_written_and_is_json() {
        let document: Document = " {\"a\" : 1e0} \n".parse().unwrap();
        assert_eq!(document.text(), "{\"a\" : 1e0}");
        for bad in ["", "{", "{} {}", "{},\"verdict\":1"] {
            assert!(bad.parse::<Document>().is_err(), "{bad}");
        }
    }
}
