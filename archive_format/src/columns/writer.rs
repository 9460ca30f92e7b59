//! The writer of columns as nodes and streams: their order, and the columns each is derived from.

mod choice;
mod compose;
mod encoded_node;
mod numbers;
mod texts;

use std::rc::Rc;

use super::ColumnsError;
use super::blocks::{Stream, StreamKind};
use super::gather::{GroupColumns, Values};
use super::limits::{MAX_BLOCK_BYTES, MAX_BLOCKS_BYTES, MAX_NODE_VALUES, MAX_STREAMS};
use super::node::{column, number, text};
use super::table::Classes;
use super::varint::put;
use encoded_node::{EncodedNode, Scale};
use texts::{DistinctTexts, NUMBER_STEPS, different};

/// Columns by whose classes others are tried: as many as that every number can be compared with all.
const MAX_CLASS_COLUMNS: usize = 64;
/// Steps that texts are made smaller by.
const TEXT_STEPS: usize = 4;

/// Encodes the columns of a group.
struct GroupWriter<'a> {
    columns: Vec<Values<'a>>,
    /// Columns of few different values that were encoded, those of the fewest first.
    classes: Vec<Rc<Classes>>,
    /// Columns that were encoded and whose texts, or numbers, others may refer to.
    textual: Vec<usize>,
    numeric: Vec<usize>,
    scale: Scale,
    rows: usize,
}

/// Writes forms and columns into the directory, and gives the streams; `None` where a reader would refuse so much.
pub(super) fn write_columns(
    gathered: GroupColumns<'_>,
    directory: &mut Vec<u8>,
) -> Result<Option<Vec<Stream>>, ColumnsError> {
    let GroupColumns { forms, form_of_row, columns } = gathered;
    let scale = Scale::new().ok_or(ColumnsError::Context)?;
    let rows = form_of_row.len();
    let mut writer =
        GroupWriter { columns, classes: Vec::new(), textual: Vec::new(), numeric: Vec::new(), scale, rows };
    forms.write(directory);

    let all: Vec<u16> = (0..=u16::MAX).take(rows).collect();
    let form_numbers: Vec<i64> = form_of_row.iter().map(|form| i64::from(*form)).collect();
    let mut whole = writer.numbers(&form_numbers, Some(&all), NUMBER_STEPS);
    let (kinds, count) = forms.kinds();
    let kind_of = |form: &u16| kinds.get(usize::from(*form)).copied().unwrap_or_default();
    let kind_of_row = form_of_row.iter().map(kind_of).collect();
    writer.classes = vec![
        Rc::new(Classes { column: column::KIND, of_row: kind_of_row, count }),
        Rc::new(Classes { column: column::FORM, of_row: form_of_row, count: forms.forms.len() + 1 }),
    ];

    let nodes = writer.nodes();
    put(nodes.len() as u64, &mut whole.directory);
    for (number, node) in nodes {
        put(number as u64, &mut whole.directory);
        whole = whole.with(node);
    }
    directory.append(&mut whole.directory);
    let bytes: usize = whole.streams.iter().map(|stream| stream.bytes.len()).sum();
    let long = whole.streams.iter().any(|stream| stream.bytes.len() > MAX_BLOCK_BYTES);
    let fits = whole.values <= MAX_NODE_VALUES
        && whole.streams.len() <= MAX_STREAMS
        && bytes <= MAX_BLOCKS_BYTES
        && !long;
    Ok(fits.then_some(whole.streams))
}

impl GroupWriter<'_> {
    /// All columns that have entries, in an order in which each refers only to those before it: first those of few different
    /// texts, then numbers, then all others, short texts first.
    fn nodes(&mut self) -> Vec<(usize, EncodedNode)> {
        let mut nodes = Vec::new();
        let (mut named, mut numeric, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (number, values) in self.columns.iter().enumerate() {
            if values.domain.rows.is_empty() {
                continue;
            }
            let bytes: usize = values.texts.iter().map(|text| text.len()).sum();
            if column::is_numeric(number) || looks_numeric(&values.texts) {
                numeric.push((0, number, None));
            } else if let Some(found) = few(number, &values.texts) {
                named.push((found.texts.len(), number, Some(found)));
            } else {
                others.push((bytes / values.texts.len().max(1), number, None));
            }
        }
        named.sort_unstable_by_key(|(different, number, _)| (*different, *number));
        others.sort_unstable_by_key(|(bytes, number, _)| (*bytes, *number));
        for (_, number, found) in named.into_iter().chain(numeric).chain(others) {
            let values = self.columns.get_mut(number).map(std::mem::take).unwrap_or_default();
            let (node, values) = self.column(number, values, found);
            if let Some(place) = self.columns.get_mut(number) {
                *place = values;
            }
            self.note_readable(number);
            nodes.push((number, node));
        }
        nodes
    }

    /// The node of a column, whose different texts were found if they are few.
    fn column<'a>(
        &mut self,
        number: usize,
        mut values: Values<'a>,
        found: Option<DistinctTexts<'a>>,
    ) -> (EncodedNode, Values<'a>) {
        let rows = values.domain.rows.as_slice();
        if column::is_numeric(number) {
            return (self.numbers(&values.numbers, Some(rows), NUMBER_STEPS), values);
        }
        if matches!(number, column::PART | column::DIGEST) {
            return (self.raw(&values.texts, Some(rows), StreamKind::Bytes), values);
        }
        let node = self.named_or_composed(number, &values, found, rows);
        if let Some(node) = node {
            return (node, values);
        }
        if let Some((node, numbers)) = self.meaning(&values.texts, Some(rows)) {
            values.numbers = numbers;
            return (node, values);
        }
        (self.texts(&values.texts, Some(rows), TEXT_STEPS), values)
    }

    /// Writes a column as composed of others, or as one of few different texts.
    fn named_or_composed(
        &mut self,
        number: usize,
        values: &Values<'_>,
        found: Option<DistinctTexts<'_>>,
        rows: &[u16],
    ) -> Option<EncodedNode> {
        let texts = &values.texts;
        if let Some((parts, rests)) = self.compose(texts, rows) {
            return Some(self.composed(&parts, &rests, rows));
        }
        if found.as_ref().is_some_and(|found| found.texts.len() == 1) {
            return None;
        }
        if let Some(found) = found {
            return Some(self.named(number, found, values, rows));
        }
        self.by_kind(texts, rows).or_else(|| self.mostly_composed(texts, rows, TEXT_STEPS))
    }

    fn named(
        &mut self,
        number: usize,
        found: DistinctTexts<'_>,
        values: &Values<'_>,
        rows: &[u16],
    ) -> EncodedNode {
        let follows = |classes: &&Rc<Classes>| {
            let mut table: Vec<Option<u16>> = vec![None; classes.count];
            found.of_entry.iter().zip(rows).all(|(text, row)| {
                let place = table.get_mut(usize::from(classes.at(*row)));
                place.is_some_and(|place| *place.get_or_insert(*text) == *text)
            })
        };
        let few = |classes: &&Rc<Classes>| classes.count <= found.texts.len() * 3 + 8;
        if let Some(classes) = self.classes.iter().filter(few).find(follows).map(Rc::clone) {
            let parts = classes.part(rows);
            let mut table: Vec<&[u8]> = vec![&[]; parts.rows.len()];
            for (part, text) in parts.of_entry.iter().zip(&values.texts) {
                if let Some(place) = table.get_mut(usize::from(*part)) {
                    *place = text;
                }
            }
            let node = EncodedNode::of_classes(text::MAPPED, rows.len(), classes.column, classes.count);
            return node.with(self.texts(&table, None, TEXT_STEPS - 1));
        }
        let (node, of_entry, count) = self.dictionary(found, Some(rows), TEXT_STEPS);
        if self.classes.len() < MAX_CLASS_COLUMNS {
            let classes = Classes::new(number, self.rows, &values.domain, &of_entry, count);
            let at = self.classes.partition_point(|other| other.count <= classes.count);
            self.classes.insert(at, Rc::new(classes));
        }
        node
    }

    /// A column that is made up of others, in another way for each type of event.
    fn by_kind(&mut self, texts: &[&[u8]], rows: &[u16]) -> Option<EncodedNode> {
        let kinds = self.classes.iter().find(|classes| classes.column == column::KIND).map(Rc::clone)?;
        let parts = kinds.part(rows);
        if parts.rows.len() < 2 {
            return None;
        }
        let mut of_part = vec![Vec::new(); parts.rows.len()];
        for (part, text) in parts.of_entry.iter().zip(texts) {
            of_part.get_mut(usize::from(*part))?.push(*text);
        }
        let composed: Vec<_> =
            of_part.iter().zip(&parts.rows).map(|(texts, rows)| self.compose(texts, rows)).collect();
        let covered: usize = composed
            .iter()
            .zip(&of_part)
            .filter(|(parts, _)| parts.is_some())
            .map(|(_, texts)| texts.len())
            .sum();
        if covered * 2 < texts.len() {
            return None;
        }
        let mut node = EncodedNode::of_classes(text::SPLIT, rows.len(), kinds.column, kinds.count);
        for ((composed, texts), rows) in composed.iter().zip(&of_part).zip(&parts.rows) {
            node = node.with(match composed {
                Some((parts, rests)) => self.composed(parts, rests, rows),
                None => self.texts(texts, Some(rows), TEXT_STEPS - 1),
            });
        }
        Some(node)
    }
}

/// Returns `true` if a sample of the texts are all integers, so that all texts probably are.
fn looks_numeric(texts: &[&[u8]]) -> bool {
    const SAMPLES: usize = 64;
    let every = texts.len().div_ceil(SAMPLES).max(1);
    let is_number = |text: &&[u8]| super::written::read_decimal(text).is_some();
    !texts.is_empty() && texts.iter().step_by(every).all(is_number)
}

/// The different texts of a column by which others may go, if they are few.
fn few<'t>(number: usize, texts: &[&'t [u8]]) -> Option<DistinctTexts<'t>> {
    if matches!(number, column::PART | column::DIGEST | column::WHOLE_RECORD) {
        None
    } else {
        different(texts)
    }
}

const _: () = assert!(number::CONSTANT == text::CONSTANT, "the first tag of both means the same");
