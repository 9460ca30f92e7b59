//! Apache Parquet, a row group after the other, so that a file can be gone on with behind any of them.
//!
//! A row group is written as a small file of its own in memory. Its bytes are appended to the file, and its metadata is kept with the offsets
//! moved to where it stands there. The footer names all row groups and ends the file.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader, ParquetMetaDataWriter,
    RowGroupMetaData,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, Type, TypePtr};

use crate::column_buffer::RowColumns;
use crate::columns::{COLUMNS, ColumnType, ExportColumn};

/// The first and the last bytes of a file.
pub(crate) const MAGIC: &[u8] = b"PAR1";
/// Bytes of a footer behind its metadata: their length and the magic.
const FOOTER_TAIL_BYTES: usize = 8;
/// Bytes of cells of a row group, before they are encoded.
const ROW_GROUP_BYTES: usize = 32 * 1024 * 1024;
/// Rows of a row group.
const ROW_GROUP_ROWS: usize = 1024 * 1024;
/// Columns whose values seldom repeat: a dictionary would only cost.
const UNIQUE_COLUMNS: [&str; 5] = ["position", "id", "commitment", "data", "data_base64"];

/// The refusal of the crate that writes Parquet.
#[derive(Debug, thiserror::Error)]
#[error("a row group cannot be written as Parquet: {0}; export as jsonl")]
pub struct ParquetFailure(String);

impl From<ParquetError> for ParquetFailure {
    fn from(error: ParquetError) -> Self {
        Self(error.to_string())
    }
}

/// The encoder of one file.
#[derive(Debug)]
pub(crate) struct ParquetEncoder {
    schema: TypePtr,
    properties: WriterPropertiesPtr,
    /// The rows of the row group to come, as they were handed over.
    batches: Vec<RowColumns>,
    rows: usize,
    bytes: usize,
    written: Vec<RowGroupMetaData>,
}

impl ParquetEncoder {
    /// Returns the encoder at the beginning of a file, or behind the row groups that this footer in hexadecimal names.
    ///
    /// # Errors
    /// The footer is none.
    pub(crate) fn new(footer: Option<&str>) -> Result<Self, ParquetFailure> {
        let footer = footer.map(hex::decode).transpose();
        let footer =
            footer.map_err(|error| ParquetFailure(format!("the footer of the part is none: {error}")))?;
        let written = footer.map(|footer| row_groups(&footer)).transpose()?.unwrap_or_default();
        Ok(Self {
            schema: schema()?,
            properties: properties(),
            batches: Vec::new(),
            rows: 0,
            bytes: 0,
            written,
        })
    }

    /// Takes rows in.
    pub(crate) fn append(&mut self, columns: RowColumns) {
        self.rows += columns.rows;
        self.bytes += columns.bytes;
        // A filter may leave nothing of a batch.
        if columns.rows > 0 {
            self.batches.push(columns);
        }
    }

    /// Returns `true` if the row group is large enough.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= ROW_GROUP_BYTES || self.rows >= ROW_GROUP_ROWS
    }

    /// Appends the row group, if it has a row. `offset` is the length of the file before `out`.
    ///
    /// # Errors
    /// The crate that writes it refuses.
    pub(crate) fn flush(&mut self, offset: u64, out: &mut Vec<u8>) -> Result<(), ParquetFailure> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(self.bytes / 2);
        let mut file =
            SerializedFileWriter::new(&mut bytes, Arc::clone(&self.schema), Arc::clone(&self.properties))?;
        let mut group = file.next_row_group()?;
        for number in 0..COLUMNS.len() {
            let column = group.next_column()?;
            let mut column = column.ok_or_else(|| ParquetFailure("a column is missing".to_owned()))?;
            self.batches.iter_mut().try_for_each(|batch| batch.write(number, &mut column))?;
            column.close()?;
        }
        self.batches.clear();
        group.close()?;
        let metadata = file.finish()?;
        let group = metadata.row_groups().first().cloned();
        drop(file);
        let group = group.ok_or_else(|| ParquetFailure("the row group is missing".to_owned()))?;
        let begin = offset + out.len() as u64;
        let end = group.columns().iter().map(|column| {
            let (start, length) = column.byte_range();
            start + length
        });
        let end = usize::try_from(end.max().unwrap_or_default()).unwrap_or(usize::MAX);
        out.extend_from_slice(bytes.get(MAGIC.len()..end).unwrap_or_default());
        self.written.push(moved(group, begin, self.written.len())?);
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    /// Returns the footer over the row groups so far. It is the same whether or not the file was gone on with: metadata loses some
    /// hints when it is read back, so all of it is read back once.
    ///
    /// # Errors
    /// The crate that writes it refuses.
    pub(crate) fn footer(&self) -> Result<Vec<u8>, ParquetFailure> {
        let first = self.footer_over(&self.written)?;
        self.footer_over(&row_groups(&first)?)
    }

    fn footer_over(&self, groups: &[RowGroupMetaData]) -> Result<Vec<u8>, ParquetFailure> {
        let rows = groups.iter().map(RowGroupMetaData::num_rows).sum();
        let schema = Arc::new(SchemaDescriptor::new(Arc::clone(&self.schema)));
        let created_by = Some(self.properties.created_by().to_owned());
        let version = self.properties.writer_version().as_num();
        let file = FileMetaData::new(version, rows, created_by, None, schema, None);
        let metadata = ParquetMetaDataBuilder::new(file).set_row_groups(groups.to_vec()).build();
        let mut footer = Vec::new();
        ParquetMetaDataWriter::new(&mut footer, &metadata).finish()?;
        Ok(footer)
    }
}

fn schema() -> Result<TypePtr, ParquetFailure> {
    let mut fields = Vec::new();
    for column in COLUMNS {
        let (physical, logical, repetition) = match column.of_type() {
            ColumnType::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String), Repetition::OPTIONAL),
            ColumnType::Json => (PhysicalType::BYTE_ARRAY, Some(LogicalType::Json), Repetition::OPTIONAL),
            ColumnType::Time => {
                let time = LogicalType::timestamp(true, TimeUnit::MICROS);
                (PhysicalType::INT64, Some(time), Repetition::OPTIONAL)
            }
            ColumnType::Integer => (PhysicalType::INT64, None, Repetition::REQUIRED),
            ColumnType::Boolean => (PhysicalType::BOOLEAN, None, Repetition::REQUIRED),
        };
        let field = Type::primitive_type_builder(column.name(), physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()?;
        fields.push(Arc::new(field));
    }
    Ok(Arc::new(Type::group_type_builder("event").with_fields(fields).build()?))
}

fn properties() -> WriterPropertiesPtr {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by(concat!("bitacora ", env!("CARGO_PKG_VERSION")).to_owned());
    let unique = UNIQUE_COLUMNS.iter().fold(properties, |properties, column| {
        properties.set_column_dictionary_enabled(ColumnPath::from(*column), false)
    });
    let large = |column: &&ExportColumn| matches!(column.of_type(), ColumnType::Json);
    let properties = COLUMNS.iter().filter(large).fold(unique, |properties, column| {
        properties.set_column_statistics_enabled(ColumnPath::from(column.name()), EnabledStatistics::None)
    });
    Arc::new(properties.build())
}

/// Returns the row groups that a footer names.
fn row_groups(footer: &[u8]) -> Result<Vec<RowGroupMetaData>, ParquetFailure> {
    let metadata = footer.len().checked_sub(FOOTER_TAIL_BYTES).and_then(|length| footer.get(..length));
    let metadata =
        metadata.ok_or_else(|| ParquetFailure("the footer of the part is too short".to_owned()))?;
    Ok(ParquetMetaDataReader::decode_metadata(metadata)?.row_groups().to_vec())
}

/// Returns the metadata of a row group that stood behind the magic, at the place where it stands now.
fn moved(group: RowGroupMetaData, begin: u64, ordinal: usize) -> Result<RowGroupMetaData, ParquetFailure> {
    let too_far = |_| ParquetFailure("the file is too long".to_owned());
    let by = i64::try_from(begin).map_err(too_far)? - MAGIC.len() as i64;
    let move_column = |column: &ColumnChunkMetaData| {
        let dictionary = column.dictionary_page_offset().map(|offset| offset + by);
        column
            .clone()
            .into_builder()
            .set_data_page_offset(column.data_page_offset() + by)
            .set_dictionary_page_offset(dictionary)
            .build()
    };
    let columns = group.columns().iter().map(move_column).collect::<Result<_, _>>()?;
    let offset = group.file_offset().map(|offset| offset + by);
    let mut builder = group.into_builder().set_column_metadata(columns);
    // Readers take the number of a row group from its place where there are more than the member can count.
    if let Ok(ordinal) = i16::try_from(ordinal) {
        builder = builder.set_ordinal(ordinal.into());
    }
    if let Some(offset) = offset {
        builder = builder.set_file_offset(offset);
    }
    Ok(builder.build()?)
}
