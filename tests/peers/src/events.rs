//! The events: 512 bytes of data shaped as those of `bitacora bench`, made before the clock runs.

use std::fmt::Write;
use std::sync::LazyLock;

/// Bytes of the data of every event.
pub const DATA_BYTES: usize = 512;
/// Different data.
const POOL_EVENTS: u64 = 16 * 1024;

const WORDS: [&str; 16] = [
    "run", "the", "tests", "of", "this", "crate", "and", "show", "output", "before", "commit", "review",
    "fix", "lint", "again", "module",
];

static POOL: LazyLock<Vec<String>> = LazyLock::new(|| (0..POOL_EVENTS).map(data).collect());

/// An event for a store to keep.
pub struct PeerEvent {
    pub id: String,
    pub stream: String,
    pub data: &'static str,
}

/// The source of one client's events.
pub struct Source {
    client: usize,
    next: usize,
    first: usize,
}

impl Source {
    pub fn new(client: usize, clients: usize) -> Self {
        Self { client, next: 0, first: client * (POOL.len() / clients) }
    }

    pub fn events(&mut self, count: usize) -> Vec<PeerEvent> {
        (0..count).map(|_| self.event()).collect()
    }

    fn event(&mut self) -> PeerEvent {
        let number = self.next;
        self.next += 1;
        PeerEvent {
            id: format!("{}-{number}", self.client),
            stream: format!("session/{}", self.client),
            data: &POOL[(self.first + number) % POOL.len()],
        }
    }
}

fn data(number: u64) -> String {
    let mut text = String::with_capacity(DATA_BYTES);
    write!(
        text,
        r#"{{"tool":"Bash","cwd":"/home/dev/project-{}","model":"m-large","tokens_in":{},"command":"cargo test -p crate-{} -- --nocapture","description":""#,
        number % 17,
        number.wrapping_mul(0x9e37_79b9) % 5_000,
        number % 97,
    )
    .expect("a string takes everything");
    let mut word = (number + 1).wrapping_mul(0x2545_f491_4f6c_dd1d);
    while text.len() < DATA_BYTES - 12 {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        text.push_str(WORDS[usize::from(word.to_le_bytes()[0]) % WORDS.len()]);
        text.push(' ');
    }
    while text.len() < DATA_BYTES - 2 {
        text.push('.');
    }
    text.push_str("\"}");
    text
}
