//! Nodes that make texts.

use super::super::ColumnsError;
use super::super::limits::{MAX_BLOCK_BYTES, MAX_COLUMNS, MAX_NODE_DEPTH, MAX_PIECES};
use super::super::node::text;
use super::super::texts::{Ends, TextBuilder, TextRewrite, TextTable, Texts};
use super::super::varint::Input;
use super::super::written::{MAX_DIGITS, MAX_TIME_DIGITS};
use super::{GroupReader, NodeEntries, rows_of};
use crate::columns::MAX_GROUP_ROWS;

/// A table is written out where each of its texts is used this often.
const USES_OF_WRITTEN: usize = 4;

impl GroupReader {
    /// Reads a node that makes as many texts as there are entries.
    pub(super) fn texts(
        &mut self,
        node: &mut Input<'_>,
        over: NodeEntries<'_>,
        depth: usize,
    ) -> Result<Texts, ColumnsError> {
        if depth > MAX_NODE_DEPTH {
            return Err(ColumnsError::Malformed { what: "nodes too deep" });
        }
        self.charge(over.count + 1)?;
        self.hold(size_of::<Texts>())?;
        let depth = depth + 1;
        match node.byte()? {
            text::CONSTANT => {
                let text = node.bytes()?;
                self.hold(text.len())?;
                Ok(Texts::Constant(text.to_vec()))
            }
            text::RAW => self.raw(node, over, depth),
            text::DICTIONARY => self.dictionary(node, over, depth),
            text::JOINED => {
                let mut nodes = Vec::new();
                for _ in 0..node.count(MAX_PIECES, "pieces")? {
                    nodes.push(self.texts(node, over, depth)?);
                }
                Ok(Texts::Joined(nodes))
            }
            text::SAME => self.same(node, rows_of(over)?),
            text::INTEGER => {
                let width = node.count(MAX_DIGITS, "a width")?;
                Ok(Texts::Integer { width, numbers: self.numbers(node, over, depth)? })
            }
            text::DECIMAL => {
                let scales = self.numbers(node, over, depth)?;
                Ok(Texts::Decimal { scales, numbers: self.numbers(node, over, depth)? })
            }
            text::TIME => {
                let digits = node.count(MAX_TIME_DIGITS as usize, "digits of a time")?;
                let digits = u32::try_from(digits).unwrap_or_default();
                Ok(Texts::Time { digits, numbers: self.numbers(node, over, depth)? })
            }
            text::HEX => {
                let upper = node.count(1, "a case")? == 1;
                self.rewritten(TextRewrite::Hex { upper }, node, over, depth)
            }
            text::UUID => self.rewritten(TextRewrite::Uuid, node, over, depth),
            text::ULID => self.rewritten(TextRewrite::Ulid, node, over, depth),
            text::BASE64 => {
                let for_urls = node.count(1, "an alphabet")? == 1;
                self.rewritten(TextRewrite::Base64 { for_urls }, node, over, depth)
            }
            text::SPLIT => self.split_texts(node, rows_of(over)?, depth),
            text::MAPPED => {
                let (classes, rows) = (self.classes(node)?, rows_of(over)?);
                self.hold(classes.part_bytes(rows.len()))?;
                let parts = classes.part(rows);
                let texts = Box::new(self.texts(node, NodeEntries::count(parts.rows.len()), depth)?);
                self.let_go(classes.part_bytes(rows.len()));
                self.hold(size_of_val(rows))?;
                Ok(Texts::Mapped(TextTable { texts, of_entry: parts.of_entry }))
            }
            text::CHOSEN => self.chosen(node, over, depth),
            text::PREFIXED => self.prefixed(node, over, depth),
            _ => Err(ColumnsError::Malformed { what: "a node of texts" }),
        }
    }

    fn rewritten(
        &mut self,
        rewriting: TextRewrite,
        node: &mut Input<'_>,
        over: NodeEntries<'_>,
        depth: usize,
    ) -> Result<Texts, ColumnsError> {
        Ok(Texts::Rewritten(rewriting, Box::new(self.texts(node, over, depth)?)))
    }

    fn raw(
        &mut self,
        node: &mut Input<'_>,
        over: NodeEntries<'_>,
        depth: usize,
    ) -> Result<Texts, ColumnsError> {
        const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "a text's length" };
        let lengths = self.numbers(node, over, depth)?;
        let (block, start, end) = self.streams.next()?;
        let place = |at: usize| u32::try_from(at).map_err(|_| MALFORMED);
        self.hold(over.count * size_of::<u32>())?;
        let mut ends = Ends::with_capacity(place(start)?, over.count);
        let mut at = start;
        for length in lengths {
            let length = usize::try_from(length).ok().filter(|length| *length <= MAX_BLOCK_BYTES);
            at += length.ok_or(MALFORMED)?;
            ends.push(place(at)?);
        }
        self.let_go_of_numbers(over.count);
        self.streams.keep(block);
        if at == end { Ok(Texts::Raw { block, ends }) } else { Err(MALFORMED) }
    }

    fn dictionary(
        &mut self,
        node: &mut Input<'_>,
        over: NodeEntries<'_>,
        depth: usize,
    ) -> Result<Texts, ColumnsError> {
        const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "an entry of a dictionary" };
        let count = node.count(MAX_GROUP_ROWS, "a dictionary's length")?;
        let mut texts = self.texts(node, NodeEntries::count(count), depth)?;
        if !texts.is_flat() && count * USES_OF_WRITTEN <= over.count {
            texts = self.written(&texts, count)?;
        }
        let numbers = self.numbers(node, over, depth)?.into_iter();
        let number = |number| u16::try_from(number).ok().filter(|number| usize::from(*number) < count);
        self.hold(over.count * size_of::<u16>())?;
        let of_entry = numbers.map(number).collect::<Option<_>>().ok_or(MALFORMED)?;
        self.let_go_of_numbers(over.count);
        Ok(Texts::Dictionary(TextTable { texts: Box::new(texts), of_entry }, count))
    }

    fn same(&mut self, node: &mut Input<'_>, rows: &[u16]) -> Result<Texts, ColumnsError> {
        const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "a reference to texts" };
        let number = node.count(MAX_COLUMNS, "a reference to texts")?;
        let (column, domain) = self.columns.get(number).zip(self.domains.get(number)).ok_or(MALFORMED)?;
        if column.texts.is_none() && !rows.is_empty() {
            return Err(MALFORMED);
        }
        if domain.rows == rows {
            return Ok(Texts::Same { column: number, entries: None });
        }
        let entry = |row: &u16| domain.entry_at(*row).and_then(|entry| u32::try_from(entry).ok());
        let entries = rows.iter().map(entry).collect::<Option<_>>().ok_or(MALFORMED)?;
        self.hold(rows.len() * size_of::<u32>())?;
        Ok(Texts::Same { column: number, entries: Some(entries) })
    }

    /// Texts that begin as the one before them does: each is made of all before it, so that all are made at once.
    fn prefixed(
        &mut self,
        node: &mut Input<'_>,
        over: NodeEntries<'_>,
        depth: usize,
    ) -> Result<Texts, ColumnsError> {
        const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "a shared beginning" };
        let shared = self.numbers(node, over, depth)?;
        let behind = self.texts(node, over, depth)?;
        let mut before = 0;
        let written = self.write_all(over.count, |maker, entry, out| {
            let shared = shared.get(entry).and_then(|shared| usize::try_from(*shared).ok());
            let start = out.len();
            let shared = shared.filter(|shared| *shared <= start - before).ok_or(MALFORMED)?;
            maker.make_room(shared, out)?;
            out.extend_from_within(before..before + shared);
            before = start;
            maker.write(&behind, entry, out)
        })?;
        self.let_go_of_numbers(over.count);
        Ok(written)
    }

    fn split_texts(
        &mut self,
        node: &mut Input<'_>,
        rows: &[u16],
        depth: usize,
    ) -> Result<Texts, ColumnsError> {
        let classes = self.classes(node)?;
        self.hold(classes.part_bytes(rows.len()))?;
        let split = classes.part(rows);
        let mut parts = Vec::with_capacity(split.rows.len());
        for rows in &split.rows {
            parts.push(self.texts(node, NodeEntries::rows(rows), depth)?);
        }
        self.hold(rows.len() * size_of::<(u16, u32)>())?;
        let places = places(split.of_entry.into_iter(), parts.len());
        self.let_go(classes.part_bytes(rows.len()));
        Ok(Texts::Parted { parts, places: places.ok_or(ColumnsError::Malformed { what: "a class" })? })
    }

    /// One of several nodes for each entry, as numbers say.
    fn chosen(
        &mut self,
        node: &mut Input<'_>,
        over: NodeEntries<'_>,
        depth: usize,
    ) -> Result<Texts, ColumnsError> {
        const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "a choice" };
        let count = node.count(MAX_PIECES, "choices")?;
        let choices = self.numbers(node, over, depth)?;
        // The rows of the one that is made now.
        let beside = over.count * size_of::<u16>();
        self.hold(beside)?;
        let mut parts = Vec::new();
        for number in (0..).take(count) {
            let is_chosen = |choice: &i64| *choice == number;
            parts.push(match over.rows {
                Some(rows) => {
                    let chosen = rows.iter().zip(&choices).filter(|(_, choice)| is_chosen(choice));
                    let rows: Vec<u16> = chosen.map(|(row, _)| *row).collect();
                    self.texts(node, NodeEntries::rows(&rows), depth)?
                }
                None => {
                    let entries = choices.iter().filter(|choice| is_chosen(choice)).count();
                    self.texts(node, NodeEntries::count(entries), depth)?
                }
            });
        }
        self.hold(over.count * size_of::<(u16, u32)>())?;
        let choices = choices.into_iter().map(|choice| u16::try_from(choice).unwrap_or(u16::MAX));
        let places = places(choices, parts.len()).ok_or(MALFORMED)?;
        self.let_go_of_numbers(over.count);
        self.let_go(beside);
        Ok(Texts::Parted { parts, places })
    }

    /// The texts, made.
    pub(super) fn written(&mut self, texts: &Texts, count: usize) -> Result<Texts, ColumnsError> {
        self.write_all(count, |maker, entry, out| maker.write(texts, entry, out))
    }

    fn write_all(
        &mut self,
        count: usize,
        mut write: impl FnMut(&mut TextBuilder<'_>, usize, &mut Vec<u8>) -> Result<(), ColumnsError>,
    ) -> Result<Texts, ColumnsError> {
        self.hold(count * size_of::<u32>())?;
        let mut maker = TextBuilder::new(&self.columns, &self.streams, self.arena_left);
        maker.steps_left = self.values_left;
        let (mut bytes, mut ends) = (Vec::new(), Ends::with_capacity(0, count));
        for entry in 0..count {
            write(&mut maker, entry, &mut bytes)?;
            ends.push(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        }
        let steps_left = maker.steps_left;
        self.values_left = steps_left;
        self.arena_left -= bytes.len().min(self.arena_left);
        Ok(Texts::Written { bytes, ends })
    }
}

/// Returns the part of each entry and the number of entries before it in that part; `None` if there is no such part.
fn places(of_entry: impl Iterator<Item = u16>, parts: usize) -> Option<Vec<(u16, u32)>> {
    let mut made = vec![0_u32; parts];
    let place = |part: u16| {
        let next = made.get_mut(usize::from(part))?;
        let place = (part, *next);
        *next = next.checked_add(1)?;
        Some(place)
    };
    of_entry.map(place).collect()
}
