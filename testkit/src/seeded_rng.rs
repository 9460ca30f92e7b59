//! Random numbers, texts and JSON from a seed.

use std::fmt::Debug;

/// SplitMix64: the same numbers for the same seed, everywhere.
pub struct SeededRng(u64);

impl SeededRng {
    /// Starts a sequence; the same seed gives the same numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `bound`, which is left out.
    pub fn below<N>(&mut self, bound: N) -> N
    where
        N: TryInto<u64, Error: Debug> + TryFrom<u64, Error: Debug>,
    {
        (self.number() % bound.try_into().unwrap()).try_into().unwrap()
    }

    /// Returns a number like [`Self::below`], of 32 bits.
    pub fn small(&mut self, bound: u32) -> u32 {
        self.below(bound)
    }

    /// Returns `true` with these odds out of a hundred.
    pub fn percent(&mut self, odds: u64) -> bool {
        self.below(100) < odds
    }

    /// Returns one of these values.
    pub fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Returns 0 to `most` bytes.
    pub fn bytes(&mut self, most: usize) -> Vec<u8> {
        let count = self.below(most + 1);
        (0..count).map(|_| self.number().to_le_bytes()[0]).collect()
    }

    /// Returns a text of 1 to `most` bytes, with characters that encodings stumble over.
    pub fn text(&mut self, most: usize) -> String {
        const CHARACTERS: [char; 20] = [
            'a',
            'b',
            'z',
            '0',
            '9',
            '-',
            '_',
            '/',
            '.',
            ':',
            '"',
            '\\',
            '~',
            '{',
            '\u{a0}',
            'é',
            'ß',
            '漢',
            '🜁',
            '\u{10fffd}',
        ];
        let mut text = String::from("t");
        let longest = self.below(most);
        loop {
            let next = CHARACTERS[self.below(CHARACTERS.len())];
            if text.len() + next.len_utf8() > longest {
                return text;
            }
            text.push(next);
        }
    }

    /// Returns a value one time in three.
    pub fn sometimes<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(3) == 0).then(|| make(self))
    }

    /// Returns a JSON value as somebody might write it, spaces and all.
    pub fn json(&mut self, depth: usize) -> String {
        let space = ["", " ", "\n  "][self.below(3)];
        let kinds = if depth == 0 { 5 } else { 7 };
        match self.below(kinds) {
            0 => "null".to_owned(),
            1 => "true".to_owned(),
            2 => (self.number() >> 11).to_string(),
            3 => format!("-{}.{}e-{}", self.below(1_000), self.below(1_000), self.below(20)),
            4 => format!("\"{}\\u00e9\\n\"", self.text(30).replace('\\', "\\\\").replace('"', "\\\"")),
            5 => {
                let items: Vec<String> = (0..self.below(4)).map(|_| self.json(depth - 1)).collect();
                format!("[{space}{}{space}]", items.join(&format!(",{space}")))
            }
            _ => {
                let members: Vec<String> = (0..self.below(16))
                    .map(|key| format!("\"k{key}\":{space}{}", self.json(depth - 1)))
                    .collect();
                format!("{{{space}{}{space}}}", members.join(&format!("{space},")))
            }
        }
    }
}
