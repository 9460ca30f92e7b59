//! Nodes that make texts.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::super::ColumnsError;
use super::super::limits::{MAX_BLOCK_BYTES, MAX_COLUMNS, MAX_NODE_DEPTH, MAX_PIECES};
use super::super::node::text;
use super::super::table::Span;
use super::super::varint::Input;
use super::super::written::{
    MAX_DIGITS, MAX_TIME_DIGITS, write_decimal, write_hex, write_integer, write_time, write_ulid, write_uuid,
};
use super::{Column, Over, Reader, rows_of};
use crate::columns::MAX_GROUP_ROWS;

/// Bytes of the text of a number or a time.
const MAX_VALUE_BYTES: usize = 40;
/// Values that room is made for at a time: their texts are mostly far shorter than the longest.
const RESERVED_VALUES: usize = 1_024;

impl Reader {
    /// Reads a node and makes its texts, as many as there are entries.
    pub(super) fn texts(
        &mut self,
        node: &mut Input<'_>,
        over: Over<'_>,
        depth: usize,
    ) -> Result<Column, ColumnsError> {
        if depth > MAX_NODE_DEPTH {
            return Err(ColumnsError::Malformed { what: "nodes too deep" });
        }
        self.charge(over.count + 1)?;
        let depth = depth + 1;
        let spans = match node.byte()? {
            text::CONSTANT => {
                let constant = node.bytes()?;
                self.reserve(constant.len())?;
                vec![self.write(|arena| arena.extend_from_slice(constant))?; over.count]
            }
            text::RAW => self.raw(node, over, depth)?,
            text::DICTIONARY => return self.dictionary(node, over, depth),
            text::JOINED => self.joined(node, over, depth)?,
            text::SAME => self.same(node, rows_of(over)?)?,
            text::INTEGER => {
                let width = node.count(MAX_DIGITS, "a width")?;
                let numbers = self.numbers(node, over, depth)?;
                let spans = self.write_each(&numbers, |number, arena| {
                    write_integer(*number, width, arena);
                    Some(())
                })?;
                return Ok(Column { spans, numbers, ..Column::default() });
            }
            text::DECIMAL => {
                let scales = self.numbers(node, over, depth)?;
                let numbers = self.numbers(node, over, depth)?;
                let pairs: Vec<(i64, i64)> = scales.into_iter().zip(numbers).collect();
                self.write_each(&pairs, |(scale, number), arena| write_decimal(*scale, *number, arena))?
            }
            text::TIME => {
                let digits = node.count(MAX_TIME_DIGITS as usize, "digits of a time")?;
                let digits = u32::try_from(digits).unwrap_or_default();
                let numbers = self.numbers(node, over, depth)?;
                let spans = self.write_each(&numbers, |time, arena| write_time(*time, digits, arena))?;
                return Ok(Column { spans, numbers, ..Column::default() });
            }
            text::HEX => {
                let upper = node.count(1, "a case")? == 1;
                self.rewritten(node, over, depth, 2, |bytes, arena| {
                    write_hex(bytes, upper, arena);
                    Some(())
                })?
            }
            text::UUID => self.rewritten(node, over, depth, 3, write_uuid)?,
            text::ULID => self.rewritten(node, over, depth, 2, write_ulid)?,
            text::BASE64 => {
                let engine = if node.count(1, "an alphabet")? == 1 { URL_SAFE_NO_PAD } else { STANDARD };
                self.rewritten(node, over, depth, 2, |bytes, arena| {
                    arena.extend_from_slice(engine.encode(bytes).as_bytes());
                    Some(())
                })?
            }
            text::SPLIT => self.split_texts(node, rows_of(over)?, depth)?,
            text::MAPPED => {
                let parts = self.classes(node)?.part(rows_of(over)?);
                let table = self.texts(node, Over::count(parts.rows.len()), depth)?.spans;
                let value = |part: &u16| table.get(usize::from(*part)).copied().unwrap_or_default();
                parts.of_entry.iter().map(value).collect()
            }
            text::CHOSEN => self.chosen(node, over, depth)?,
            text::PREFIXED => self.prefixed(node, over, depth)?,
            _ => return Err(ColumnsError::Malformed { what: "a node of texts" }),
        };
        Ok(Column { spans, ..Column::default() })
    }

    /// Writes a text behind the others; there must be room for it.
    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<Span, ColumnsError> {
        let start = self.arena.len();
        write(&mut self.arena);
        span(start, self.arena.len())
    }

    /// Writes a text of at most [`MAX_VALUE_BYTES`] for each value; `None` for a value that none is written for.
    fn write_each<T>(
        &mut self,
        values: &[T],
        write: impl Fn(&T, &mut Vec<u8>) -> Option<()>,
    ) -> Result<Vec<Span>, ColumnsError> {
        let mut spans = Vec::with_capacity(values.len());
        for (value, number) in values.iter().zip(0_usize..) {
            if number.is_multiple_of(RESERVED_VALUES) {
                self.reserve(RESERVED_VALUES.min(values.len() - number) * MAX_VALUE_BYTES)?;
            }
            let start = self.arena.len();
            write(value, &mut self.arena)
                .ok_or(ColumnsError::Malformed { what: "a value without a text" })?;
            spans.push(span(start, self.arena.len())?);
        }
        Ok(spans)
    }

    fn raw(&mut self, node: &mut Input<'_>, over: Over<'_>, depth: usize) -> Result<Vec<Span>, ColumnsError> {
        let lengths = self.numbers(node, over, depth)?;
        let place = self.streams.next()?;
        let all = self.streams.at(place).len();
        self.reserve(all)?;
        let start = self.arena.len();
        self.arena.extend_from_slice(self.streams.at(place));
        let mut at = start;
        let mut spans = Vec::with_capacity(over.count);
        for length in lengths {
            let length = usize::try_from(length).ok().filter(|length| *length <= MAX_BLOCK_BYTES);
            let end = at + length.ok_or(ColumnsError::Malformed { what: "a text's length" })?;
            spans.push(span(at, end)?);
            at = end;
        }
        if at == start + all { Ok(spans) } else { Err(ColumnsError::Malformed { what: "a text's length" }) }
    }

    fn dictionary(
        &mut self,
        node: &mut Input<'_>,
        over: Over<'_>,
        depth: usize,
    ) -> Result<Column, ColumnsError> {
        const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "an entry of a dictionary" };
        let count = node.count(MAX_GROUP_ROWS, "a dictionary's length")?;
        let different = self.texts(node, Over::count(count), depth)?.spans;
        let numbers = self.numbers(node, over, depth)?;
        let (mut spans, mut of_entry) = (Vec::with_capacity(over.count), Vec::with_capacity(over.count));
        for number in numbers {
            let number = u16::try_from(number).map_err(|_| MALFORMED)?;
            spans.push(*different.get(usize::from(number)).ok_or(MALFORMED)?);
            of_entry.push(number);
        }
        Ok(Column { spans, numbers: Vec::new(), classes: Some((of_entry, count)) })
    }

    fn joined(
        &mut self,
        node: &mut Input<'_>,
        over: Over<'_>,
        depth: usize,
    ) -> Result<Vec<Span>, ColumnsError> {
        let mut pieces = Vec::new();
        for _ in 0..node.count(MAX_PIECES, "pieces")? {
            pieces.push(self.texts(node, over, depth)?.spans);
        }
        let bytes = pieces.iter().flatten().map(|span| span.length as usize).sum();
        self.reserve(bytes)?;
        let mut pieces: Vec<_> = pieces.iter().map(|spans| spans.iter()).collect();
        let mut spans = Vec::with_capacity(over.count);
        for _ in 0..over.count {
            let begin = self.arena.len();
            for piece in pieces.iter_mut().filter_map(Iterator::next) {
                let start = piece.start as usize;
                self.arena.extend_from_within(start..start + piece.length as usize);
            }
            spans.push(span(begin, self.arena.len())?);
        }
        Ok(spans)
    }

    fn same(&mut self, node: &mut Input<'_>, rows: &[u16]) -> Result<Vec<Span>, ColumnsError> {
        const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "a reference to texts" };
        let column = node.count(MAX_COLUMNS, "a reference to texts")?;
        let (column, domain) = self.columns.get(column).zip(self.domains.get(column)).ok_or(MALFORMED)?;
        if domain.rows == rows && column.spans.len() == rows.len() {
            return Ok(column.spans.clone());
        }
        let entry = |row: &u16| column.spans.get(domain.entry_at(*row)?).copied();
        rows.iter().map(entry).collect::<Option<_>>().ok_or(MALFORMED)
    }

    /// Texts that begin as the one before them does.
    fn prefixed(
        &mut self,
        node: &mut Input<'_>,
        over: Over<'_>,
        depth: usize,
    ) -> Result<Vec<Span>, ColumnsError> {
        const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "a shared beginning" };
        let shared = self.numbers(node, over, depth)?;
        let behind = self.texts(node, over, depth)?.spans;
        let mut spans = Vec::with_capacity(over.count);
        let mut before = Span::default();
        for (shared, behind) in shared.into_iter().zip(behind) {
            let shared =
                u32::try_from(shared).ok().filter(|shared| *shared <= before.length).ok_or(MALFORMED)?;
            self.reserve(shared as usize + behind.length as usize)?;
            let begin = self.arena.len();
            for (start, length) in [(before.start, shared), (behind.start, behind.length)] {
                self.arena.extend_from_within(start as usize..start as usize + length as usize);
            }
            before = span(begin, self.arena.len())?;
            spans.push(before);
        }
        Ok(spans)
    }

    /// Texts that are another form of bytes, at most `growth` times as long.
    fn rewritten(
        &mut self,
        node: &mut Input<'_>,
        over: Over<'_>,
        depth: usize,
        growth: usize,
        write: impl Fn(&[u8], &mut Vec<u8>) -> Option<()>,
    ) -> Result<Vec<Span>, ColumnsError> {
        let bytes = self.texts(node, over, depth)?.spans;
        let all: usize = bytes.iter().map(|span| span.length as usize).sum();
        self.reserve(growth * all + 4 * bytes.len())?;
        let mut one = Vec::new();
        let mut spans = Vec::with_capacity(bytes.len());
        for bytes in bytes {
            one.clear();
            one.extend_from_slice(self.text(bytes));
            let start = self.arena.len();
            write(&one, &mut self.arena).ok_or(ColumnsError::Malformed { what: "a value without a text" })?;
            spans.push(span(start, self.arena.len())?);
        }
        Ok(spans)
    }

    fn split_texts(
        &mut self,
        node: &mut Input<'_>,
        rows: &[u16],
        depth: usize,
    ) -> Result<Vec<Span>, ColumnsError> {
        let parts = self.classes(node)?.part(rows);
        let mut texts = Vec::with_capacity(parts.rows.len());
        for rows in &parts.rows {
            texts.push(self.texts(node, Over::rows(rows), depth)?.spans.into_iter());
        }
        let next =
            |part: &u16| texts.get_mut(usize::from(*part)).and_then(Iterator::next).unwrap_or_default();
        Ok(parts.of_entry.iter().map(next).collect())
    }

    /// One of several nodes for each entry, as numbers say.
    fn chosen(
        &mut self,
        node: &mut Input<'_>,
        over: Over<'_>,
        depth: usize,
    ) -> Result<Vec<Span>, ColumnsError> {
        const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "a choice" };
        let count = node.count(MAX_PIECES, "choices")?;
        let choices = self.numbers(node, over, depth)?;
        let mut texts = Vec::new();
        for number in (0..).take(count) {
            let is_chosen = |choice: &i64| *choice == number;
            let chosen = match over.rows {
                Some(rows) => {
                    let rows: Vec<u16> = rows
                        .iter()
                        .zip(&choices)
                        .filter(|(_, choice)| is_chosen(choice))
                        .map(|(row, _)| *row)
                        .collect();
                    self.texts(node, Over::rows(&rows), depth)?
                }
                None => {
                    let entries = choices.iter().filter(|choice| is_chosen(choice)).count();
                    self.texts(node, Over::count(entries), depth)?
                }
            };
            texts.push(chosen.spans.into_iter());
        }
        let next = |choice: i64| texts.get_mut(usize::try_from(choice).ok()?)?.next();
        choices.into_iter().map(next).collect::<Option<_>>().ok_or(MALFORMED)
    }
}

fn span(start: usize, end: usize) -> Result<Span, ColumnsError> {
    let place = |at: usize| u32::try_from(at).map_err(|_| ColumnsError::Malformed { what: "too much text" });
    Ok(Span { start: place(start)?, length: place(end.saturating_sub(start))? })
}
