//! The encoder of a file: encoded rows to its bytes.

pub(crate) mod cloud_events;
pub(crate) mod csv;
pub(crate) mod ocsf;
mod parquet;

use bitacora_vocabulary::ExportFormat;

use self::parquet::ParquetEncoder;
use crate::row_encoder::EncodedRows;

pub use self::ocsf::OCSF_VERSION;
pub use self::parquet::ParquetFailure;

/// The reason why a row is not encoded.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The line is not one of a stored event.
    #[error(
        "the event at position {position} was not read as one: {source}; check that both sides are of one version"
    )]
    Line {
        /// Its position.
        position: u64,
        /// The reason.
        source: serde_json::Error,
    },
    /// Rows that were encoded for a file of another format.
    #[error("rows of another format came to the file; this is an error in Bitacora")]
    OtherFormat,
    /// The crate that writes Parquet refuses.
    #[error(transparent)]
    Parquet(#[from] ParquetFailure),
}

/// The encoder of one file.
#[derive(Debug)]
pub(crate) enum Encoder {
    JsonLines,
    CloudEvents,
    Csv,
    Ocsf,
    Parquet(Box<ParquetEncoder>),
}

impl Encoder {
    /// Returns the encoder at the beginning of a file, or behind bytes that an earlier one has left with this footer.
    ///
    /// # Errors
    /// The footer is none.
    pub(crate) fn new(format: ExportFormat, footer: Option<&str>) -> Result<Self, ParquetFailure> {
        Ok(match format {
            ExportFormat::Jsonl => Self::JsonLines,
            ExportFormat::Cloudevents => Self::CloudEvents,
            ExportFormat::Csv => Self::Csv,
            ExportFormat::Ocsf => Self::Ocsf,
            ExportFormat::Parquet => Self::Parquet(Box::new(ParquetEncoder::new(footer)?)),
        })
    }

    /// Appends the beginning of a file.
    pub(crate) fn begin(&self, out: &mut Vec<u8>) {
        match self {
            Self::Csv => csv::write_names(out),
            Self::Parquet(_) => out.extend_from_slice(parquet::MAGIC),
            Self::JsonLines | Self::CloudEvents | Self::Ocsf => (),
        }
    }

    /// Appends the rows of a batch behind `rows` others. `offset` is the length of the file before `out`.
    ///
    /// # Errors
    /// The crate that writes Parquet refuses.
    pub(crate) fn append(
        &mut self,
        batch: EncodedRows,
        (rows, offset): (u64, u64),
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        match (self, batch) {
            (Self::Parquet(encoder), EncodedRows::Columns(columns)) => {
                encoder.append(columns);
                if encoder.is_full() {
                    encoder.flush(offset, out)?;
                }
            }
            (Self::Parquet(_), EncodedRows::Bytes(_)) | (_, EncodedRows::Columns(_)) => {
                return Err(EncodeError::OtherFormat);
            }
            (encoder, EncodedRows::Bytes(mut bytes)) => {
                if matches!(encoder, Self::CloudEvents) && rows == 0 {
                    cloud_events::make_first(&mut bytes);
                }
                if out.is_empty() {
                    *out = bytes;
                } else {
                    out.extend_from_slice(&bytes);
                }
            }
        }
        Ok(())
    }

    /// Appends rows that are held back, so that the file holds all of them.
    ///
    /// # Errors
    /// The crate that writes Parquet refuses.
    pub(crate) fn settle(&mut self, offset: u64, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if let Self::Parquet(encoder) = self {
            encoder.flush(offset, out)?;
        }
        Ok(())
    }

    /// Returns the footer that another encoder needs to go on from here.
    ///
    /// # Errors
    /// The crate that writes Parquet refuses.
    pub(crate) fn footer(&self) -> Result<Option<String>, EncodeError> {
        match self {
            Self::Parquet(encoder) => Ok(Some(hex::encode(encoder.footer()?))),
            _ => Ok(None),
        }
    }

    /// Appends the end of a file, after [`Self::settle`].
    ///
    /// # Errors
    /// The crate that writes Parquet refuses.
    pub(crate) fn end(&self, rows: u64, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::CloudEvents => cloud_events::write_end(rows == 0, out),
            Self::Parquet(encoder) => out.extend_from_slice(&encoder.footer()?),
            Self::JsonLines | Self::Csv | Self::Ocsf => (),
        }
        Ok(())
    }
}
