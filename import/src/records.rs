//! The records of a file: its lines, or the elements of its one array.
//! Compression is detected by content.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

/// The size limit of one line. Longer ones are skipped without being kept.
pub(crate) const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;
/// The size limit of a skipped line. Longer data has no lines, and may have no end.
const MAX_PASSED_OVER_BYTES: u64 = 1024 * 1024 * 1024;
/// The size limit of a file that is one array. Files of lines have no limit.
const MAX_ARRAY_BYTES: usize = 256 * 1024 * 1024;
/// The size of one read.
const READ_BYTES: usize = 256 * 1024;
/// The largest window of zstd, as a power of two: 128 MiB, its own default for files of any origin.
const MAX_ZSTD_WINDOW: u32 = 27;

const ZSTD_BEGINNING: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
const GZIP_BEGINNING: [u8; 2] = [0x1F, 0x8B];
const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// The records of one file, in order.
pub struct Records {
    reader: BufReader<Box<dyn Read>>,
    digest: Sha256,
    /// The number of bytes after decompression.
    pub bytes: u64,
    /// The last record's number, from 1.
    pub number: u64,
    state: State,
    line: Vec<u8>,
    /// [`MAX_PASSED_OVER_BYTES`], less in tests.
    longest_line: u64,
}

enum State {
    Start,
    Lines,
    Array { text: Vec<u8>, elements: std::vec::IntoIter<Range<usize>> },
}

/// The next item of a file.
pub enum Record<'a> {
    /// A line or an element, and its number from 1.
    Text(u64, &'a [u8]),
    /// A line of more than `MAX_LINE_BYTES`, and its number.
    TooLong(u64),
    /// The end of the file.
    End,
}

/// A function that opens a regular file without waiting for a writer.
pub type OpenFile = fn(&Path) -> io::Result<File>;

/// A listener for the number of bytes read from the disk.
pub trait ReadProgress {
    /// Takes in the number of bytes read since the last call.
    fn read(&self, bytes: u64);
}

struct CountingReader<P> {
    inner: Box<dyn Read>,
    progress: P,
}

impl<P: ReadProgress> Read for CountingReader<P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.progress.read(read as u64);
        Ok(read)
    }
}

impl Records {
    /// Opens a file, or stdin.
    pub fn open(
        path: Option<&Path>,
        open: OpenFile,
        progress: impl ReadProgress + 'static,
    ) -> io::Result<Self> {
        let inner: Box<dyn Read> = match path {
            Some(path) => Box::new(open(path)?),
            None => Box::new(io::stdin()),
        };
        Self::new(CountingReader { inner, progress })
    }

    fn new(source: impl Read + 'static) -> io::Result<Self> {
        let mut source = BufReader::with_capacity(READ_BYTES, source);
        let mut first = Vec::new();
        (&mut source).take(ZSTD_BEGINNING.len() as u64).read_to_end(&mut first)?;
        let packed = io::Cursor::new(first.clone()).chain(source);
        let source: Box<dyn Read> = if first.starts_with(&ZSTD_BEGINNING) {
            let mut decoder = zstd::stream::read::Decoder::new(packed)?;
            decoder.window_log_max(MAX_ZSTD_WINDOW)?;
            Box::new(decoder)
        } else if first.starts_with(&GZIP_BEGINNING) {
            Box::new(flate2::read::MultiGzDecoder::new(packed))
        } else {
            Box::new(packed)
        };
        let reader = BufReader::with_capacity(READ_BYTES, source);
        Ok(Self {
            reader,
            digest: Sha256::new(),
            bytes: 0,
            number: 0,
            state: State::Start,
            line: Vec::new(),
            longest_line: MAX_PASSED_OVER_BYTES,
        })
    }

    /// Returns the next record that is not blank.
    pub fn next_record(&mut self) -> io::Result<Record<'_>> {
        if matches!(self.state, State::Start) {
            self.state = self.begin()?;
        }
        let element = match &mut self.state {
            State::Array { elements, .. } => Some(elements.next()),
            State::Start | State::Lines => None,
        };
        if let Some(element) = element {
            let Some(element) = element else { return Ok(Record::End) };
            self.number += 1;
            let State::Array { text, .. } = &self.state else { return Ok(Record::End) };
            return Ok(Record::Text(self.number, text.get(element).unwrap_or_default()));
        }
        loop {
            let mut line = std::mem::take(&mut self.line);
            line.clear();
            let whole = self.read_line(&mut line);
            self.line = line;
            match whole? {
                None => return Ok(Record::End),
                Some(false) => return Ok(Record::TooLong(self.number)),
                Some(true) if !self.line.trim_ascii().is_empty() => break,
                Some(true) => {}
            }
        }
        let marked = self.number == 1 && self.line.starts_with(&BYTE_ORDER_MARK);
        let line = if marked { self.line.get(BYTE_ORDER_MARK.len()..) } else { self.line.get(..) };
        Ok(Record::Text(self.number, line.unwrap_or_default()))
    }

    /// Returns the SHA-256 of all bytes so far, after decompression.
    pub fn digest(&self) -> [u8; 32] {
        self.digest.clone().finalize().into()
    }

    /// Detects an array: its first character must begin one, and all of it must parse as one. Otherwise the file's lines are records.
    fn begin(&mut self) -> io::Result<State> {
        let start = self.reader.fill_buf()?;
        let start = start.strip_prefix(&BYTE_ORDER_MARK).unwrap_or(start);
        if !start.trim_ascii_start().starts_with(b"[") {
            return Ok(State::Lines);
        }
        let mut text = Vec::new();
        (&mut self.reader).take(MAX_ARRAY_BYTES as u64 + 1).read_to_end(&mut text)?;
        self.digest.update(&text);
        self.bytes += text.len() as u64;
        let start = if text.starts_with(&BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        if text.len() > MAX_ARRAY_BYTES {
            return Err(invalid(format!(
                "an array of more than {MAX_ARRAY_BYTES} bytes; write one record a line to import any number"
            )));
        }
        let elements: Vec<&RawValue> = serde_json::from_slice(text.get(start..).unwrap_or_default())
            .map_err(|error| invalid(format!("begins as an array and is not one: {error}")))?;
        let base = text.as_ptr() as usize;
        let elements: Vec<Range<usize>> = elements
            .into_iter()
            .map(|element| {
                let begin = element.get().as_ptr() as usize - base;
                begin..begin + element.get().len()
            })
            .collect();
        Ok(State::Array { text, elements: elements.into_iter() })
    }

    /// Reads a line without its line feed. `None` at the end; `false` for one that is too long, which is not kept.
    fn read_line(&mut self, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
        let (mut begun, mut fits) = (false, true);
        let longest = self.bytes.saturating_add(self.longest_line);
        loop {
            if self.bytes > longest {
                let (line, most) = (self.number, self.longest_line);
                return Err(invalid(format!(
                    "line {line}: found more than {most} bytes without a line feed, expected lines of at most {MAX_LINE_BYTES} bytes; cut it into lines"
                )));
            }
            let buffer = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                buffer => buffer?,
            };
            if !begun && !buffer.is_empty() {
                begun = true;
                self.number += 1;
            }
            let feed = buffer.iter().position(|byte| *byte == b'\n');
            let used = feed.map_or(buffer.len(), |at| at + 1);
            let text = buffer.get(..feed.unwrap_or(used)).unwrap_or_default();
            if fits && line.len() + text.len() <= MAX_LINE_BYTES {
                line.extend_from_slice(text);
            } else {
                fits = false;
            }
            self.digest.update(buffer.get(..used).unwrap_or_default());
            self.bytes += used as u64;
            let is_end = buffer.is_empty();
            self.reader.consume(used);
            if feed.is_some() || is_end {
                return Ok(begun.then_some(fits));
            }
        }
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn records(bytes: &[u8]) -> Vec<(u64, String)> {
        let mut records = Records::new(io::Cursor::new(bytes.to_vec())).unwrap();
        let mut all = Vec::new();
        loop {
            all.push(match records.next_record().unwrap() {
                Record::Text(number, text) => (number, String::from_utf8_lossy(text).into_owned()),
                Record::TooLong(number) => (number, "too long".to_owned()),
                Record::End => break all,
            });
        }
    }

    fn expected(all: &[(u64, &str)]) -> Vec<(u64, String)> {
        all.iter().map(|(number, text)| (*number, (*text).to_owned())).collect()
    }

    #[test]
    fn lines_keep_their_numbers_and_an_array_numbers_its_elements() {
        assert_eq!(
            records(b"{}\n\n {\"a\":1}\r\nlast"),
            expected(&[(1, "{}"), (3, " {\"a\":1}\r"), (4, "last")])
        );
        assert_eq!(records(b" [1, {\"a\":\n2}\n]\n"), expected(&[(1, "1"), (2, "{\"a\":\n2}")]));
        assert_eq!(records(b"\xEF\xBB\xBF{}\n{}"), expected(&[(1, "{}"), (2, "{}")]));
        assert_eq!(records(b"\xEF\xBB\xBF[7]"), expected(&[(1, "7")]));
        assert_eq!(records(b""), []);
        assert_eq!(records(b"\n \n"), []);
        assert_eq!(records(b"[]"), []);
    }

    #[test]
    fn a_line_without_an_end_is_a_fault_of_its_file() {
        for byte in [b'x', b' ', 0] {
            let mut records = Records::new(io::Cursor::new("{}\n").chain(io::repeat(byte))).unwrap();
            records.longest_line = 1_000_000;
            assert!(matches!(records.next_record().unwrap(), Record::Text(1, b"{}")));
            let why = records.next_record().map(drop).unwrap_err();
            assert_eq!(why.kind(), io::ErrorKind::InvalidData);
            assert!(why.to_string().contains("line 2: found more than 1000000 bytes"), "{why}");
        }
        let mut records = Records::new(io::Cursor::new([b'x'; 1_000])).unwrap();
        records.longest_line = 1_000;
        assert!(matches!(records.next_record().unwrap(), Record::Text(1, line) if line.len() == 1_000));
    }

    #[test]
    fn compression_is_told_by_content_and_does_not_change_the_digest() {
        let plain = b"{\"a\":1}\n{\"a\":2}\n";
        let zstd = zstd::encode_all(plain.as_slice(), 3).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(plain).unwrap();
        let gzip = gzip.finish().unwrap();
        let digest = |bytes: &[u8]| {
            let mut records = Records::new(io::Cursor::new(bytes.to_vec())).unwrap();
            while !matches!(records.next_record().unwrap(), Record::End) {}
            (records.digest(), records.bytes)
        };
        for packed in [&zstd, &gzip] {
            assert_eq!(records(packed), records(plain));
            assert_eq!(digest(packed), digest(plain));
        }
        assert_eq!(digest(plain).0, <[u8; 32]>::from(Sha256::digest(plain)));
        let mut cut = Records::new(io::Cursor::new(zstd[..zstd.len() - 3].to_vec())).unwrap();
        let failed = (0..3).any(|_| cut.next_record().is_err());
        assert!(failed, "a cut file is noticed");
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_one_read() {
        let mut text = vec![b'x'; MAX_LINE_BYTES + 1];
        text.extend_from_slice(b"\n{}\n");
        assert_eq!(records(&text), expected(&[(1, "too long"), (2, "{}")]));
    }

    #[test]
    fn an_array_that_is_none_is_an_error() {
        let mut records = Records::new(io::Cursor::new(b"[1, 2".to_vec())).unwrap();
        assert!(records.next_record().is_err_and(|error| error.to_string().contains("array")));
    }
}
