//! The writer of texts: as the values that they mean, by common structure, or as they are.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use foldhash::HashMap;

use super::GroupWriter;
use super::compose::common_prefix;
use super::encoded_node::EncodedNode;
use crate::columns::blocks::StreamKind;
use crate::columns::limits::MAX_PIECES;
use crate::columns::node::text;
use crate::columns::written::{
    MAX_TIME_DIGITS, read_decimal, read_hex, read_integer, read_padded, read_time, read_ulid, read_uuid,
};

/// Steps that numbers within texts are made smaller by.
pub(super) const NUMBER_STEPS: usize = 3;
/// A constant text longer than this lies in a stream.
const MAX_CONSTANT_BYTES: usize = 1_024;
/// Reads a text and writes the bytes that it means.
type ReadBytes<'f> = &'f dyn Fn(&[u8], &mut Vec<u8>) -> Option<()>;
/// Fewer texts than this are written as they are.
const FEW: usize = 3;
/// The shortest text that is taken for bytes in hexadecimal or base64.
const MIN_ENCODED_BYTES: usize = 16;

/// Different texts in the order in which they first come up, and which of them each is.
pub(super) struct DistinctTexts<'t> {
    pub(super) texts: Vec<&'t [u8]>,
    pub(super) of_entry: Vec<u16>,
}

/// The different ones of texts; `None` where they are so many that naming them saves nothing.
pub(super) fn different<'t>(texts: &[&'t [u8]]) -> Option<DistinctTexts<'t>> {
    /// Texts after which the final number of different texts is estimated.
    const PROBE: usize = 512;
    let mut numbers: HashMap<&[u8], u16> = HashMap::default();
    let mut different = DistinctTexts { texts: Vec::new(), of_entry: Vec::with_capacity(texts.len()) };
    for text in texts {
        let next = u16::try_from(different.texts.len()).ok()?;
        let number = *numbers.entry(text).or_insert(next);
        if number == next {
            different.texts.push(text);
        }
        different.of_entry.push(number);
        let seen = different.of_entry.len();
        if seen == PROBE && different.texts.len() * 20 > PROBE * 19 {
            return None;
        }
    }
    (different.texts.len() * 4 <= texts.len() * 3).then_some(different)
}

impl GroupWriter<'_> {
    /// A node for texts, of `steps` steps at most.
    pub(super) fn texts(&mut self, texts: &[&[u8]], rows: Option<&[u16]>, steps: usize) -> EncodedNode {
        let first = texts.first().copied().unwrap_or_default();
        if first.len() <= MAX_CONSTANT_BYTES && texts.iter().all(|text| *text == first) {
            return EncodedNode::new(text::CONSTANT, texts.len()).bytes(first);
        }
        if steps == 0 || texts.len() < FEW {
            return self.raw(texts, rows, StreamKind::Text);
        }
        if let Some((node, _)) = self.meaning(texts, rows) {
            return node;
        }
        if let Some(found) = different(texts) {
            return self.dictionary(found, rows, steps).0;
        }
        if let Some(node) = self.mostly_numbers(texts, rows, steps) {
            return node;
        }
        let node = match self.between_affixes(texts, rows, steps) {
            Some(node) => node,
            None => self.lightest(texts, rows, steps),
        };
        // Many a text reads as base64 that is none, and is smaller as it is.
        match self.base64(texts, rows) {
            Some(base64) if self.scale.weigh(&base64) < self.scale.weigh(&node) => base64,
            _ => node,
        }
    }

    /// Writes the texts as they are, by their pattern, or by their common beginning with the text before, whichever is smallest.
    fn lightest(&mut self, texts: &[&[u8]], rows: Option<&[u16]>, steps: usize) -> EncodedNode {
        let mut best = self.raw(texts, rows, StreamKind::Text);
        let mut lightest = self.scale.weigh(&best);
        for node in [self.pattern(texts, rows, steps), self.prefixed(texts, rows)].into_iter().flatten() {
            let weight = self.scale.weigh(&node);
            if weight < lightest {
                (best, lightest) = (node, weight);
            }
        }
        best
    }

    pub(super) fn raw(&mut self, texts: &[&[u8]], rows: Option<&[u16]>, nature: StreamKind) -> EncodedNode {
        let lengths: Vec<i64> = texts.iter().filter_map(|text| i64::try_from(text.len()).ok()).collect();
        let lengths = self.numbers(&lengths, rows, 2);
        let bytes = texts.concat();
        let nature = if self.scale.looks_random(&bytes) { StreamKind::Bytes } else { nature };
        EncodedNode::new(text::RAW, texts.len()).with(lengths).stream(nature, bytes)
    }

    /// Texts that all mean numbers, times or bytes; with the numbers, where they can be referred to.
    pub(super) fn meaning(
        &mut self,
        texts: &[&[u8]],
        rows: Option<&[u16]>,
    ) -> Option<(EncodedNode, Vec<i64>)> {
        let first = texts.first()?;
        if let Some(numbers) = all(texts, read_integer) {
            return Some(self.integers(numbers, 0, rows));
        }
        let width = first.len();
        if let Some(numbers) = all(texts, |text| read_padded(text, width)) {
            return Some(self.integers(numbers, width, rows));
        }
        if let Some(pairs) = all(texts, read_decimal) {
            let (scales, numbers): (Vec<i64>, Vec<i64>) = pairs.into_iter().unzip();
            let node = EncodedNode::new(text::DECIMAL, texts.len());
            let node = node.with(self.numbers(&scales, rows, NUMBER_STEPS));
            return Some((node.with(self.numbers(&numbers, rows, NUMBER_STEPS)), Vec::new()));
        }
        for digits in 0..=MAX_TIME_DIGITS {
            if read_time(first, digits).is_some()
                && let Some(times) = all(texts, |text| read_time(text, digits))
            {
                let node = EncodedNode::new(text::TIME, texts.len()).number(u64::from(digits));
                let node = node.with(self.numbers(&times, rows, NUMBER_STEPS));
                return Some((node, times));
            }
        }
        self.bytes(texts, rows).map(|node| (node, Vec::new()))
    }

    fn integers(&mut self, numbers: Vec<i64>, width: usize, rows: Option<&[u16]>) -> (EncodedNode, Vec<i64>) {
        let node = EncodedNode::new(text::INTEGER, numbers.len()).number(width as u64);
        (node.with(self.numbers(&numbers, rows, NUMBER_STEPS)), numbers)
    }

    /// Texts that all are another form of bytes.
    fn bytes(&mut self, texts: &[&[u8]], rows: Option<&[u16]>) -> Option<EncodedNode> {
        let of = |read: ReadBytes<'_>| {
            all(texts, |text| {
                let mut bytes = Vec::new();
                read(text, &mut bytes).map(|()| bytes)
            })
        };
        let long = |text: &[u8]| (text.len() >= MIN_ENCODED_BYTES).then_some(());
        let hex = |upper: bool| of(&move |text, out| long(text).and_then(|()| read_hex(text, upper, out)));
        let node = |tag| EncodedNode::new(tag, texts.len());
        let (node, bytes) = None
            .or_else(|| Some((node(text::UUID), of(&read_uuid)?)))
            .or_else(|| Some((node(text::ULID), of(&read_ulid)?)))
            .or_else(|| Some((node(text::HEX).number(0), hex(false)?)))
            .or_else(|| Some((node(text::HEX).number(1), hex(true)?)))?;
        Some(node.with(self.meant(&bytes, rows)))
    }

    fn base64(&mut self, texts: &[&[u8]], rows: Option<&[u16]>) -> Option<EncodedNode> {
        let of = |engine: &base64::engine::GeneralPurpose| {
            all(texts, |text| {
                let bytes = engine.decode(text).ok().filter(|_| text.len() >= MIN_ENCODED_BYTES)?;
                // A text that reads but would be written otherwise is left as it is.
                (engine.encode(&bytes).as_bytes() == text).then_some(bytes)
            })
        };
        let (alphabet, bytes) =
            of(&STANDARD).map(|bytes| (0, bytes)).or_else(|| Some((1, of(&URL_SAFE_NO_PAD)?)))?;
        let node = EncodedNode::new(text::BASE64, texts.len()).number(alphabet);
        Some(node.with(self.meant(&bytes, rows)))
    }

    /// Bytes that texts mean.
    fn meant(&mut self, bytes: &[Vec<u8>], rows: Option<&[u16]>) -> EncodedNode {
        let bytes: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
        match different(&bytes) {
            Some(found) => self.dictionary(found, rows, 0).0,
            None => self.raw(&bytes, rows, StreamKind::Bytes),
        }
    }

    /// Writes the different texts, and the number of each entry's text. The texts come in the order of occurrence or
    /// of frequency, whichever is smaller; the numbers are returned as they were written.
    pub(super) fn dictionary(
        &mut self,
        found: DistinctTexts<'_>,
        rows: Option<&[u16]>,
        steps: usize,
    ) -> (EncodedNode, Vec<u16>, usize) {
        /// Different texts whose numbers fit a byte, of which zstd does not care which is which.
        const BYTE: usize = 256;
        let count = found.texts.len();
        let as_numbers =
            |of_entry: &[u16]| of_entry.iter().map(|number| i64::from(*number)).collect::<Vec<_>>();
        let mut numbers = self.numbers(&as_numbers(&found.of_entry), rows, NUMBER_STEPS);
        let DistinctTexts { mut texts, mut of_entry } = found;
        if count > BYTE {
            let (by_rank, order) = by_frequency(&of_entry, count);
            let ranked = self.numbers(&as_numbers(&by_rank), rows, NUMBER_STEPS);
            if self.scale.weigh(&ranked) < self.scale.weigh(&numbers) {
                numbers = ranked;
                of_entry = by_rank;
                texts = order.iter().filter_map(|at| texts.get(usize::from(*at)).copied()).collect();
            }
        }
        let entries = match steps {
            0 => self.raw(&texts, None, StreamKind::Bytes),
            _ => self.texts(&texts, None, steps - 1),
        };
        let node = EncodedNode::new(text::DICTIONARY, of_entry.len()).number(count as u64);
        (node.with(entries).with(numbers), of_entry, count)
    }

    /// Writes the texts between their common beginning and their common end.
    fn between_affixes(
        &mut self,
        texts: &[&[u8]],
        rows: Option<&[u16]>,
        steps: usize,
    ) -> Option<EncodedNode> {
        let first = texts.first()?;
        let prefix = texts.iter().map(|text| common_prefix(first, text)).min()?;
        let suffix = |text: &&[u8]| {
            let both = text.iter().rev().zip(first.iter().rev());
            both.take_while(|(one, other)| one == other).count().min(text.len() - prefix)
        };
        let suffix = texts.iter().map(suffix).min()?;
        if prefix + suffix == 0 || prefix + suffix > MAX_CONSTANT_BYTES {
            return None;
        }
        let inner =
            texts.iter().map(|text| text.get(prefix..text.len() - suffix)).collect::<Option<Vec<_>>>()?;
        let mut pieces = Vec::new();
        if prefix > 0 {
            pieces.push(EncodedNode::new(text::CONSTANT, texts.len()).bytes(first.get(..prefix)?));
        }
        pieces.push(self.texts(&inner, rows, steps - 1));
        if suffix > 0 {
            pieces.push(
                EncodedNode::new(text::CONSTANT, texts.len()).bytes(first.get(first.len() - suffix..)?),
            );
        }
        let node = EncodedNode::new(text::JOINED, texts.len()).number(pieces.len() as u64);
        Some(pieces.into_iter().fold(node, EncodedNode::with))
    }

    /// Writes, for each text, the number of bytes shared with the text before, and the bytes behind them.
    fn prefixed(&mut self, texts: &[&[u8]], rows: Option<&[u16]>) -> Option<EncodedNode> {
        let pairs = texts.iter().zip(texts.iter().skip(1));
        let shared = pairs.map(|(before, text)| common_prefix(before, text));
        let shared: Vec<usize> = std::iter::once(0).chain(shared).collect();
        if shared.iter().sum::<usize>() < texts.len() {
            return None;
        }
        let behind = texts.iter().zip(&shared).map(|(text, shared)| text.get(*shared..));
        let behind = self.raw(&behind.collect::<Option<Vec<_>>>()?, rows, StreamKind::Text);
        let shared: Vec<i64> = shared.into_iter().filter_map(|shared| i64::try_from(shared).ok()).collect();
        let shared = self.numbers(&shared, rows, 2);
        Some(EncodedNode::new(text::PREFIXED, texts.len()).with(shared).with(behind))
    }

    /// Texts that have digits in the same places: each run of digits, and each piece between, by itself.
    fn pattern(&mut self, texts: &[&[u8]], rows: Option<&[u16]>, steps: usize) -> Option<EncodedNode> {
        let first = runs(texts.first()?)?;
        if first.len() < 2 {
            return None;
        }
        let mut slots: Vec<Vec<&[u8]>> = vec![Vec::with_capacity(texts.len()); first.len()];
        for text in texts {
            let runs = runs(text)?;
            let alike = runs.len() == first.len()
                && begins_with_digit(runs.first()?) == begins_with_digit(first.first()?);
            if !alike {
                return None;
            }
            slots.iter_mut().zip(runs).for_each(|(slot, run)| slot.push(run));
        }
        let node = EncodedNode::new(text::JOINED, texts.len()).number(slots.len() as u64);
        Some(slots.iter().fold(node, |node, slot| node.with(self.texts(slot, rows, steps - 1))))
    }
}

/// Returns the value of each text, if all of them can be read.
fn all<'t, T>(texts: &[&'t [u8]], read: impl Fn(&'t [u8]) -> Option<T>) -> Option<Vec<T>> {
    texts.iter().map(|text| read(text)).collect()
}

/// Numbers the texts by frequency. Returns the new number of each entry and, for each new number, the old one.
fn by_frequency(of_entry: &[u16], count: usize) -> (Vec<u16>, Vec<u16>) {
    let mut times = vec![0_u32; count];
    for number in of_entry {
        if let Some(times) = times.get_mut(usize::from(*number)) {
            *times += 1;
        }
    }
    let mut order: Vec<u16> = (0..=u16::MAX).take(count).collect();
    order.sort_by_key(|number| std::cmp::Reverse(times.get(usize::from(*number)).copied()));
    let mut ranks = vec![0_u16; count];
    for (rank, number) in (0..=u16::MAX).zip(&order) {
        if let Some(place) = ranks.get_mut(usize::from(*number)) {
            *place = rank;
        }
    }
    let ranked = of_entry.iter().filter_map(|number| ranks.get(usize::from(*number)).copied()).collect();
    (ranked, order)
}

fn begins_with_digit(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_digit)
}

/// Runs of digits and of others, in turn; `None` where they are too many.
fn runs(text: &[u8]) -> Option<Vec<&[u8]>> {
    let mut runs = Vec::new();
    for run in text.chunk_by(|one, next| one.is_ascii_digit() == next.is_ascii_digit()) {
        if runs.len() == MAX_PIECES / 2 {
            return None;
        }
        runs.push(run);
    }
    Some(runs)
}
