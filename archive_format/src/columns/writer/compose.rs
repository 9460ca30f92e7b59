//! Texts composed of other columns of their row, with constant text between.

use super::GroupWriter;
use super::encoded_node::EncodedNode;
use crate::columns::limits::MAX_PIECES;
use crate::columns::node::{column, text};

/// Texts that are looked at to find the pieces; all are compared before anything rests on it.
const SAMPLES: usize = 8;
/// Bytes of other columns that a text must hold on average to be made of them.
const MIN_SAME_BYTES: usize = 3;

/// Bytes of constant text behind which another column is looked for.
const MAX_CONSTANT_BYTES: usize = 64;
/// Columns whose texts are looked for in others, and whose numbers: the first that are encoded, which have the fewest
/// different texts. Few events have as many; where there are more, looking for all in all would take too long.
const MAX_TEXTUAL: usize = 256;
const MAX_NUMERIC: usize = 64;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextPiece {
    Constant(Vec<u8>),
    Same(usize),
    /// The text behind all other parts.
    Rest,
}

impl<'a> GroupWriter<'a> {
    /// The pieces that all texts are made of, and the rests; `None` where nothing of other columns is in them.
    pub(super) fn compose<'t>(
        &self,
        texts: &[&'t [u8]],
        rows: &[u16],
    ) -> Option<(Vec<TextPiece>, Vec<&'t [u8]>)> {
        let parts = self.find_parts(texts, rows)?;
        self.compose_of(parts, texts, rows)
    }

    /// The same with pieces that were found.
    pub(super) fn compose_of<'t>(
        &self,
        parts: Vec<TextPiece>,
        texts: &[&'t [u8]],
        rows: &[u16],
    ) -> Option<(Vec<TextPiece>, Vec<&'t [u8]>)> {
        let mut rests = Vec::new();
        for (text, row) in texts.iter().zip(rows) {
            let rest = self.strip(text, *row, &parts)?;
            if parts.last() == Some(&TextPiece::Rest) {
                rests.push(rest);
            } else if !rest.is_empty() {
                return None;
            }
        }
        Some((parts, rests))
    }

    pub(super) fn composed(&mut self, parts: &[TextPiece], rests: &[&[u8]], rows: &[u16]) -> EncodedNode {
        let mut pieces: Vec<EncodedNode> = Vec::new();
        for part in parts {
            pieces.push(match part {
                TextPiece::Constant(constant) => EncodedNode::new(text::CONSTANT, rows.len()).bytes(constant),
                TextPiece::Same(column) => EncodedNode::new(text::SAME, rows.len()).number(*column as u64),
                TextPiece::Rest => self.texts(rests, Some(rows), 2),
            });
        }
        if pieces.len() == 1 {
            return pieces.pop().unwrap_or_default();
        }
        let node = EncodedNode::new(text::JOINED, rows.len()).number(pieces.len() as u64);
        pieces.into_iter().fold(node, EncodedNode::with)
    }

    /// Returns the rest of a text behind the parts.
    pub(super) fn strip<'t>(&self, text: &'t [u8], row: u16, parts: &[TextPiece]) -> Option<&'t [u8]> {
        let mut rest = text;
        for part in parts {
            rest = match part {
                TextPiece::Constant(constant) => rest.strip_prefix(constant.as_slice())?,
                TextPiece::Same(column) => rest.strip_prefix(self.text_at(*column, row)?)?,
                TextPiece::Rest => rest,
            };
        }
        Some(rest)
    }

    pub(super) fn find_parts(&self, texts: &[&[u8]], rows: &[u16]) -> Option<Vec<TextPiece>> {
        let every = texts.len().div_ceil(SAMPLES).max(1);
        let mut samples: Vec<(&[u8], u16)> =
            texts.iter().copied().zip(rows.iter().copied()).step_by(every).collect();
        let mut parts = Vec::new();
        let mut same_bytes = 0;
        while parts.len() + 2 < MAX_PIECES && samples.iter().any(|(rest, _)| !rest.is_empty()) {
            let Some((constant, column, bytes)) = self.next_part(&samples) else { break };
            if constant > 0 {
                let first = samples.first()?.0;
                parts.push(TextPiece::Constant(first.get(..constant)?.to_vec()));
            }
            parts.push(TextPiece::Same(column));
            same_bytes += bytes;
            for (rest, row) in &mut samples {
                let length = constant + self.text_at(column, *row)?.len();
                *rest = rest.get(length..)?;
            }
        }
        if same_bytes < MIN_SAME_BYTES * samples.len() {
            return None;
        }
        let rest = samples.first()?.0;
        if samples.iter().any(|(other, _)| *other != rest) {
            parts.push(TextPiece::Rest);
        } else if !rest.is_empty() {
            parts.push(TextPiece::Constant(rest.to_vec()));
        }
        Some(parts)
    }

    /// Returns the longest column that all samples go on with, behind as little constant text as may be. The result is
    /// the length of that text, the column's number, and the bytes of the column that all samples have.
    fn next_part(&self, samples: &[(&[u8], u16)]) -> Option<(usize, usize, usize)> {
        let first = samples.first()?.0;
        let common = samples.iter().map(|(rest, _)| common_prefix(first, rest)).min()?;
        (0..=common.min(MAX_CONSTANT_BYTES)).find_map(|constant| {
            let columns = self.textual.iter().filter_map(|column| {
                let mut bytes = 0;
                for (rest, row) in samples {
                    let same = self.text_at(*column, *row)?;
                    if same.is_empty() || !rest.get(constant..)?.starts_with(same) {
                        return None;
                    }
                    bytes += same.len();
                }
                let entries = self.columns.get(*column)?.texts.len();
                Some((bytes, entries, *column))
            });
            // Of equal ones that of the most rows: rows that were not looked at may lack the other.
            let (bytes, _, column) = columns.max()?;
            (bytes > samples.len()).then_some((constant, column, bytes))
        })
    }

    /// The text of a column at a row, if it may be referred to.
    fn text_at(&self, column: usize, row: u16) -> Option<&'a [u8]> {
        let column = self.columns.get(column)?;
        column.texts.get(column.domain.entry_at(row)?).copied()
    }

    /// The number of a column at a row, if it may be referred to.
    pub(super) fn number_at(&self, column: usize, row: u16) -> Option<i64> {
        let column = self.columns.get(column)?;
        column.numbers.get(column.domain.entry_at(row)?).copied()
    }

    /// Notes that others may refer to a column.
    pub(super) fn note_readable(&mut self, number: usize) {
        let Some(values) = self.columns.get(number) else { return };
        if !values.numbers.is_empty() && number != column::FORM && self.numeric.len() < MAX_NUMERIC {
            self.numeric.push(number);
        }
        let first = values.texts.first();
        if self.textual.len() < MAX_TEXTUAL && values.texts.iter().any(|text| Some(text) != first) {
            self.textual.push(number);
        }
    }
}

pub(super) fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}
