//! The events that are measured with: 512 bytes of data shaped like a tool call, made before the clock runs.

use std::fmt::Write;
use std::sync::LazyLock;

use bitacora_formats::{Data, Event, Json};

/// Bytes of the data of every event.
pub(super) const DATA_BYTES: usize = 512;
/// Different data; more than any frame holds, so that no frame repeats itself more than real ones do.
const POOL_EVENTS: usize = 16 * 1024;
/// The source of all events that are measured with.
const SOURCE: &str = "urn:bitacora:bench";

const WORDS: [&str; 16] = [
    "run", "the", "tests", "of", "this", "crate", "and", "show", "output", "before", "commit", "review",
    "fix", "lint", "again", "module",
];

static TEXT: LazyLock<Vec<u8>> = LazyLock::new(|| (0..POOL_EVENTS as u64).flat_map(data).collect());

/// As values that borrow, so that an event is made without copying or checking its data again.
static POOL: LazyLock<Vec<Json<'static>>> =
    LazyLock::new(|| TEXT.chunks_exact(DATA_BYTES).filter_map(|text| Json::check(text).ok()).collect());

/// What one caller sends: events that no other caller of the ledger ever sends.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    name: String,
    stream: String,
    next: u64,
    /// Where its own part of the pool begins, and how many data that is.
    part: (usize, usize),
}

impl Caller {
    /// One of `callers`, in the measurement of this name.
    pub(super) fn new(measurement: &str, number: usize, callers: usize) -> Self {
        let length = (POOL_EVENTS / callers.max(1)).max(1);
        Self {
            name: format!("{measurement}-{number}"),
            stream: format!("session/{measurement}-{number}"),
            next: 0,
            part: (number * length % POOL_EVENTS, length),
        }
    }

    /// Its next events.
    pub(super) fn events(&mut self, count: usize) -> Vec<Event<'static>> {
        (0..count).map(|_| self.event()).collect()
    }

    /// Its next event. Costs a few small strings.
    pub(super) fn event(&mut self) -> Event<'static> {
        let number = self.next;
        self.next += 1;
        let (start, length) = self.part;
        let index = start + usize::try_from(number).unwrap_or(0) % length;
        let id = format!("{}-{number}", self.name);
        let mut event = Event::new(id, SOURCE, "tool.requested", self.stream.clone());
        event.agent = Some("agent-7".into());
        event.call = Some(format!("toolu_{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into());
        event.data = POOL.get(index).map_or(Data::None, |data| Data::Json(data.clone()));
        event
    }
}

/// Makes the pool now rather than with the first event.
pub(super) fn prepare() {
    LazyLock::force(&POOL);
}

fn data(number: u64) -> Vec<u8> {
    let mut text = String::with_capacity(DATA_BYTES);
    let written = write!(
        text,
        r#"{{"tool":"Bash","cwd":"/home/dev/project-{}","model":"m-large","tokens_in":{},"command":"cargo test -p crate-{} -- --nocapture","description":""#,
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
    while text.len() < DATA_BYTES - 2 {
        text.push('.');
    }
    text.push_str("\"}");
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
            for event in Caller::new("test", number, 3).events(100) {
                event.validate().unwrap();
                assert_eq!(event.data.len(), DATA_BYTES);
                assert!(ids.insert(event.id));
            }
        }
    }

    #[test]
    fn callers_do_not_send_the_same_data_at_the_same_time() {
        let mut data = HashSet::new();
        for number in 0..256 {
            for event in Caller::new("test", number, 256).events(POOL_EVENTS / 256) {
                let Data::Json(json) = event.data else { panic!("data that is not json") };
                assert!(data.insert(json.as_bytes().to_vec()));
            }
        }
    }
}
