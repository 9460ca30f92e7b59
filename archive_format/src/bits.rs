//! Numbers of few bits, the lowest bit of each first, from the lowest bit of each byte up.

/// Appends numbers of few bits.
#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    held: u64,
    bits: u32,
}

impl BitWriter {
    /// The lowest `bits` bits of `number`, at most 56.
    pub(super) fn put(&mut self, number: u64, bits: u32) {
        self.held |= (number & mask(bits)) << self.bits;
        self.bits += bits;
        while self.bits >= 8 {
            let [lowest, ..] = self.held.to_le_bytes();
            self.bytes.push(lowest);
            self.held >>= 8;
            self.bits -= 8;
        }
    }

    /// So many zeros, then a one.
    pub(super) fn put_unary(&mut self, zeros: u64) {
        let mut left = zeros;
        while left >= 32 {
            self.put(0, 32);
            left -= 32;
        }
        self.put(1 << left, u32::try_from(left).unwrap_or_default() + 1);
    }

    /// Elias' gamma code of a number from 1 on, below 2^56: as many zeros as it has bits but the highest, a one, those bits.
    pub(super) fn put_gamma(&mut self, number: u64) {
        let below = number.max(1).ilog2();
        self.put_unary(below.into());
        self.put(number, below);
    }

    /// All bytes, the last one filled up with zeros.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.bits > 0 {
            self.put(0, 8 - self.bits);
        }
        self.bytes
    }
}

/// A reader of the numbers of a [`BitWriter`]; `None` where the bytes end or hold no such number.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    held: u64,
    bits: u32,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, held: 0, bits: 0 }
    }

    /// A number of so many bits, at most 56.
    pub(super) fn take(&mut self, bits: u32) -> Option<u64> {
        self.fill();
        self.bits = self.bits.checked_sub(bits)?;
        let number = self.held & mask(bits);
        self.held >>= bits;
        Some(number)
    }

    pub(super) fn take_unary(&mut self) -> Option<u64> {
        let mut zeros = 0;
        loop {
            self.fill();
            if self.bits == 0 {
                return None;
            }
            let run = self.held.trailing_zeros().min(self.bits);
            zeros += u64::from(run);
            self.held >>= run;
            self.bits -= run;
            if self.bits > 0 {
                self.take(1)?;
                return Some(zeros);
            }
        }
    }

    pub(super) fn take_gamma(&mut self) -> Option<u64> {
        let below = u32::try_from(self.take_unary()?).ok().filter(|below| *below < 56)?;
        Some(self.take(below)? | 1 << below)
    }

    /// Returns `true` if only the zeros that fill up the last byte are left.
    pub(super) fn at_end(mut self) -> bool {
        self.fill();
        self.bytes.is_empty() && self.bits < 8 && self.held == 0
    }

    /// Makes 56 bits ready, or all there are.
    fn fill(&mut self) {
        while self.bits < 56 {
            let Some((byte, rest)) = self.bytes.split_first() else { break };
            self.held |= u64::from(*byte) << self.bits;
            self.bits += 8;
            self.bytes = rest;
        }
    }
}

const fn mask(bits: u32) -> u64 {
    if bits >= u64::BITS { u64::MAX } else { (1 << bits) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_nothing_is_left() {
        let numbers: Vec<u64> = (0..2_000).map(|n| n * n * n % 70_001 + 1).collect();
        let mut writer = BitWriter::default();
        for number in &numbers {
            writer.put_gamma(*number);
            writer.put(*number, 17);
            writer.put_unary(number % 200);
        }
        let bytes = writer.finish();
        let mut reader = BitReader::new(&bytes);
        for number in &numbers {
            assert_eq!(reader.take_gamma(), Some(*number));
            assert_eq!(reader.take(17), Some(*number));
            assert_eq!(reader.take_unary(), Some(number % 200));
        }
        assert!(reader.at_end());
    }

    #[test]
    fn the_ends_of_the_range_come_back() {
        let mut writer = BitWriter::default();
        writer.put(3, 2);
        writer.put(mask(56), 56);
        writer.put(0, 0);
        writer.put_gamma(mask(56));
        let bytes = writer.finish();
        let mut reader = BitReader::new(&bytes);
        assert_eq!((reader.take(2), reader.take(56), reader.take(0)), (Some(3), Some(mask(56)), Some(0)));
        assert_eq!(reader.take_gamma(), Some(mask(56)));
        assert!(reader.at_end());
    }

    #[test]
    fn bytes_that_end_give_none() {
        let mut zeros = BitReader::new(&[0; 40]);
        assert_eq!(zeros.take_unary(), None);
        assert_eq!(BitReader::new(&[]).take(1), None);
        assert_eq!(BitReader::new(&[0; 20]).take_gamma(), None);
        assert!(!BitReader::new(&[0]).at_end());
    }
}
