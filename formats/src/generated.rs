//! Events made from a seed, and damage done to bytes, for the tests of this crate.

use std::borrow::Cow;

use crate::event::{Data, Event, ExtensionValue};
use crate::json::Json;

/// SplitMix64: the same numbers for the same seed, everywhere.
pub(crate) struct SeededRng(u64);

impl SeededRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.number() % bound as u64).unwrap()
    }

    pub(crate) fn bytes(&mut self, most: usize) -> Vec<u8> {
        let count = self.below(most + 1);
        (0..count).map(|_| self.number().to_le_bytes()[0]).collect()
    }

    /// A text of 1 to `most` bytes, with characters that encodings stumble over.
    pub(crate) fn text(&mut self, most: usize) -> String {
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

    fn sometimes<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(3) == 0).then(|| make(self))
    }

    fn optional_text(&mut self) -> Option<Cow<'static, str>> {
        self.sometimes(|seeded| seeded.text(40).into())
    }

    /// A JSON value as somebody might write it, spaces and all.
    pub(crate) fn json(&mut self, depth: usize) -> String {
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

    /// A valid event, every attribute of it sometimes there.
    pub(crate) fn event(&mut self) -> Event<'static> {
        let mut event = Event::new(self.text(256), self.text(200), self.text(128), self.text(128));
        event.time =
            self.sometimes(|seeded| crate::rfc3339::format_time(crate::Micros(seeded.number() >> 14)).into());
        event.datacontenttype = self.optional_text();
        event.dataschema = self.optional_text();
        event.actor = self.optional_text();
        event.agent = self.optional_text();
        event.session = self.optional_text();
        event.run = self.optional_text();
        event.call = self.optional_text();
        event.correlationid = self.optional_text();
        event.causationid = self.optional_text();
        event.traceparent = self.optional_text();
        event.datasubject = self.optional_text();
        event.tags = (0..self.below(17)).map(|tag| format!("{}{tag}", self.text(100)).into()).collect();
        event.extensions = (0..self.below(33)).map(|number| self.extension(number)).collect();
        event.data = match self.below(3) {
            0 => Data::None,
            1 => Data::Json(Json::check(self.json(3).into_bytes()).unwrap()),
            _ => Data::Binary(self.bytes(100).into()),
        };
        event
    }

    fn extension(&mut self, number: usize) -> (Cow<'static, str>, ExtensionValue<'static>) {
        let value = match self.below(3) {
            0 => ExtensionValue::Text(self.text(40).split_off(1).into()),
            1 => ExtensionValue::Integer(i32::from_le_bytes(
                self.number().to_le_bytes()[..4].try_into().unwrap(),
            )),
            _ => ExtensionValue::Boolean(self.below(2) == 0),
        };
        (format!("ext{number:02}").into(), value)
    }
}

/// Every way of cutting the bytes short, and of changing one of them to several other values.
pub(crate) fn damaged(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let cut = (0..bytes.len()).map(|length| bytes[..length].to_vec());
    let changes = [0x01, 0x02, 0x10, 0x20, 0x80, 0xFF];
    let changed = (0..bytes.len()).flat_map(move |at| {
        changes.map(|change| {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= change;
            bytes
        })
    });
    let filled = (0..bytes.len()).flat_map(move |at| {
        [0x00, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF].map(|value| {
            let mut bytes = bytes.to_vec();
            bytes[at] = value;
            bytes
        })
    });
    cut.chain(changed).chain(filled)
}
