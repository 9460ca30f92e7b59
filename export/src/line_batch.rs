//! Lines of stored events on their way from a reader to the file.

/// Bytes of a batch after which it is handed on.
pub const BATCH_BYTES: usize = 1024 * 1024;
/// Bytes reserved for a batch, so that its last line seldom makes it grow.
const ROOM_BYTES: usize = BATCH_BYTES + 64 * 1024;

/// Stored events as lines of NDJSON, in the order of their positions.
#[derive(Debug, Clone, Default)]
pub struct LineBatch {
    bytes: Vec<u8>,
    lines: Vec<LineMark>,
}

/// The end of a line within a batch, and the facts of its event that every export counts.
#[derive(Debug, Clone, Copy)]
struct LineMark {
    end: usize,
    position: u64,
    flags: ContentFlags,
}

/// The reasons why the data of an event is not there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContentFlags {
    /// `true` if it was erased with its data subject.
    pub is_erased: bool,
    /// `true` if it expired under a retention policy.
    pub is_expired: bool,
    /// `true` if the key of its data subject is damaged.
    pub is_unreadable: bool,
}

/// One stored event.
#[derive(Debug, Clone, Copy)]
pub struct StoredEventLine<'a> {
    /// Its position.
    pub position: u64,
    /// Its line, with the line feed.
    pub line: &'a [u8],
    /// The reasons why its data is not there.
    pub flags: ContentFlags,
}

impl LineBatch {
    /// Returns an empty batch with room for its lines.
    #[must_use]
    pub fn with_room() -> Self {
        Self { bytes: Vec::with_capacity(ROOM_BYTES), lines: Vec::new() }
    }

    /// Adds an event whose line `write` appends.
    pub fn push_with(&mut self, position: u64, flags: ContentFlags, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.lines.push(LineMark { end: self.bytes.len(), position, flags });
    }

    /// Returns `true` if the batch is large enough to be handed on.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH_BYTES
    }

    /// Returns `true` if no event is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the number of its events.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns the length of its lines, in bytes.
    pub(crate) fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the position of its last event.
    #[must_use]
    pub fn last_position(&self) -> Option<u64> {
        self.lines.last().map(|line| line.position)
    }

    /// Returns its bytes, without the marks of its lines.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns its events.
    pub fn events(&self) -> impl Iterator<Item = StoredEventLine<'_>> {
        let mut begin = 0;
        self.lines.iter().map(move |mark| {
            let line = self.bytes.get(begin..mark.end).unwrap_or_default();
            begin = mark.end;
            let LineMark { position, flags, .. } = *mark;
            StoredEventLine { position, line, flags }
        })
    }
}
