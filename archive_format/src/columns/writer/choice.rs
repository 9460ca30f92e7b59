//! Texts that are mostly written in one way, the others in another.

use super::GroupWriter;
use super::compose::TextPiece;
use super::encoded_node::EncodedNode;
use super::texts::NUMBER_STEPS;
use crate::columns::node::text;
use crate::columns::written::read_decimal;

/// Texts divided: those that the first way is for, and their rows.
struct TextSplit<'t> {
    texts: [Vec<&'t [u8]>; 2],
    rows: [Vec<u16>; 2],
    choices: Vec<i64>,
}

impl GroupWriter<'_> {
    /// Texts of which most are numbers: `null` may stand among them.
    pub(super) fn mostly_numbers(
        &mut self,
        texts: &[&[u8]],
        rows: Option<&[u16]>,
        steps: usize,
    ) -> Option<EncodedNode> {
        let divided = divide(texts, rows, |text, _| read_decimal(text).is_some())?;
        let [numbers, others] = &divided.texts;
        let [number_rows, other_rows] = divided.rows.each_ref().map(|part| rows.map(|_| part.as_slice()));
        let (first, _) = self.meaning(numbers, number_rows)?;
        let second = self.texts(others, other_rows, steps - 1);
        Some(self.chosen(&divided.choices, rows, first, second))
    }

    /// Texts of which most are made up of other columns.
    pub(super) fn mostly_composed(
        &mut self,
        texts: &[&[u8]],
        rows: &[u16],
        steps: usize,
    ) -> Option<EncodedNode> {
        let parts = self.find_parts(texts, rows)?;
        let open = parts.last() == Some(&TextPiece::Rest);
        let fits = |text: &[u8], row: Option<u16>| {
            let rest = row.and_then(|row| self.strip(text, row, &parts));
            rest.is_some_and(|rest| open || rest.is_empty())
        };
        let divided = divide(texts, Some(rows), fits)?;
        let [composed, others] = &divided.texts;
        let [composed_rows, other_rows] = &divided.rows;
        let (parts, rests) = self.compose_of(parts, composed, composed_rows)?;
        let first = self.composed(&parts, &rests, composed_rows);
        let second = self.texts(others, Some(other_rows), steps - 1);
        Some(self.chosen(&divided.choices, Some(rows), first, second))
    }

    fn chosen(
        &mut self,
        choices: &[i64],
        rows: Option<&[u16]>,
        first: EncodedNode,
        second: EncodedNode,
    ) -> EncodedNode {
        let choices_piece = self.numbers(choices, rows, NUMBER_STEPS);
        let node = EncodedNode::new(text::CHOSEN, choices.len()).number(2);
        node.with(choices_piece).with(first).with(second)
    }
}

/// Divides texts; `None` unless some, and no more than a fourth, are left for the second way.
fn divide<'t>(
    texts: &[&'t [u8]],
    rows: Option<&[u16]>,
    is_first: impl Fn(&[u8], Option<u16>) -> bool,
) -> Option<TextSplit<'t>> {
    let mut divided =
        TextSplit { texts: [const { Vec::new() }; 2], rows: [const { Vec::new() }; 2], choices: Vec::new() };
    let mut each_row = rows.unwrap_or_default().iter();
    for text in texts {
        let row = each_row.next().copied();
        let choice = usize::from(!is_first(text, row));
        divided.texts.get_mut(choice)?.push(*text);
        divided.rows.get_mut(choice)?.extend(row);
        divided.choices.push(i64::from(choice == 1));
        if divided.texts.get(1)?.len() * 4 > texts.len() {
            return None;
        }
    }
    let [_, others] = &divided.texts;
    (!others.is_empty()).then_some(divided)
}
