//! Nodes that make numbers.

use super::super::ColumnsError;
use super::super::limits::{MAX_COLUMNS, MAX_NODE_DEPTH};
use super::super::node::number;
use super::super::varint::Input;
use super::{GroupReader, NodeEntries, rows_of};

impl GroupReader {
    /// Reads a node and makes its numbers, as many as there are entries. Sums wrap around at 64 bits. A caller that
    /// drops them calls `let_go_of_numbers`.
    pub(super) fn numbers(
        &mut self,
        node: &mut Input<'_>,
        over: NodeEntries<'_>,
        depth: usize,
    ) -> Result<Vec<i64>, ColumnsError> {
        if depth > MAX_NODE_DEPTH {
            return Err(ColumnsError::Malformed { what: "nodes too deep" });
        }
        self.charge(over.count + 1)?;
        let depth = depth + 1;
        match node.byte()? {
            number::CONSTANT => {
                let number = node.signed()?;
                self.hold_numbers(over.count)?;
                Ok(vec![number; over.count])
            }
            number::PLAIN => self.plain(node, over.count),
            number::SCALED => {
                let (factor, base) = (node.signed()?, node.signed()?);
                let mut numbers = self.numbers(node, over, depth)?;
                numbers
                    .iter_mut()
                    .for_each(|number| *number = number.wrapping_mul(factor).wrapping_add(base));
                Ok(numbers)
            }
            number::DELTA => {
                let mut last = node.signed()?;
                let rest = NodeEntries {
                    count: over.count.saturating_sub(1),
                    rows: over.rows.and_then(|rows| rows.get(1..)),
                };
                let differences = self.numbers(node, rest, depth)?;
                self.hold_numbers(over.count)?;
                let mut numbers = Vec::with_capacity(over.count);
                numbers.extend((over.count > 0).then_some(last));
                for difference in differences {
                    last = last.wrapping_add(difference);
                    numbers.push(last);
                }
                self.let_go_of_numbers(rest.count);
                Ok(numbers)
            }
            number::RUNS => self.runs(node, over.count, depth),
            number::KEYED => self.keyed(node, rows_of(over)?, depth),
            number::SPLIT => self.split_numbers(node, rows_of(over)?, depth),
            number::MAPPED => {
                let (classes, rows) = (self.classes(node)?, rows_of(over)?);
                self.hold(classes.part_bytes(rows.len()))?;
                let parts = classes.part(rows);
                let table = self.numbers(node, NodeEntries::count(parts.rows.len()), depth)?;
                let value = |part: &u16| table.get(usize::from(*part)).copied().unwrap_or_default();
                self.hold_numbers(rows.len())?;
                let numbers = parts.of_entry.iter().map(value).collect();
                self.let_go_of_numbers(table.len());
                self.let_go(classes.part_bytes(rows.len()));
                Ok(numbers)
            }
            number::FRESH => {
                let mut numbers = self.numbers(node, over, depth)?;
                let mut next = 0_i64;
                for number in &mut numbers {
                    let back = *number;
                    *number = next.wrapping_sub(back);
                    next += i64::from(back == 0);
                }
                Ok(numbers)
            }
            number::OFFSET => self.offset(node, over, depth),
            _ => Err(ColumnsError::Malformed { what: "a node of numbers" }),
        }
    }

    fn plain(&mut self, node: &mut Input<'_>, count: usize) -> Result<Vec<i64>, ColumnsError> {
        let base = node.signed()?;
        self.hold_numbers(count)?;
        let place = self.streams.next()?;
        let bytes = self.streams.at(place, &mut self.opener)?;
        let mut numbers = vec![base; count];
        if count == 0 || !bytes.len().is_multiple_of(count) || bytes.len() / count > 8 {
            return Err(ColumnsError::Malformed { what: "a stream of numbers" });
        }
        for (plane, shift) in bytes.chunks_exact(count).zip((0..64).step_by(8)) {
            for (number, byte) in numbers.iter_mut().zip(plane) {
                *number = number.wrapping_add(i64::from(*byte) << shift);
            }
        }
        Ok(numbers)
    }

    fn runs(&mut self, node: &mut Input<'_>, count: usize, depth: usize) -> Result<Vec<i64>, ColumnsError> {
        let runs = NodeEntries::count(node.count(count, "runs")?);
        let values = self.numbers(node, runs, depth)?;
        let lengths = self.numbers(node, runs, depth)?;
        self.hold_numbers(count)?;
        let mut numbers = Vec::with_capacity(count);
        for (value, length) in values.into_iter().zip(lengths) {
            let length = usize::try_from(length).ok().filter(|length| *length <= count - numbers.len());
            let length = length.ok_or(ColumnsError::Malformed { what: "a run's length" })?;
            numbers.resize(numbers.len() + length, value);
        }
        self.let_go_of_numbers(2 * runs.count);
        if numbers.len() == count {
            Ok(numbers)
        } else {
            Err(ColumnsError::Malformed { what: "a run's length" })
        }
    }

    /// The first number of each class, and the differences of the others from the one before of their class.
    fn keyed(&mut self, node: &mut Input<'_>, rows: &[u16], depth: usize) -> Result<Vec<i64>, ColumnsError> {
        let classes = self.classes(node)?;
        let beside = (size_of::<bool>() + size_of::<u16>()) * rows.len()
            + (size_of::<bool>() + size_of::<i64>()) * classes.count;
        self.hold(beside)?;
        let mut is_first = Vec::with_capacity(rows.len());
        let mut seen = vec![false; classes.count];
        let (mut first_rows, mut other_rows) = (Vec::new(), Vec::new());
        for row in rows {
            let seen = seen.get_mut(usize::from(classes.at(*row)));
            let first = seen.is_some_and(|seen| !std::mem::replace(seen, true));
            is_first.push(first);
            if first { first_rows.push(*row) } else { other_rows.push(*row) }
        }
        let mut firsts = self.numbers(node, NodeEntries::rows(&first_rows), depth)?.into_iter();
        let mut others = self.numbers(node, NodeEntries::rows(&other_rows), depth)?.into_iter();
        self.hold_numbers(rows.len())?;
        let mut last = vec![0_i64; classes.count];
        let mut numbers = Vec::with_capacity(rows.len());
        for (row, first) in rows.iter().zip(is_first) {
            let difference = if first { firsts.next() } else { others.next() }.unwrap_or_default();
            if let Some(last) = last.get_mut(usize::from(classes.at(*row))) {
                *last = last.wrapping_add(difference);
                numbers.push(*last);
            }
        }
        self.let_go_of_numbers(rows.len());
        self.let_go(beside);
        Ok(numbers)
    }

    fn split_numbers(
        &mut self,
        node: &mut Input<'_>,
        rows: &[u16],
        depth: usize,
    ) -> Result<Vec<i64>, ColumnsError> {
        let classes = self.classes(node)?;
        self.hold(classes.part_bytes(rows.len()))?;
        let parts = classes.part(rows);
        let mut numbers = Vec::with_capacity(parts.rows.len());
        for rows in &parts.rows {
            numbers.push(self.numbers(node, NodeEntries::rows(rows), depth)?.into_iter());
        }
        self.hold_numbers(rows.len())?;
        let next =
            |part: &u16| numbers.get_mut(usize::from(*part)).and_then(Iterator::next).unwrap_or_default();
        let numbers = parts.of_entry.iter().map(next).collect();
        self.let_go_of_numbers(rows.len());
        self.let_go(classes.part_bytes(rows.len()));
        Ok(numbers)
    }

    fn offset(
        &mut self,
        node: &mut Input<'_>,
        over: NodeEntries<'_>,
        depth: usize,
    ) -> Result<Vec<i64>, ColumnsError> {
        const MALFORMED: ColumnsError = ColumnsError::Malformed { what: "a reference to numbers" };
        let column = node.count(MAX_COLUMNS, "a reference to numbers")?;
        let factor = node.signed()?;
        let mut numbers = self.numbers(node, over, depth)?;
        let (column, domain) = self.columns.get(column).zip(self.domains.get(column)).ok_or(MALFORMED)?;
        for (number, row) in numbers.iter_mut().zip(rows_of(over)?) {
            let entry =
                domain.entry_at(*row).and_then(|entry| column.numbers().get(entry)).ok_or(MALFORMED)?;
            *number = entry.wrapping_mul(factor).wrapping_add(*number);
        }
        Ok(numbers)
    }
}
