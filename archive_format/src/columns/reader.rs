//! Columns made again from their nodes.

mod numbers;
mod texts;

use std::rc::Rc;

use super::ColumnsError;
use super::blocks::{Opener, Streams};
use super::form::Forms;
use super::limits::{MAX_ARENA_BYTES, MAX_COLUMNS, MAX_ENTRIES, MAX_NODE_VALUES, MAX_REACH};
use super::node::column;
use super::table::{Classes, Domain};
use super::texts::Texts;
use super::varint::Input;

/// A column that was read.
#[derive(Default)]
pub(super) struct Column {
    /// The maker of its entries, if they are texts.
    pub(super) texts: Option<Texts>,
    /// Its entries, where they are numbers.
    pub(super) numbers: Vec<i64>,
    /// The depth of the nested nodes that make a text of it.
    pub(super) reach: usize,
}

impl Column {
    /// Its entries, where they are numbers or texts that mean some.
    pub(super) fn numbers(&self) -> &[i64] {
        self.texts.as_ref().and_then(Texts::numbers).unwrap_or(&self.numbers)
    }
}

/// The entries that a node makes.
#[derive(Clone, Copy)]
struct NodeEntries<'r> {
    count: usize,
    /// The row of each, where they belong to rows.
    rows: Option<&'r [u16]>,
}

impl<'r> NodeEntries<'r> {
    fn rows(rows: &'r [u16]) -> Self {
        Self { count: rows.len(), rows: Some(rows) }
    }

    /// Entries of no rows, which can refer to nothing.
    fn count(count: usize) -> Self {
        Self { count, rows: None }
    }
}

/// All columns of a group.
pub(super) struct GroupReader {
    streams: Streams,
    rows: usize,
    domains: Vec<Domain>,
    columns: Vec<Column>,
    classes: Vec<Option<Rc<Classes>>>,
    opener: Opener,
    /// Bytes of texts that may still be made before they are asked for.
    arena_left: usize,
    /// The number of values that nodes may still make.
    values_left: usize,
    /// Bytes of memory that may still be held at once.
    memory_left: usize,
}

impl GroupReader {
    pub(super) fn new(streams: Streams, rows: usize, memory: usize) -> Self {
        Self {
            streams,
            rows,
            domains: Vec::new(),
            columns: Vec::new(),
            classes: Vec::new(),
            opener: Opener::default(),
            arena_left: MAX_ARENA_BYTES,
            values_left: MAX_NODE_VALUES,
            memory_left: memory,
        }
    }

    /// Reads all columns: first the forms, which say what entries the others have, then those in the directory's order.
    pub(super) fn read(&mut self, forms: &Forms, directory: &mut Input<'_>) -> Result<(), ColumnsError> {
        let all: Vec<u16> = (0..=u16::MAX).take(self.rows).collect();
        let numbers = self.numbers(directory, NodeEntries::rows(&all), 0)?;
        let limit = forms.forms.len();
        let of_row: Vec<u16> = numbers
            .iter()
            .map(|form| {
                usize::try_from(*form)
                    .ok()
                    .filter(|form| *form <= limit)
                    .and_then(|form| form.try_into().ok())
            })
            .collect::<Option<_>>()
            .ok_or(ColumnsError::Malformed { what: "a form's number" })?;
        let width = forms.shapes.iter().flat_map(|shape| &shape.columns);
        let width = width.chain(extension_columns(forms).iter()).max().map_or(0, |last| last + 1);
        let width = width.clamp(column::FIRST_FREE, MAX_COLUMNS);
        self.columns.resize_with(width, Column::default);
        self.classes.resize_with(width, || None);
        let (kinds, count) = forms.kinds();
        let kind_of_row =
            of_row.iter().map(|form| kinds.get(usize::from(*form)).copied().unwrap_or_default());
        let kind_of_row = kind_of_row.collect();
        self.spread(forms, &of_row, &all, width)?;
        self.set_classes(column::KIND, Classes { column: column::KIND, of_row: kind_of_row, count });
        self.set_classes(column::FORM, Classes { column: column::FORM, of_row, count: limit + 1 });
        self.set_column(column::FORM, Column { numbers, ..Column::default() });

        let parted = directory.count(MAX_COLUMNS, "columns")?;
        let mut is_read = vec![false; width];
        for _ in 0..parted {
            const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "a column's number" };
            let number = directory.count(width - 1, "a column's number")?;
            let read =
                is_read.get_mut(number).filter(|read| !**read && number > column::KIND).ok_or(MALFORMED)?;
            *read = true;
            self.read_column(number, directory)?;
        }
        let missing = self.domains.iter().zip(&is_read).skip(column::FRAME_TIME);
        if missing.into_iter().any(|(domain, read)| !read && !domain.rows.is_empty())
            || !self.streams.are_used_up()
        {
            return Err(ColumnsError::Malformed { what: "columns that are not there" });
        }
        Ok(())
    }

    /// Says which rows have entries in which columns.
    fn spread(
        &mut self,
        forms: &Forms,
        of_row: &[u16],
        all: &[u16],
        width: usize,
    ) -> Result<(), ColumnsError> {
        let columns: Vec<Vec<usize>> = (0..=forms.forms.len()).map(|form| forms.columns_of(form)).collect();
        let columns_of = |form: &u16| columns.get(usize::from(*form)).map_or(&[][..], Vec::as_slice);
        let mut sizes = vec![0_usize; width];
        let mut entries = 0;
        for form in of_row {
            let columns = columns_of(form);
            entries += columns.len();
            if entries > MAX_ENTRIES {
                return Err(ColumnsError::Malformed { what: "entries of columns" });
            }
            columns.iter().filter_map(|column| sizes.get_mut(*column).map(|size| *size += 1)).for_each(drop);
        }
        // Those of every row have entries besides what the forms say.
        entries += (column::FRAME_TIME..=column::HAS_PART).count() * self.rows;
        self.hold(entries * size_of::<u16>() + width * size_of::<Domain>())?;
        self.domains =
            sizes.iter().map(|size| Domain { rows: Vec::with_capacity(*size), is_dense: false }).collect();
        for (row, form) in all.iter().zip(of_row) {
            for column in columns_of(form) {
                if let Some(domain) = self.domains.get_mut(*column) {
                    domain.rows.push(*row);
                }
            }
        }
        for column in column::FRAME_TIME..=column::HAS_PART {
            if let Some(domain) = self.domains.get_mut(column) {
                domain.rows.extend_from_slice(all);
            }
        }
        for domain in &mut self.domains {
            domain.is_dense = domain.rows == *all;
        }
        Ok(())
    }

    fn read_column(&mut self, number: usize, directory: &mut Input<'_>) -> Result<(), ColumnsError> {
        let domain = self.domains.get_mut(number).map(std::mem::take).unwrap_or_default();
        let over = NodeEntries::rows(&domain.rows);
        let made = if column::is_numeric(number) {
            Column { numbers: self.numbers(directory, over, 0)?, ..Column::default() }
        } else {
            self.column_of_texts(directory, over)?
        };
        if number == column::HAS_PART {
            let with_part = made.numbers.iter().zip(&domain.rows).filter(|(has, _)| **has != 0);
            let rows: Vec<u16> = with_part.map(|(_, row)| *row).collect();
            if let Some(parts) = self.domains.get_mut(column::PART) {
                *parts = Domain { is_dense: rows.len() == self.rows, rows };
            }
        }
        if let Some(Texts::Dictionary(table, count)) = &made.texts {
            self.hold(self.rows * size_of::<u16>())?;
            self.set_classes(number, Classes::new(number, self.rows, &domain, &table.of_entry, *count));
        }
        if let Some(place) = self.domains.get_mut(number) {
            *place = domain;
        }
        self.set_column(number, made);
        Ok(())
    }

    fn column_of_texts(
        &mut self,
        directory: &mut Input<'_>,
        over: NodeEntries<'_>,
    ) -> Result<Column, ColumnsError> {
        let mut texts = self.texts(directory, over, 0)?;
        let mut reach = texts.reach(&self.columns);
        if reach > MAX_REACH {
            texts = self.written(&texts, over.count)?;
            reach = 1;
        }
        Ok(Column { texts: Some(texts), numbers: Vec::new(), reach })
    }

    fn set_column(&mut self, number: usize, column: Column) {
        if let Some(place) = self.columns.get_mut(number) {
            *place = column;
        }
    }

    fn set_classes(&mut self, number: usize, classes: Classes) {
        if let Some(place) = self.classes.get_mut(number) {
            *place = Some(Rc::new(classes));
        }
    }

    /// Returns the parts that rows are made of, once all columns were read.
    pub(super) fn into_parts(mut self) -> (Streams, Vec<Domain>, Vec<Column>) {
        self.streams.let_go();
        (self.streams, self.domains, self.columns)
    }

    /// The classes that a node names.
    fn classes(&mut self, node: &mut Input<'_>) -> Result<Rc<Classes>, ColumnsError> {
        let number = node.count(MAX_COLUMNS, "a column of classes")?;
        let classes = self.classes.get(number).cloned().flatten();
        let classes = classes.ok_or(ColumnsError::Malformed { what: "a column of classes" })?;
        self.charge(classes.count)?;
        Ok(classes)
    }

    /// Takes room for so many bytes that are held from now on.
    fn hold(&mut self, bytes: usize) -> Result<(), ColumnsError> {
        self.memory_left = self.memory_left.checked_sub(bytes).ok_or(ColumnsError::TooMuchToHold)?;
        Ok(())
    }

    /// The same for so many numbers.
    fn hold_numbers(&mut self, numbers: usize) -> Result<(), ColumnsError> {
        self.hold(numbers * size_of::<i64>())
    }

    /// Gives back the room of bytes that are held no more.
    fn let_go(&mut self, bytes: usize) {
        self.memory_left += bytes;
    }

    /// The same of numbers.
    fn let_go_of_numbers(&mut self, numbers: usize) {
        self.let_go(numbers * size_of::<i64>());
    }

    /// Takes values from those that may still be made.
    fn charge(&mut self, values: usize) -> Result<(), ColumnsError> {
        let left = self.values_left.checked_sub(values);
        self.values_left = left.ok_or(ColumnsError::Malformed { what: "too many values" })?;
        Ok(())
    }
}

/// The columns of extensions.
fn extension_columns(forms: &Forms) -> Vec<usize> {
    let extensions = forms.forms.iter().flat_map(|form| &form.extensions);
    extensions.filter_map(|(_, value)| value.column()).collect()
}

/// The rows that a node's entries belong to, where it needs some.
fn rows_of<'r>(over: NodeEntries<'r>) -> Result<&'r [u16], ColumnsError> {
    over.rows.ok_or(ColumnsError::Malformed { what: "a reference without rows" })
}
