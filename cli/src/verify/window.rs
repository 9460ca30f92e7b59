//! A file as it is read: a piece at a time, small enough to stay in the processor's cache while it is hashed.

use std::fs::File;
use std::io::{self, Read};

/// A part of a file, moved forward over it. Its memory serves one file after the other.
pub(super) struct Window {
    /// Bytes read at a time, where no more are needed at once.
    piece_bytes: usize,
    bytes: Vec<u8>,
    /// What is read and not behind: from here …
    start: usize,
    /// … to here.
    end: usize,
    /// Bytes of the file before `start`.
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

    /// What is read and not behind.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Leaves everything behind before this place in the file.
    pub(super) fn advance_to(&mut self, offset: u64) {
        let forward = usize::try_from(offset.saturating_sub(self.passed)).unwrap_or(usize::MAX);
        let forward = forward.min(self.end - self.start);
        self.start += forward;
        self.passed += forward as u64;
    }

    /// Leaves everything behind that is read.
    pub(super) fn advance(&mut self) {
        self.advance_to(u64::MAX);
    }

    /// Bytes of the file that are read.
    pub(super) fn read_bytes(&self) -> u64 {
        self.passed + (self.end - self.start) as u64
    }

    /// Reads on until so many bytes are there, and as many more as one piece takes; `false` if the file has no more.
    pub(super) fn fill(&mut self, file: &mut File, needed: usize) -> io::Result<bool> {
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
                window.advance_to(seen.len() as u64);
            }
            seen.extend_from_slice(window.bytes());
            assert!(window.bytes().len() < needed);
            assert_eq!(window.read_bytes(), whole.len() as u64);
            assert!(seen == whole, "{needed} bytes at a time");
        }
    }
}
