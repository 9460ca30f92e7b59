//! A group as one blob: header, directory, blocks; and rows put together from columns.

use zstd::bulk;

use super::blocks::{Streams, compress_behind, decompress, pack};
use super::form::{DataForm, ExtensionForm, Forms, WHOLE};
use super::gather::{Gathered, gather};
use super::limits::MAX_DIRECTORY_BYTES;
use super::node::column;
use super::reader::Reader;
use super::record_layout::{OPTIONAL_ATTRIBUTES, put_int, put_text};
use super::shape::{BARE_HOLE, STRING_HOLE};
use super::table::Span;
use super::varint::Input;
use super::writer::write_columns;
use super::{
    COLUMNS_FORMAT, COLUMNS_MAGIC, ColumnRow, ColumnsError, MAX_GROUP_BYTES, MAX_GROUP_ROWS, Place, Rows,
};
use crate::ids::{Micros, StreamVersion};
use crate::record::RECORD_FORMAT;

/// The rows as one blob. Where what they are taken apart into would go past a limit, they are kept whole.
pub(super) fn encode(rows: &[ColumnRow<'_>], level: i32) -> Result<Vec<u8>, ColumnsError> {
    match encode_gathered(rows.len(), gather(rows), level)? {
        Some(blob) => Ok(blob),
        None => {
            let found = rows.iter().map(ColumnRow::bytes).sum();
            let whole = encode_gathered(rows.len(), Gathered::whole(rows), level)?;
            whole.ok_or(ColumnsError::TooLarge { found })
        }
    }
}

/// The blob of a group that was taken apart; `None` where a reader would refuse it for its size.
fn encode_gathered(rows: usize, gathered: Gathered<'_>, level: i32) -> Result<Option<Vec<u8>>, ColumnsError> {
    let mut described = Vec::new();
    let Some(streams) = write_columns(gathered, &mut described)? else { return Ok(None) };
    let (mut directory, mut blocks) = (Vec::new(), Vec::new());
    pack(&streams, level, &mut directory, &mut blocks)?;
    directory.append(&mut described);
    if directory.len() > MAX_DIRECTORY_BYTES {
        return Ok(None);
    }
    let mut compressor = bulk::Compressor::new(level).map_err(|_| ColumnsError::Context)?;
    let mut stored = Vec::new();
    compress_behind(&mut compressor, &directory, &mut stored)?;
    let number =
        |number: usize| u32::try_from(number).map(u32::to_le_bytes).map_err(|_| ColumnsError::Context);
    let mut blob = COLUMNS_MAGIC.to_vec();
    blob.extend_from_slice(&COLUMNS_FORMAT.to_le_bytes());
    blob.extend_from_slice(&[0; 2]);
    blob.extend_from_slice(&number(rows)?);
    blob.extend_from_slice(&number(directory.len())?);
    blob.extend_from_slice(&number(stored.len())?);
    blob.append(&mut stored);
    blob.append(&mut blocks);
    Ok(Some(blob))
}

pub(super) fn decode(bytes: &[u8]) -> Result<Rows, ColumnsError> {
    let mut input = Input(bytes);
    if input.take(COLUMNS_MAGIC.len())? != COLUMNS_MAGIC {
        return Err(ColumnsError::Magic);
    }
    let short = |bytes: &[u8]| bytes.try_into().map(u16::from_le_bytes).map_err(|_| ColumnsError::Truncated);
    let found = short(input.take(2)?)?;
    if found != COLUMNS_FORMAT {
        return Err(ColumnsError::Format { found });
    }
    if short(input.take(2)?)? != 0 {
        return Err(ColumnsError::Malformed { what: "flags" });
    }
    let mut size = |max: usize, what| {
        let size = input.take(4)?.try_into().map(u32::from_le_bytes).map_err(|_| ColumnsError::Truncated)?;
        let size = usize::try_from(size).ok().filter(|size| *size <= max);
        size.ok_or(ColumnsError::Malformed { what })
    };
    let rows = size(MAX_GROUP_ROWS, "rows")?;
    let directory_bytes = size(MAX_DIRECTORY_BYTES, "the directory's length")?;
    let stored_bytes = size(directory_bytes, "the directory's stored length")?;
    let mut decompressor = bulk::Decompressor::new().map_err(|_| ColumnsError::Context)?;
    let directory = decompress(&mut decompressor, input.take(stored_bytes)?, directory_bytes)?;
    let mut directory = Input(&directory);
    let streams = Streams::read(&mut directory, &mut input, &mut decompressor)?;
    if !input.0.is_empty() {
        return Err(ColumnsError::Malformed { what: "bytes behind the blocks" });
    }
    let forms = Forms::read(&mut directory)?;
    let mut reader = Reader::new(streams, rows);
    reader.read(&forms, &mut directory)?;
    if !directory.0.is_empty() {
        return Err(ColumnsError::Malformed { what: "bytes behind the directory" });
    }
    Assembly::new(&reader, &forms).rows(rows)
}

/// Records put together from the columns of a group, in the order of rows.
struct Assembly<'r> {
    forms: &'r Forms,
    arena: &'r [u8],
    /// What is left of each column.
    texts: Vec<std::slice::Iter<'r, Span>>,
    numbers: Vec<std::slice::Iter<'r, i64>>,
    bytes: Vec<u8>,
}

impl<'r> Assembly<'r> {
    fn new(reader: &'r Reader, forms: &'r Forms) -> Self {
        let columns = (0..).map_while(|number| reader.column(number));
        let (texts, numbers) = columns.map(|column| (column.spans.iter(), column.numbers.iter())).unzip();
        Self { forms, arena: &reader.arena, texts, numbers, bytes: Vec::new() }
    }

    fn rows(mut self, count: usize) -> Result<Rows, ColumnsError> {
        let mut places = Vec::with_capacity(count);
        for _ in 0..count {
            let place = Place {
                time: Micros(self.number(column::FRAME_TIME)?.cast_unsigned()),
                begins_frame: self.flag(column::BEGINS_FRAME)?,
                begins_request: self.flag(column::BEGINS_REQUEST)?,
                derived: self.flag(column::DERIVED)?,
                stream_version: StreamVersion::new(self.number(column::STREAM_VERSION)?.cast_unsigned())
                    .ok_or(ColumnsError::Malformed { what: "a stream version" })?,
                record: self.record()?,
                part: if self.flag(column::HAS_PART)? { Some(self.part()?) } else { None },
            };
            places.push(place);
        }
        Ok(Rows { bytes: self.bytes, places })
    }

    fn number(&mut self, column: usize) -> Result<i64, ColumnsError> {
        let number = self.numbers.get_mut(column).and_then(Iterator::next);
        number.copied().ok_or(ColumnsError::Malformed { what: "a column's length" })
    }

    fn flag(&mut self, column: usize) -> Result<bool, ColumnsError> {
        match self.number(column)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(ColumnsError::Malformed { what: "a flag" }),
        }
    }

    /// The next text of a column.
    fn text(&mut self, column: usize) -> Result<&'r [u8], ColumnsError> {
        let span = self.texts.get_mut(column).and_then(Iterator::next);
        let span = span.ok_or(ColumnsError::Malformed { what: "a column's length" })?;
        let start = span.start as usize;
        Ok(self.arena.get(start..start + span.length as usize).unwrap_or_default())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), ColumnsError> {
        if self.bytes.len() + bytes.len() > MAX_GROUP_BYTES {
            return Err(ColumnsError::Malformed { what: "too many bytes of records" });
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn put_text(&mut self, column: usize) -> Result<(), ColumnsError> {
        let text = self.text(column)?;
        if self.bytes.len() + text.len() > MAX_GROUP_BYTES {
            return Err(ColumnsError::Malformed { what: "too many bytes of records" });
        }
        put_text(text, &mut self.bytes);
        Ok(())
    }

    fn part(&mut self) -> Result<std::ops::Range<usize>, ColumnsError> {
        let start = self.bytes.len();
        let part = self.text(column::PART)?;
        self.put(part)?;
        Ok(start..self.bytes.len())
    }

    fn record(&mut self) -> Result<std::ops::Range<usize>, ColumnsError> {
        let start = self.bytes.len();
        let form = usize::try_from(self.number(column::FORM)?).unwrap_or(WHOLE);
        let forms = self.forms;
        let Some(form) = forms.form(form) else {
            let record = self.text(column::WHOLE_RECORD)?;
            self.put(record)?;
            return Ok(start..self.bytes.len());
        };
        self.bytes.push(RECORD_FORMAT);
        self.put_text(column::ID)?;
        self.put_text(column::SOURCE)?;
        put_text(&form.kind, &mut self.bytes);
        self.put_text(column::STREAM)?;
        for bit in 0..OPTIONAL_ATTRIBUTES {
            let is_there = form.optional >> bit & 1 == 1;
            self.bytes.push(u8::from(is_there));
            if is_there {
                self.put_text(column::FIRST_OPTIONAL + bit)?;
            }
        }
        put_int(form.tags as u64, &mut self.bytes);
        for _ in 0..form.tags {
            self.put_text(column::TAGS)?;
        }
        put_int(form.extensions.len() as u64, &mut self.bytes);
        for (name, value) in &form.extensions {
            put_text(name, &mut self.bytes);
            self.bytes.push(value.record_tag());
            match value {
                ExtensionForm::Text(column) => self.put_text(*column)?,
                ExtensionForm::Integer(column) => {
                    let number = self.text(*column)?;
                    self.put(number)?;
                }
                ExtensionForm::Boolean(value) => self.bytes.push(u8::from(*value)),
            }
        }
        self.data(form.data)?;
        let redactions = self.number(column::REDACTIONS)?;
        put_int(redactions.cast_unsigned(), &mut self.bytes);
        self.put(&[])?;
        Ok(start..self.bytes.len())
    }

    fn data(&mut self, data: DataForm) -> Result<(), ColumnsError> {
        self.bytes.push(data.record_tag());
        match data {
            DataForm::None => Ok(()),
            DataForm::Json => self.put_text(column::WHOLE_JSON),
            DataForm::Binary => self.put_text(column::BINARY),
            DataForm::Sealed => {
                for column in [column::SUBJECT_KEY, column::SEAL] {
                    let bytes = self.text(column)?;
                    self.put(bytes)?;
                }
                Ok(())
            }
            DataForm::Shaped(shape) => self.shaped(shape),
        }
    }

    /// JSON of a shape, its length before it: the values' lengths are looked up first.
    fn shaped(&mut self, shape: usize) -> Result<(), ColumnsError> {
        let shape = self.forms.shapes.get(shape).ok_or(ColumnsError::Malformed { what: "a shape" })?;
        let mut values = Vec::with_capacity(shape.columns.len());
        let mut length = shape.text.len() - shape.columns.len();
        for column in &shape.columns {
            let value = self.text(*column)?;
            length += value.len();
            values.push(value);
        }
        put_int(length as u64, &mut self.bytes);
        let pieces = shape.text.split(|byte| matches!(*byte, STRING_HOLE | BARE_HOLE));
        let mut values = values.into_iter();
        for piece in pieces {
            self.put(piece)?;
            if let Some(value) = values.next() {
                self.put(value)?;
            }
        }
        Ok(())
    }
}
