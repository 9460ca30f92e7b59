//! Rows put together from the columns of a group.

use std::ops::Range;

use super::form::{DataForm, ExtensionForm, Form, WHOLE};
use super::node::column;
use super::opened::ColumnGroup;
use super::record_layout::{OPTIONAL_ATTRIBUTES, int_bytes, put_int, put_text};
use super::shape::{BARE_HOLE, STRING_HOLE};
use super::texts::TextBuilder;
use super::{ColumnsError, MAX_GROUP_BYTES, RowSpan, Rows};
use bitacora_formats::RECORD_FORMAT;
use bitacora_formats::{Micros, StreamVersion};

/// Makes the rows of a group, in their order.
pub(super) struct Assembly<'g> {
    group: &'g ColumnGroup,
    maker: TextBuilder<'g>,
    /// The entry of each column that was not used yet, as far as rows were made.
    next: Vec<usize>,
    /// The row that is made now.
    row: u16,
    bytes: Vec<u8>,
}

impl<'g> Assembly<'g> {
    pub(super) fn new(group: &'g ColumnGroup) -> Self {
        let maker = TextBuilder::new(&group.columns, &group.streams, MAX_GROUP_BYTES);
        Self { group, maker, next: vec![0; group.columns.len()], row: 0, bytes: Vec::new() }
    }

    pub(super) fn rows(mut self, indices: impl IntoIterator<Item = usize>) -> Result<Rows, ColumnsError> {
        const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "a row's number" };
        let indices = indices.into_iter();
        let mut spans = Vec::with_capacity(indices.size_hint().0.min(self.group.len()));
        let mut least = 0;
        for index in indices {
            let row = Some(index).filter(|index| (least..self.group.len()).contains(index));
            self.row = row.and_then(|row| u16::try_from(row).ok()).ok_or(MALFORMED)?;
            least = index + 1;
            spans.push(self.span(index)?);
        }
        Ok(Rows { bytes: self.bytes, spans })
    }

    fn span(&mut self, row: usize) -> Result<RowSpan, ColumnsError> {
        let form = usize::try_from(self.number(column::FORM, row)?).unwrap_or(WHOLE);
        Ok(RowSpan {
            time: Micros(self.number(column::FRAME_TIME, row)?.cast_unsigned()),
            begins_frame: self.flag(column::BEGINS_FRAME, row)?,
            begins_request: self.flag(column::BEGINS_REQUEST, row)?,
            derived: self.flag(column::DERIVED, row)?,
            stream_version: StreamVersion::new(self.number(column::STREAM_VERSION, row)?.cast_unsigned())
                .ok_or(ColumnsError::Malformed { what: "a stream version" })?,
            record: self.made(|assembly| match assembly.group.forms.form(form) {
                Some(form) => assembly.record(form),
                None => assembly.put(column::WHOLE_RECORD),
            })?,
            part: if self.flag(column::HAS_PART, row)? {
                Some(self.made(|assembly| assembly.put(column::PART))?)
            } else {
                None
            },
        })
    }

    /// Calls `make` and returns the range of the bytes that it added.
    fn made(
        &mut self,
        make: impl FnOnce(&mut Self) -> Result<(), ColumnsError>,
    ) -> Result<Range<usize>, ColumnsError> {
        let start = self.bytes.len();
        make(self)?;
        if self.bytes.len() > MAX_GROUP_BYTES {
            return Err(ColumnsError::Malformed { what: "too many bytes of records" });
        }
        Ok(start..self.bytes.len())
    }

    /// A number of a column that has one a row.
    fn number(&self, column: usize, row: usize) -> Result<i64, ColumnsError> {
        self.group.number(column, row).ok_or(ColumnsError::Malformed { what: "a column's length" })
    }

    fn flag(&self, column: usize, row: usize) -> Result<bool, ColumnsError> {
        match self.number(column, row)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(ColumnsError::Malformed { what: "a flag" }),
        }
    }

    /// The row's next entry of a column.
    fn entry(&mut self, column: usize) -> Result<usize, ColumnsError> {
        const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "a column's length" };
        let rows = &self.group.domains.get(column).ok_or(MALFORMED)?.rows;
        let next = self.next.get_mut(column).ok_or(MALFORMED)?;
        if rows.get(*next) != Some(&self.row) {
            let rest = rows.get(*next..).unwrap_or_default();
            *next += rest.partition_point(|row| *row < self.row);
        }
        let entry = *next;
        *next += 1;
        if rows.get(entry) == Some(&self.row) { Ok(entry) } else { Err(MALFORMED) }
    }

    /// Writes the row's next text of a column.
    fn put(&mut self, column: usize) -> Result<(), ColumnsError> {
        let entry = self.entry(column)?;
        self.maker.put(column, entry, &mut self.bytes)
    }

    fn put_text(&mut self, column: usize) -> Result<(), ColumnsError> {
        self.behind_length(|assembly| assembly.put(column))
    }

    /// Writes something behind its length, which is known once it is there: most often it has one byte.
    fn behind_length(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), ColumnsError>,
    ) -> Result<(), ColumnsError> {
        let at = self.bytes.len();
        self.bytes.push(0);
        write(self)?;
        let (bytes, count) = int_bytes((self.bytes.len() - at - 1) as u64);
        let length = bytes.get(..count).unwrap_or_default();
        if let ([length], Some(place)) = (length, self.bytes.get_mut(at)) {
            *place = *length;
        } else {
            self.bytes.splice(at..=at, length.iter().copied());
        }
        Ok(())
    }

    fn record(&mut self, form: &'g Form) -> Result<(), ColumnsError> {
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
                ExtensionForm::Integer(column) => self.put(*column)?,
                ExtensionForm::Boolean(value) => self.bytes.push(u8::from(*value)),
            }
        }
        self.data(form.data)?;
        let entry = self.entry(column::REDACTIONS)?;
        let redactions = self.number(column::REDACTIONS, entry)?;
        put_int(redactions.cast_unsigned(), &mut self.bytes);
        Ok(())
    }

    fn data(&mut self, data: DataForm) -> Result<(), ColumnsError> {
        self.bytes.push(data.record_tag());
        match data {
            DataForm::None => Ok(()),
            DataForm::Json => self.put_text(column::WHOLE_JSON),
            DataForm::Binary => self.put_text(column::BINARY),
            DataForm::Sealed | DataForm::Expired => {
                self.put(column::SUBSTITUTE)?;
                self.put(column::DIGEST)
            }
            DataForm::Shaped(shape) => self.behind_length(|assembly| assembly.shaped(shape)),
        }
    }

    /// JSON of a shape.
    fn shaped(&mut self, shape: usize) -> Result<(), ColumnsError> {
        let shape = self.group.forms.shapes.get(shape).ok_or(ColumnsError::Malformed { what: "a shape" })?;
        let mut pieces = shape.text.split(|byte| matches!(*byte, STRING_HOLE | BARE_HOLE));
        for column in &shape.columns {
            self.maker.extend(pieces.next().unwrap_or_default(), &mut self.bytes)?;
            self.put(*column)?;
        }
        self.maker.extend(pieces.next().unwrap_or_default(), &mut self.bytes)
    }
}
