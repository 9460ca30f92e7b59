//! A sliding window over a file: small enough to stay in the processor's cache while it is hashed.

use std::io::{self, Read};

/// A part of a file, moved forward over it. Its memory is reused for one file after the other.
pub(super) struct Window {
    /// The size of one read, where no more bytes are needed at once.
    piece_bytes: usize,
    bytes: Vec<u8>,
    /// The beginning of the current bytes in the memory.
    start: usize,
    /// The end of the current bytes in the memory.
    end: usize,
    /// The number of the file's bytes before `start`.
    passed: u64,
}

impl Window {
    pub(super) fn new(piece_bytes: usize) -> Self {
        Self { piece_bytes, bytes: Vec::new(), start: 0, end: 0, passed: 0 }
    }

    /// Begins with another file.
    pub(super) fn begin(&mut self) {
        (self.start, self.end, self.passed) = (0, 0, 0);
    }

    /// Returns the current bytes: read, and not left behind.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Moves forward to this offset in the file.
    pub(super) fn advance_to(&mut self, offset: u64) {
        let forward = usize::try_from(offset.saturating_sub(self.passed)).unwrap_or(usize::MAX);
        let forward = forward.min(self.end - self.start);
        self.start += forward;
        self.passed += forward as u64;
    }

    /// Moves forward behind all bytes read.
    pub(super) fn advance(&mut self) {
        self.advance_to(u64::MAX);
    }

    /// Returns the number of the file's bytes that were read.
    pub(super) fn read_bytes(&self) -> u64 {
        self.passed + (self.end - self.start) as u64
    }

    /// Reads until `needed` bytes are there, and as many more as one piece takes; `false` if the file has no more.
    pub(super) fn fill(&mut self, file: &mut impl Read, needed: usize) -> io::Result<bool> {
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let size = needed.max(self.piece_bytes);
        if self.bytes.len() < size {
            self.bytes.resize(size, 0);
        }
        while self.end < needed {
            let read = match file.read(self.bytes.get_mut(self.end..).unwrap_or_default()) {
                Ok(0) => return Ok(false),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.end += read;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    const PIECE_BYTES: usize = 4_096;

    #[test]
    fn a_window_gives_the_whole_file_once_whatever_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let whole: Vec<u8> = (0..=250).cycle().take(PIECE_BYTES * 2 + 77).collect();
        std::fs::write(&path, &whole).unwrap();
        let mut window = Window::new(PIECE_BYTES);
        for needed in [1, 1_000, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, whole.len()] {
            window.begin();
            let (mut file, mut seen) = (File::open(&path).unwrap(), Vec::new());
            while window.fill(&mut file, needed).unwrap() {
                assert!(window.bytes().len() >= needed);
                let step = needed.div_ceil(2);
                seen.extend_from_slice(&window.bytes()[..step]);
                let read_bytes = window.read_bytes();
                window.advance_to(seen.len() as u64);
                assert_eq!(window.read_bytes(), read_bytes, "what is behind was read too");
            }
            seen.extend_from_slice(window.bytes());
            assert!(window.bytes().len() < needed);
            assert_eq!(window.read_bytes(), whole.len() as u64);
            assert!(seen == whole, "{needed} bytes at a time");
        }
    }

    /// A reader that gives one byte at a time, after an error.
    struct FailingReader(Option<io::ErrorKind>);

    impl Read for FailingReader {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            match self.0.take() {
                Some(kind) => Err(kind.into()),
                None => (&[7][..]).read(bytes),
            }
        }
    }

    #[test]
    fn who_is_interrupted_reads_on_and_any_other_error_is_told() {
        let mut window = Window::new(PIECE_BYTES);
        assert!(window.fill(&mut FailingReader(Some(io::ErrorKind::Interrupted)), 3).unwrap());
        assert_eq!(window.bytes(), [7; 3]);
        let error = window.fill(&mut FailingReader(Some(io::ErrorKind::WouldBlock)), 4).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
