//! The events of benchmarks: 512 bytes of data shaped like a tool call, made before the clock runs.

use std::fmt::Write;
use std::ops::Range;
use std::sync::LazyLock;

use bitacora_formats::{Data, Event, Json};

/// The size of every event's data.
pub(super) const DATA_BYTES: usize = 512;
/// The number of different data; more than any frame holds, so that no frame repeats itself more than real ones do.
const POOL_EVENTS: usize = 16 * 1024;
/// The source of all events of benchmarks.
const SOURCE: &str = "urn:bench";

const WORDS: [&str; 16] = [
    "run", "the", "tests", "of", "this", "crate", "and", "show", "output", "before", "commit", "review",
    "fix", "lint", "again", "module",
];

static TEXT: LazyLock<Vec<u8>> = LazyLock::new(|| (0..POOL_EVENTS as u64).flat_map(data).collect());

/// The data as borrowing values, so that an event is made without copying or checking its data again.
static POOL: LazyLock<Vec<Json<'static>>> =
    LazyLock::new(|| TEXT.chunks_exact(DATA_BYTES).filter_map(|text| Json::check(text).ok()).collect());

/// A source of one caller's events, which no other caller of the ledger sends.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    name: String,
    stream: String,
    next: u64,
    /// The beginning and the length of its own part of the pool.
    part: (usize, usize),
    /// The ids and calls of the current events, one after another.
    text: String,
}

impl Caller {
    /// Returns one of `callers` callers, in the measurement of this name.
    pub(super) fn new(measurement: &str, number: usize, callers: usize) -> Self {
        let length = (POOL_EVENTS / callers.max(1)).max(1);
        Self {
            name: format!("{measurement}-{number}"),
            stream: format!("session/{measurement}-{number}"),
            next: 0,
            part: (number * length % POOL_EVENTS, length),
            text: String::new(),
        }
    }

    /// Returns its next events. They borrow everything, so that their making costs little of the measured time.
    pub(super) fn events(&mut self, count: usize) -> Vec<Event<'_>> {
        self.text.clear();
        let first = self.next;
        self.next += count as u64;
        let written: Vec<_> = (first..self.next).map(|number| (number, self.write(number))).collect();
        let this = &*self;
        written.into_iter().map(|(number, written)| this.event(number, &written)).collect()
    }

    /// Writes the id and the call of one event.
    fn write(&mut self, number: u64) -> TextSpans {
        let start = self.text.len();
        self.text.push_str(&self.name);
        self.text.push('-');
        push_decimal(number, &mut self.text);
        let call = self.text.len();
        self.text.push_str("toolu_");
        push_hexadecimal(number.wrapping_mul(0x9e37_79b9_7f4a_7c15), &mut self.text);
        TextSpans { id: start..call, call: call..self.text.len() }
    }

    fn event(&self, number: u64, written: &TextSpans) -> Event<'_> {
        let (start, length) = self.part;
        let index = start + usize::try_from(number).unwrap_or(0) % length;
        let text = |range: &Range<usize>| self.text.get(range.clone()).unwrap_or_default();
        let mut event = Event::new(text(&written.id), SOURCE, "x.tool.requested", self.stream.as_str());
        event.agent = Some("agent-7".into());
        event.call = Some(text(&written.call).into());
        event.data = POOL.get(index).map_or(Data::None, |data| Data::Json(data.borrowed()));
        event
    }
}

/// The places of one event's strings in its caller's text.
struct TextSpans {
    id: Range<usize>,
    call: Range<usize>,
}

/// Appends decimal digits, without the machinery of formats, which would take a twentieth of the measured time.
fn push_decimal(number: u64, text: &mut String) {
    let mut digits = [b'0'; 20];
    let mut left = number;
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit += u8::try_from(left % 10).unwrap_or(0);
        left /= 10;
        used += 1;
        if left == 0 {
            break;
        }
    }
    text.extend(digits.iter().skip(digits.len() - used).map(|digit| char::from(*digit)));
}

fn push_hexadecimal(number: u64, text: &mut String) {
    let nibbles = (0..16).rev().map(|place| (number >> (4 * place)) & 15);
    text.extend(nibbles.filter_map(|nibble| char::from_digit(u32::try_from(nibble).ok()?, 16)));
}

/// Makes the pool now rather than with the first event.
pub(super) fn prepare() {
    LazyLock::force(&POOL);
}

fn data(number: u64) -> Vec<u8> {
    let mut text = String::with_capacity(DATA_BYTES);
    let written = write!(
        text,
        r#"{{"call":"toolu_{number}","tool":"Bash","cwd":"/home/dev/project-{}","model":"m-large","tokens_in":{},"args":{{"command":"cargo test -p crate-{} -- --nocapture","description":""#,
        number % 17,
        number.wrapping_mul(0x9e37_79b9) % 5_000,
        number % 97,
    );
    debug_assert!(written.is_ok(), "a string takes everything");
    let mut word = (number + 1).wrapping_mul(0x2545_f491_4f6c_dd1d);
    while text.len() < DATA_BYTES - 12 {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        text.push_str(
            WORDS.get(usize::from(word.to_le_bytes()[0]) % WORDS.len()).copied().unwrap_or_default(),
        );
        text.push(' ');
    }
    // Padded to the byte, so that every event is as large.
    while text.len() < DATA_BYTES - 3 {
        text.push('.');
    }
    text.push_str("\"}}");
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_event_has_its_size_and_an_identity_of_its_own() {
        assert_eq!(POOL.len(), POOL_EVENTS);
        let mut ids = HashSet::new();
        for number in 0..3 {
            let mut caller = Caller::new("test", number, 3);
            for event in caller.events(100) {
                event.validate().unwrap();
                assert_eq!(event.data.len(), DATA_BYTES);
                assert!(ids.insert(event.id.to_string()));
            }
        }
    }

    #[test]
    fn callers_do_not_send_the_same_data_at_the_same_time() {
        let mut data = HashSet::new();
        for number in 0..256 {
            let mut caller = Caller::new("test", number, 256);
            for event in caller.events(POOL_EVENTS / 256) {
                let Data::Json(json) = event.data else { panic!("data that is not json") };
                assert!(data.insert(json.as_bytes().to_vec()));
            }
        }
    }

    #[test]
    fn numbers_are_written_as_formats_write_them() {
        for number in [0, 9, 10, 1_234_567_890, u64::MAX] {
            let mut text = String::new();
            push_decimal(number, &mut text);
            push_hexadecimal(number, &mut text);
            assert_eq!(text, format!("{number}{number:016x}"));
        }
    }
}
