//! An upload's bytes, decompressed step by step as its pieces come.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};

use axum::body::Bytes;
use flate2::bufread::MultiGzDecoder;
use hyper::body::Buf;

use crate::http::body::{ContentEncoding, MAX_ZSTD_WINDOW_LOG};
use crate::limits::INGEST_STEP_BYTES;

/// Pieces go in as they come, plain bytes come out, never more than [`INGEST_STEP_BYTES`] or a piece at a time.
pub(crate) enum BodyDecoder {
    Plain(Pieces),
    Gzip(MultiGzDecoder<Pieces>),
    Zstd(zstd::stream::read::Decoder<'static, Pieces>),
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// There may be more.
    More,
    /// The next piece is needed.
    Starved,
    /// This was all.
    End,
}

impl BodyDecoder {
    pub(crate) fn new(encoding: Option<ContentEncoding>) -> io::Result<Self> {
        let pieces = Pieces::default();
        Ok(match encoding {
            None => Self::Plain(pieces),
            Some(ContentEncoding::Gzip) => Self::Gzip(MultiGzDecoder::new(pieces)),
            Some(ContentEncoding::Zstd) => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(pieces)?;
                decoder.window_log_max(MAX_ZSTD_WINDOW_LOG)?;
                Self::Zstd(decoder)
            }
        })
    }

    /// Adds the next piece of the upload; `None` at its end.
    pub(crate) fn push(&mut self, piece: Option<Bytes>) {
        let pieces = match self {
            Self::Plain(pieces) => pieces,
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Zstd(decoder) => decoder.get_mut(),
        };
        match piece {
            Some(piece) => pieces.waiting.push_back(piece),
            None => pieces.ended = true,
        }
    }

    /// Decompresses some more.
    pub(crate) fn step(&mut self, out: &mut Vec<u8>) -> io::Result<Step> {
        let reader: &mut dyn Read = match self {
            Self::Plain(pieces) => return Ok(pieces.pass_on(out)),
            Self::Gzip(decoder) => decoder,
            Self::Zstd(decoder) => decoder,
        };
        let start = out.len();
        out.resize(start + INGEST_STEP_BYTES, 0);
        let read = reader.read(out.get_mut(start..).unwrap_or_default());
        out.truncate(start + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Ok(Step::End),
            Ok(_) => Ok(Step::More),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Step::Starved),
            Err(error) => Err(error),
        }
    }
}

/// Pieces as they came. If none is left, but more may come, reading them would block.
#[derive(Default)]
pub(crate) struct Pieces {
    waiting: VecDeque<Bytes>,
    ended: bool,
}

impl Pieces {
    fn pass_on(&mut self, out: &mut Vec<u8>) -> Step {
        match self.waiting.pop_front() {
            Some(piece) => {
                out.extend_from_slice(&piece);
                Step::More
            }
            None if self.ended => Step::End,
            None => Step::Starved,
        }
    }
}

impl BufRead for Pieces {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.waiting.front().is_some_and(Bytes::is_empty) {
            self.waiting.pop_front();
        }
        match self.waiting.front() {
            Some(piece) => Ok(piece),
            None if self.ended => Ok(&[]),
            None => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn consume(&mut self, bytes: usize) {
        if let Some(piece) = self.waiting.front_mut() {
            piece.advance(bytes.min(piece.len()));
        }
    }
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(out)?;
        self.consume(read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const TEXT: &[u8] = b"a line of an upload, and a second one, which is like the first\n";

    fn decoded(encoding: Option<ContentEncoding>, bytes: &[u8], piece: usize) -> io::Result<Vec<u8>> {
        let mut decoding = BodyDecoder::new(encoding)?;
        let mut out = Vec::new();
        for piece in bytes.chunks(piece) {
            decoding.push(Some(Bytes::copy_from_slice(piece)));
            while decoding.step(&mut out)? == Step::More {}
        }
        decoding.push(None);
        while decoding.step(&mut out)? != Step::End {}
        Ok(out)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn pieces_of_any_size_come_out_whole() {
        let text = TEXT.repeat(3_000);
        // Two members, and two frames: what tools that append to a file write.
        let (first, second) = text.split_at(text.len() / 3);
        let zipped = [gzip(first), gzip(second)].concat();
        let compress = |text| zstd::stream::encode_all(text, 3).unwrap();
        let frames = [compress(first), compress(second)].concat();
        for piece in [1, 7, 1_000, 1 << 20] {
            assert!(decoded(None, &text, piece).unwrap() == text);
            assert!(decoded(Some(ContentEncoding::Gzip), &zipped, piece).unwrap() == text, "{piece}");
            assert!(decoded(Some(ContentEncoding::Zstd), &frames, piece).unwrap() == text, "{piece}");
        }
    }

    #[test]
    fn what_is_cut_or_not_compressed_is_an_error() {
        let text = TEXT.repeat(3_000);
        let (zipped, frame) = (gzip(&text), zstd::stream::encode_all(text.as_slice(), 3).unwrap());
        for cut in [1, 5, 20, zipped.len() - 1] {
            assert!(decoded(Some(ContentEncoding::Gzip), &zipped[..cut], 16).is_err(), "{cut}");
        }
        for cut in [1, 5, 20, frame.len() - 1] {
            assert!(decoded(Some(ContentEncoding::Zstd), &frame[..cut], 16).is_err(), "{cut}");
        }
        assert!(decoded(Some(ContentEncoding::Gzip), TEXT, 16).is_err());
        assert!(decoded(Some(ContentEncoding::Zstd), TEXT, 16).is_err());
    }

    #[test]
    fn a_bomb_comes_out_in_steps() {
        let bomb = zstd::stream::encode_all(io::repeat(0).take(64 << 20), 19).unwrap();
        assert!(bomb.len() < 16 * 1024);
        let mut decoding = BodyDecoder::new(Some(ContentEncoding::Zstd)).unwrap();
        decoding.push(Some(bomb.into()));
        for _ in 0..10 {
            let mut out = Vec::new();
            assert_eq!(decoding.step(&mut out).unwrap(), Step::More);
            assert!(out.len() <= INGEST_STEP_BYTES);
        }
    }
}
