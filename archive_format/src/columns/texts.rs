//! The texts of a column by the nodes that make them: each is made alone, and only on request.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::ColumnsError;
use super::blocks::{Opener, Streams};
use super::limits::MAX_NODE_VALUES;
use super::reader::Column;
use super::written::{write_decimal, write_hex, write_integer, write_time, write_ulid, write_uuid};

/// Bytes of the text of a number or a time.
const MAX_VALUE_BYTES: usize = 40;

/// The nodes that make the texts of a number of entries. The format's page describes each variant at the node it was read from.
pub(super) enum Texts {
    Constant(Vec<u8>),
    Raw {
        block: usize,
        ends: Ends,
    },
    /// Texts that could not be made one by one, or not cheaply.
    Written {
        bytes: Vec<u8>,
        ends: Ends,
    },
    /// Of a table of so many texts.
    Dictionary(TextTable, usize),
    Mapped(TextTable),
    Joined(Vec<Texts>),
    Same {
        column: usize,
        /// The entry of that column for each entry here; `None` if the entries are all of them, in order.
        entries: Option<Vec<u32>>,
    },
    Integer {
        width: usize,
        numbers: Vec<i64>,
    },
    Decimal {
        scales: Vec<i64>,
        numbers: Vec<i64>,
    },
    Time {
        digits: u32,
        numbers: Vec<i64>,
    },
    Rewritten(TextRewrite, Box<Texts>),
    /// Of several nodes: which of them makes each text, and which of that one's it is.
    Parted {
        parts: Vec<Texts>,
        places: Vec<(u16, u32)>,
    },
}

/// Texts, and which of them each entry is.
pub(super) struct TextTable {
    pub(super) texts: Box<Texts>,
    pub(super) of_entry: Vec<u16>,
}

/// Bytes written as something else.
#[derive(Debug, Clone, Copy)]
pub(super) enum TextRewrite {
    Hex { upper: bool },
    Uuid,
    Ulid,
    Base64 { for_urls: bool },
}

/// The end of each of a sequence of texts that lie one behind the other.
pub(super) struct Ends {
    start: u32,
    ends: Vec<u32>,
}

impl Ends {
    pub(super) fn with_capacity(start: u32, texts: usize) -> Self {
        Self { start, ends: Vec::with_capacity(texts) }
    }

    pub(super) fn push(&mut self, end: u32) {
        self.ends.push(end);
    }

    fn of<'b>(&self, bytes: &'b [u8], entry: usize) -> Option<&'b [u8]> {
        let end = *self.ends.get(entry)?;
        let start = entry.checked_sub(1).map_or(Some(&self.start), |before| self.ends.get(before))?;
        bytes.get(*start as usize..end as usize)
    }
}

impl Texts {
    /// The numbers that the texts mean, where others may refer to them.
    pub(super) fn numbers(&self) -> Option<&[i64]> {
        match self {
            Self::Integer { numbers, .. } | Self::Time { numbers, .. } => Some(numbers),
            _ => None,
        }
    }

    /// Returns `true` if making a text costs no more than finding it.
    pub(super) fn is_flat(&self) -> bool {
        matches!(self, Self::Constant(_) | Self::Raw { .. } | Self::Written { .. } | Self::Integer { .. })
    }

    /// Returns the depth of nested nodes, those of columns that are referred to among them.
    pub(super) fn reach(&self, columns: &[Column]) -> usize {
        let deepest = |nodes: &[Self]| nodes.iter().map(|node| node.reach(columns)).max().unwrap_or_default();
        1 + match self {
            Self::Dictionary(table, _) | Self::Mapped(table) => table.texts.reach(columns),
            Self::Joined(nodes) | Self::Parted { parts: nodes, .. } => deepest(nodes),
            Self::Rewritten(_, bytes) => bytes.reach(columns),
            Self::Same { column, .. } => columns.get(*column).map_or(0, |column| column.reach),
            _ => 0,
        }
    }

    /// Bytes that are held for them, their blocks not counted.
    pub(super) fn held_bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Constant(bytes) => bytes.len(),
                Self::Raw { ends, .. } => size_of_val(ends.ends.as_slice()),
                Self::Written { bytes, ends } => bytes.len() + size_of_val(ends.ends.as_slice()),
                Self::Dictionary(table, _) | Self::Mapped(table) => {
                    table.texts.held_bytes() + size_of_val(table.of_entry.as_slice())
                }
                Self::Joined(nodes) => nodes.iter().map(Self::held_bytes).sum(),
                Self::Same { entries, .. } => entries.as_deref().map_or(0, size_of_val),
                Self::Integer { numbers, .. } | Self::Time { numbers, .. } => size_of_val(numbers.as_slice()),
                Self::Decimal { scales, numbers } => {
                    size_of_val(scales.as_slice()) + size_of_val(numbers.as_slice())
                }
                Self::Rewritten(_, bytes) => bytes.held_bytes(),
                Self::Parted { parts, places } => {
                    parts.iter().map(Self::held_bytes).sum::<usize>() + size_of_val(places.as_slice())
                }
            }
    }
}

/// Makes texts. Every node that has a part in one takes a step, and there is a limit to them: texts of few bytes could
/// otherwise be made of more pieces than anybody waits for.
pub(super) struct TextBuilder<'g> {
    columns: &'g [Column],
    streams: &'g Streams,
    opener: Opener,
    /// Bytes that there may be where texts are written to.
    limit: usize,
    pub(super) steps_left: usize,
    /// Room for bytes that are written as something else.
    spare: Vec<u8>,
}

impl<'g> TextBuilder<'g> {
    pub(super) fn new(columns: &'g [Column], streams: &'g Streams, limit: usize) -> Self {
        let opener = Opener::default();
        Self { columns, streams, opener, limit, steps_left: MAX_NODE_VALUES, spare: Vec::new() }
    }

    /// Appends the text of a column's entry.
    pub(super) fn put(&mut self, column: usize, entry: usize, out: &mut Vec<u8>) -> Result<(), ColumnsError> {
        let column = self.columns.get(column).and_then(|column| column.texts.as_ref());
        self.write(column.ok_or(MISSING)?, entry, out)
    }

    /// Appends the text of an entry.
    pub(super) fn write(
        &mut self,
        texts: &Texts,
        entry: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), ColumnsError> {
        let left = self.steps_left.checked_sub(1);
        self.steps_left = left.ok_or(ColumnsError::Malformed { what: "too many values" })?;
        match texts {
            Texts::Constant(text) => self.extend(text, out),
            Texts::Raw { block, ends } => {
                let block = self.streams.block(*block, &mut self.opener)?;
                self.extend(ends.of(block, entry).ok_or(MISSING)?, out)
            }
            Texts::Written { bytes, ends } => self.extend(ends.of(bytes, entry).ok_or(MISSING)?, out),
            Texts::Dictionary(table, _) | Texts::Mapped(table) => {
                let number = table.of_entry.get(entry).ok_or(MISSING)?;
                self.write(&table.texts, usize::from(*number), out)
            }
            Texts::Joined(nodes) => nodes.iter().try_for_each(|node| self.write(node, entry, out)),
            Texts::Same { column, entries: None } => self.put(*column, entry, out),
            Texts::Same { column, entries: Some(entries) } => {
                self.put(*column, *entries.get(entry).ok_or(MISSING)? as usize, out)
            }
            Texts::Integer { width, numbers } => {
                let number = *numbers.get(entry).ok_or(MISSING)?;
                self.value(out, |out| {
                    write_integer(number, *width, out);
                    Some(())
                })
            }
            Texts::Decimal { scales, numbers } => {
                let (scale, number) = scales.get(entry).zip(numbers.get(entry)).ok_or(MISSING)?;
                self.value(out, |out| write_decimal(*scale, *number, out))
            }
            Texts::Time { digits, numbers } => {
                let time = *numbers.get(entry).ok_or(MISSING)?;
                self.value(out, |out| write_time(time, *digits, out))
            }
            Texts::Rewritten(rewriting, bytes) => self.rewritten(*rewriting, bytes, entry, out),
            Texts::Parted { parts, places } => {
                let (part, place) = places.get(entry).ok_or(MISSING)?;
                self.write(parts.get(usize::from(*part)).ok_or(MISSING)?, *place as usize, out)
            }
        }
    }

    /// Appends bytes, in no more memory than there may be.
    pub(super) fn extend(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), ColumnsError> {
        self.make_room(bytes.len(), out)?;
        out.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn make_room(&self, bytes: usize, out: &mut Vec<u8>) -> Result<(), ColumnsError> {
        let needed = out.len() + bytes;
        if needed > self.limit {
            return Err(ColumnsError::Malformed { what: "too much text" });
        }
        if needed > out.capacity() {
            let roomy = (2 * out.capacity()).min(self.limit).max(needed);
            out.reserve_exact(roomy - out.len());
        }
        Ok(())
    }

    /// A text of at most [`MAX_VALUE_BYTES`]; `None` for a value that none is written for.
    fn value(
        &self,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>) -> Option<()>,
    ) -> Result<(), ColumnsError> {
        self.make_room(MAX_VALUE_BYTES.min(self.limit.saturating_sub(out.len())), out)?;
        write(out).ok_or(NO_TEXT)?;
        self.make_room(0, out)
    }

    fn rewritten(
        &mut self,
        rewriting: TextRewrite,
        bytes: &Texts,
        entry: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), ColumnsError> {
        let mut meant = std::mem::take(&mut self.spare);
        meant.clear();
        self.write(bytes, entry, &mut meant)?;
        self.make_room(meant.len(), out)?;
        let written = match rewriting {
            TextRewrite::Hex { upper } => {
                write_hex(&meant, upper, out);
                Some(())
            }
            TextRewrite::Uuid => write_uuid(&meant, out),
            TextRewrite::Ulid => write_ulid(&meant, out),
            TextRewrite::Base64 { for_urls } => {
                let engine = if for_urls { URL_SAFE_NO_PAD } else { STANDARD };
                out.extend_from_slice(engine.encode(&meant).as_bytes());
                Some(())
            }
        };
        self.spare = meant;
        written.ok_or(NO_TEXT)?;
        self.make_room(0, out)
    }
}

const MISSING: ColumnsError = ColumnsError::Malformed { what: "an entry that is not there" };
const NO_TEXT: ColumnsError = ColumnsError::Malformed { what: "a value without a text" };
