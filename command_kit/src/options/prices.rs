//! The file with prices of models' tokens.

use std::path::Path;

use bitacora_report::Prices;

use crate::error::CommandFailure;
use crate::exit::Exit;
use crate::files::document::{Document, DocumentError, place_of};

/// The reason why there is no estimate.
#[derive(Debug, thiserror::Error)]
pub enum PricesFileError {
    /// The file cannot be read.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The file holds no list of prices.
    #[error("{place}: {source}")]
    Prices {
        /// The file, or `stdin`.
        place: String,
        /// The error in the list.
        source: bitacora_report::PricesError,
    },
}

impl CommandFailure for PricesFileError {
    fn exit(&self) -> Exit {
        match self {
            Self::Document(error) => error.exit(),
            Self::Prices { .. } => Exit::Failed,
        }
    }
}

/// Reads the list of prices in this file; `-` is stdin.
pub fn read_prices(file: &Path) -> Result<Prices, PricesFileError> {
    let document = Document::read(file)?;
    Prices::parse(document.text()).map_err(|source| PricesFileError::Prices { place: place_of(file), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_of_prices_is_refused_by_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("prices.json");
        for text in ["", "{}", r#"[{"model":"m","in":"1","out":"-2"}]"#] {
            std::fs::write(&file, text).unwrap();
            let said = read_prices(&file).unwrap_err().to_string();
            assert!(said.contains("prices.json: "), "{said}");
        }
    }
}
