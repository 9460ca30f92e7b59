//! The writer of numbers: takes out common structure step by step, as long as that saves bytes.

use std::rc::Rc;

use super::GroupWriter;
use super::encoded_node::EncodedNode;
use crate::columns::blocks::StreamKind;
use crate::columns::node::number;
use crate::columns::table::Classes;

/// Fewer numbers than this are written as they are.
const FEW: usize = 4;
/// Bytes of a piece that nothing is worth making smaller.
const SMALL_ENOUGH: usize = 12;
/// Classes by which numbers may be split.
const MAX_SPLIT_CLASSES: usize = 80;
/// Columns of classes by which a split is tried, those of few classes first.
const SPLITS_TRIED: usize = 5;
/// Numbers that are looked at to find another column that they follow.
const OFFSET_SAMPLES: usize = 32;
/// Units of times, in each other.
const OFFSET_FACTORS: [i64; 3] = [1, 1_000, 1_000_000];

/// One step.
#[derive(Clone)]
enum Step {
    Delta,
    Runs,
    Fresh,
    Keyed(Rc<Classes>),
    Split(Rc<Classes>),
    Mapped(Rc<Classes>),
    Offset(usize, i64),
}

impl GroupWriter<'_> {
    /// A node for the numbers, of `steps` steps at most.
    pub(super) fn numbers(&mut self, numbers: &[i64], rows: Option<&[u16]>, steps: usize) -> EncodedNode {
        let least = numbers.iter().copied().min().unwrap_or_default();
        let most = numbers.iter().copied().max().unwrap_or_default();
        if least == most {
            return EncodedNode::new(number::CONSTANT, numbers.len()).signed(least);
        }
        if let Some(node) = rows.and_then(|rows| self.same_numbers(numbers, rows)) {
            return node;
        }
        if let Some(factor) = common_factor(numbers, least) {
            let factor_bits = factor.cast_unsigned();
            let parts = numbers.iter().map(|number| number.wrapping_sub(least).cast_unsigned() / factor_bits);
            let parts: Vec<i64> = parts.map(u64::cast_signed).collect();
            let child = self.numbers(&parts, rows, steps);
            return EncodedNode::new(number::SCALED, numbers.len()).signed(factor).signed(least).with(child);
        }
        let plain = plain(numbers, least, most);
        if steps == 0 || numbers.len() < FEW {
            return plain;
        }
        let mut lightest = self.scale.weigh(&plain);
        if lightest <= SMALL_ENOUGH {
            return plain;
        }
        let mut best = (None, plain);
        for step in self.steps(numbers, rows, least) {
            // The first values of the classes are a series by themselves, which may need a step of its own.
            let within = usize::from(matches!(step, Step::Keyed(_))).min(steps - 1);
            let node = self.apply(&step, numbers, rows, within);
            let weight = self.scale.weigh(&node);
            if weight < lightest {
                lightest = weight;
                best = (Some((step, within)), node);
            }
        }
        match best {
            (Some((step, within)), _) if within < steps - 1 => self.apply(&step, numbers, rows, steps - 1),
            (_, node) => node,
        }
    }

    /// The steps that may make the numbers smaller.
    fn steps(&self, numbers: &[i64], rows: Option<&[u16]>, least: i64) -> Vec<Step> {
        let mut steps = Vec::new();
        let runs = 1 + numbers.iter().zip(numbers.iter().skip(1)).filter(|(one, next)| one != next).count();
        if runs * 2 < numbers.len() {
            steps.push(Step::Runs);
        }
        if least == 0 && is_fresh(numbers) {
            steps.push(Step::Fresh);
        }
        let delta_bits =
            bits(numbers.iter().zip(numbers.iter().skip(1)).map(|(one, next)| next.wrapping_sub(*one)));
        let plain_bits = bits(numbers.iter().map(|number| number.wrapping_sub(least)));
        if delta_bits < plain_bits {
            steps.push(Step::Delta);
        }
        let Some(rows) = rows else { return steps };
        if let Some(classes) = self.classes.iter().find(|classes| follow(numbers, rows, classes)) {
            return vec![Step::Mapped(Rc::clone(classes))];
        }
        let keyed = self.classes.iter().filter(|classes| classes.count < rows.len());
        let keyed = keyed.map(|classes| (keyed_bits(numbers, rows, classes), classes));
        if let Some((keyed_bits, classes)) = keyed.min_by_key(|(bits, _)| *bits)
            && keyed_bits * 10 < plain_bits.min(delta_bits) * 9
        {
            steps.push(Step::Keyed(Rc::clone(classes)));
        }
        let few = self.classes.iter().filter(|classes| classes.count <= MAX_SPLIT_CLASSES);
        steps.extend(few.take(SPLITS_TRIED).map(|classes| Step::Split(Rc::clone(classes))));
        steps.extend(self.offset(numbers, rows, plain_bits.min(delta_bits)));
        steps
    }

    fn apply(&mut self, step: &Step, numbers: &[i64], rows: Option<&[u16]>, steps: usize) -> EncodedNode {
        let count = numbers.len();
        match step {
            Step::Delta => {
                let first = numbers.first().copied().unwrap_or_default();
                let both = numbers.iter().zip(numbers.iter().skip(1));
                let deltas: Vec<i64> = both.map(|(one, next)| next.wrapping_sub(*one)).collect();
                let rows = rows.and_then(|rows| rows.get(1..));
                EncodedNode::new(number::DELTA, count).signed(first).with(self.numbers(&deltas, rows, steps))
            }
            Step::Runs => {
                let runs = numbers.chunk_by(|one, next| one == next);
                let (values, lengths): (Vec<i64>, Vec<i64>) =
                    runs.filter_map(|run| Some((*run.first()?, i64::try_from(run.len()).ok()?))).unzip();
                let node = EncodedNode::new(number::RUNS, count).number(values.len() as u64);
                node.with(self.numbers(&values, None, steps)).with(self.numbers(&lengths, None, steps))
            }
            Step::Fresh => {
                let mut next = 0;
                let back = |number: &i64| {
                    let back = next - number;
                    next += i64::from(back == 0);
                    back
                };
                let back: Vec<i64> = numbers.iter().map(back).collect();
                EncodedNode::new(number::FRESH, count).with(self.numbers(&back, rows, steps))
            }
            Step::Offset(column, factor) => {
                let of = |(number, row): (&i64, &u16)| {
                    number
                        .wrapping_sub(self.number_at(*column, *row).unwrap_or_default().wrapping_mul(*factor))
                };
                let rest: Vec<i64> = numbers.iter().zip(rows.unwrap_or_default()).map(of).collect();
                let node = EncodedNode::new(number::OFFSET, count).number(*column as u64).signed(*factor);
                node.with(self.numbers(&rest, rows, steps))
            }
            Step::Keyed(classes) => self.keyed(classes, numbers, rows.unwrap_or_default(), steps),
            Step::Split(classes) => {
                let node = EncodedNode::of_classes(number::SPLIT, count, classes.column, classes.count);
                let parts = classes.part(rows.unwrap_or_default());
                let mut of_part = vec![Vec::new(); parts.rows.len()];
                for (part, number) in parts.of_entry.iter().zip(numbers) {
                    if let Some(part) = of_part.get_mut(usize::from(*part)) {
                        part.push(*number);
                    }
                }
                let parts = of_part.iter().zip(&parts.rows);
                parts.fold(node, |node, (numbers, rows)| node.with(self.numbers(numbers, Some(rows), steps)))
            }
            Step::Mapped(classes) => {
                let parts = classes.part(rows.unwrap_or_default());
                let mut table = vec![0; parts.rows.len()];
                for (part, number) in parts.of_entry.iter().zip(numbers) {
                    if let Some(place) = table.get_mut(usize::from(*part)) {
                        *place = *number;
                    }
                }
                let node = EncodedNode::of_classes(number::MAPPED, count, classes.column, classes.count);
                node.with(self.numbers(&table, None, steps))
            }
        }
    }

    fn keyed(&mut self, classes: &Classes, numbers: &[i64], rows: &[u16], steps: usize) -> EncodedNode {
        let mut last: Vec<Option<i64>> = vec![None; classes.count];
        let (mut firsts, mut first_rows) = (Vec::new(), Vec::new());
        let (mut others, mut other_rows) = (Vec::new(), Vec::new());
        for (number, row) in numbers.iter().zip(rows) {
            let Some(last) = last.get_mut(usize::from(classes.at(*row))) else { continue };
            match last.replace(*number) {
                None => {
                    firsts.push(*number);
                    first_rows.push(*row);
                }
                Some(last) => {
                    others.push(number.wrapping_sub(last));
                    other_rows.push(*row);
                }
            }
        }
        let node = EncodedNode::of_classes(number::KEYED, numbers.len(), classes.column, classes.count);
        let node = node.with(self.numbers(&firsts, Some(&first_rows), steps));
        node.with(self.numbers(&others, Some(&other_rows), steps))
    }

    /// A node for numbers that are exactly another column's, or a multiple of it.
    fn same_numbers(&mut self, numbers: &[i64], rows: &[u16]) -> Option<EncodedNode> {
        let step =
            Some(rows).filter(|rows| rows.len() > OFFSET_SAMPLES).and_then(|_| self.offset(numbers, rows, 0));
        let Some(Step::Offset(column, factor)) = step else { return None };
        let same = |(number, row): (&i64, &u16)| {
            self.number_at(column, *row).is_some_and(|other| other.wrapping_mul(factor) == *number)
        };
        let all = numbers.iter().zip(rows).all(same);
        all.then(|| self.apply(&Step::Offset(column, factor), numbers, Some(rows), 0))
    }

    /// Another column that the numbers are nearer to than to each other.
    fn offset(&self, numbers: &[i64], rows: &[u16], bits_so_far: usize) -> Option<Step> {
        let every = numbers.len().div_ceil(OFFSET_SAMPLES);
        let sampled = numbers.iter().zip(rows).step_by(every);
        let count = sampled.len();
        let sum = |column: usize, factor: i64| {
            sampled.clone().try_fold(0, |sum, (number, row)| {
                let other = self.number_at(column, *row)?.wrapping_mul(factor);
                Some(sum + bits_of(number.wrapping_sub(other)))
            })
        };
        let tried = self.numeric.iter().flat_map(|column| OFFSET_FACTORS.map(|factor| (*column, factor)));
        let tried = tried.filter_map(|(column, factor)| Some((sum(column, factor)?, column, factor)));
        let (bits, column, factor) = tried.min()?;
        if bits * numbers.len() * 10 > bits_so_far * count * 8 {
            return None;
        }
        let all = rows.iter().all(|row| self.number_at(column, *row).is_some());
        all.then_some(Step::Offset(column, factor))
    }
}

/// About how many bits numbers have that are small in either direction.
fn bits(numbers: impl Iterator<Item = i64>) -> usize {
    numbers.map(bits_of).sum()
}

fn bits_of(number: i64) -> usize {
    (u64::BITS - ((number << 1) ^ (number >> 63)).leading_zeros()) as usize
}

/// [`bits`] of differences from the one before of the same class; the first of each class differ from one another.
fn keyed_bits(numbers: &[i64], rows: &[u16], classes: &Classes) -> usize {
    let mut last: Vec<Option<i64>> = vec![None; classes.count];
    let (mut sum, mut last_first) = (0, None);
    for (number, row) in numbers.iter().zip(rows) {
        let Some(last) = last.get_mut(usize::from(classes.at(*row))) else { continue };
        let before = last.replace(*number).or_else(|| last_first.replace(*number));
        sum += before.map_or(0, |before| bits_of(number.wrapping_sub(before)));
    }
    sum
}

/// Returns `true` if each class has one number, and there are at most half as many classes as numbers.
fn follow(numbers: &[i64], rows: &[u16], classes: &Classes) -> bool {
    if classes.count * 2 > numbers.len() {
        return false;
    }
    let mut table: Vec<Option<i64>> = vec![None; classes.count];
    numbers.iter().zip(rows).all(|(number, row)| {
        let place = table.get_mut(usize::from(classes.at(*row)));
        place.is_some_and(|place| *place.get_or_insert(*number) == *number)
    })
}

/// Returns `true` if every number is at most one more than all before it, as in an order of first occurrence.
fn is_fresh(numbers: &[i64]) -> bool {
    let mut next = 0;
    numbers.iter().all(|number| {
        next += i64::from(*number == next);
        *number < next
    })
}

/// Returns the common divisor of all distances from the least number, if it is more than one.
fn common_factor(numbers: &[i64], least: i64) -> Option<i64> {
    let mut factor = 0_u64;
    for number in numbers {
        let mut rest = number.wrapping_sub(least).cast_unsigned();
        while rest != 0 {
            (factor, rest) = (rest, factor % rest);
        }
        if factor == 1 {
            return None;
        }
    }
    i64::try_from(factor).ok()
}

/// Distances from the least, byte after byte of all.
fn plain(numbers: &[i64], least: i64, most: i64) -> EncodedNode {
    let span = most.wrapping_sub(least).cast_unsigned();
    let width = (u64::BITS - span.leading_zeros()).div_ceil(8);
    let mut bytes = Vec::with_capacity(numbers.len() * width as usize);
    for shift in (0..width).map(|byte| 8 * byte) {
        let byte = |number: &i64| (number.wrapping_sub(least).cast_unsigned() >> shift).to_le_bytes()[0];
        bytes.extend(numbers.iter().map(byte));
    }
    EncodedNode::new(number::PLAIN, numbers.len()).signed(least).stream(StreamKind::Numbers, bytes)
}
