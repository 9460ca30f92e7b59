//! Request bodies: bounded while they arrive, bounded once more while they are decompressed.

use std::error::Error;
use std::io::{self, Read};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use bitacora_formats::limits::MAX_REQUEST_BYTES;
use http_body_util::BodyExt;

use crate::framing::Refusal;
use crate::memory::{MemoryBudget, MemoryPart};
use crate::problem::{Code, Problem};

/// zstd's window for HTTP (RFC 9659): 8 MiB, as a power of two.
pub(crate) const MAX_ZSTD_WINDOW_LOG: u32 = 23;
/// How much is decompressed before the memory for more is asked for, bytes.
const DECOMPRESSION_STEP_BYTES: usize = 64 * 1024;
/// A body's buffer begins at most this large, bytes: announcing much must not cost us much.
const FIRST_BUFFER_BYTES: usize = 64 * 1024;

/// Reads bodies within the memory that all of them may take at once.
#[derive(Clone)]
pub(crate) struct BodyReader {
    memory: MemoryBudget,
}

/// A body and its part of the memory, given back when dropped.
pub(crate) struct HeldBody {
    bytes: Bytes,
    _memory: Option<MemoryPart>,
}

impl HeldBody {
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes
    }
}

/// How a body is encoded for its transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentEncoding {
    Gzip,
    Zstd,
}

impl BodyReader {
    pub(crate) fn new(memory: MemoryBudget) -> Self {
        Self { memory }
    }

    /// Reads a body of at most [`MAX_REQUEST_BYTES`], before and after decompression.
    pub(crate) async fn read(&self, headers: &HeaderMap, body: Body) -> Result<HeldBody, Problem> {
        let encoding = content_encoding(headers)?;
        let received = self.receive(headers, body).await?;
        let Some(encoding) = encoding else { return Ok(received) };
        let reader = self.clone();
        let decompressed =
            tokio::task::spawn_blocking(move || reader.decompress(encoding, received.as_slice())).await;
        decompressed.unwrap_or_else(|_| Err(Problem::new(Code::Internal, "decompressing the body failed")))
    }

    async fn receive(&self, headers: &HeaderMap, mut body: Body) -> Result<HeldBody, Problem> {
        let announced =
            headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if announced.is_some_and(|bytes: usize| bytes > MAX_REQUEST_BYTES) {
            return Err(too_large());
        }
        let mut first = Bytes::new();
        let mut buffer = Vec::new();
        let mut memory = None;
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|error| cut_off(&error))?.into_data() else { continue };
            if first.len() + buffer.len() + data.len() > MAX_REQUEST_BYTES {
                return Err(too_large());
            }
            self.reserve(data.len(), &mut memory)?;
            // Most bodies are one piece: it is kept as it came.
            if first.is_empty() && buffer.is_empty() {
                first = data;
                continue;
            }
            if buffer.is_empty() {
                buffer.reserve(
                    announced.unwrap_or_default().clamp(first.len(), FIRST_BUFFER_BYTES.max(first.len())),
                );
                buffer.extend_from_slice(&std::mem::take(&mut first));
            }
            buffer.extend_from_slice(&data);
        }
        let bytes = if buffer.is_empty() { first } else { Bytes::from(buffer) };
        Ok(HeldBody { bytes, _memory: memory })
    }

    fn decompress(&self, encoding: ContentEncoding, bytes: &[u8]) -> Result<HeldBody, Problem> {
        let mut reader: Box<dyn Read> = match encoding {
            ContentEncoding::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(bytes)),
            ContentEncoding::Zstd => Box::new(zstd_reader(bytes).map_err(|error| undecodable(&error))?),
        };
        let mut decompressed = Vec::new();
        let mut memory = None;
        loop {
            self.reserve(DECOMPRESSION_STEP_BYTES, &mut memory)?;
            let mut step = reader.by_ref().take(DECOMPRESSION_STEP_BYTES as u64);
            let read = step.read_to_end(&mut decompressed).map_err(|error| undecodable(&error))?;
            if decompressed.len() > MAX_REQUEST_BYTES {
                return Err(too_large());
            }
            if read < DECOMPRESSION_STEP_BYTES {
                return Ok(HeldBody { bytes: Bytes::from(decompressed), _memory: memory });
            }
        }
    }

    /// Takes room for more of a body, or refuses.
    pub(crate) fn reserve(&self, bytes: usize, part: &mut Option<MemoryPart>) -> Result<(), Problem> {
        if self.memory.try_add(bytes, part) {
            return Ok(());
        }
        let detail = "too many request bodies are held at once; try again";
        Err(Problem::new(Code::Overloaded, detail).with_retry_after(1))
    }
}

fn zstd_reader(bytes: &[u8]) -> io::Result<impl Read> {
    let mut reader = zstd::stream::read::Decoder::with_buffer(bytes)?;
    reader.window_log_max(MAX_ZSTD_WINDOW_LOG)?;
    Ok(reader)
}

/// How the body is encoded, if it is.
pub(crate) fn content_encoding(headers: &HeaderMap) -> Result<Option<ContentEncoding>, Problem> {
    let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return match headers.contains_key(header::CONTENT_ENCODING) {
            false => Ok(None),
            true => Err(unsupported_encoding()),
        };
    };
    let named = |name: &str| value.as_bytes().eq_ignore_ascii_case(name.as_bytes());
    if named("identity") {
        Ok(None)
    } else if named("gzip") || named("x-gzip") {
        Ok(Some(ContentEncoding::Gzip))
    } else if named("zstd") {
        Ok(Some(ContentEncoding::Zstd))
    } else {
        Err(unsupported_encoding())
    }
}

fn unsupported_encoding() -> Problem {
    Problem::new(Code::UnsupportedEncoding, "a body is encoded once, with gzip or zstd, or not at all")
}

/// The rest of the body is not read, so the connection ends with the answer.
fn too_large() -> Problem {
    let detail =
        format!("a request has at most {MAX_REQUEST_BYTES} bytes, also when decompressed; send several");
    Problem::new(Code::RequestTooLarge, detail).closing()
}

pub(crate) fn undecodable(error: &io::Error) -> Problem {
    Problem::new(Code::BadEncoding, format!("the body does not decompress: {error}"))
}

/// Why a body ended before its end: the guard's reason, if it was the guard.
pub(crate) fn cut_off(error: &(dyn Error + 'static)) -> Problem {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let refusal =
            error.downcast_ref::<io::Error>().and_then(|error| error.get_ref()?.downcast_ref::<Refusal>());
        if let Some(refusal) = refusal {
            return Problem::new(refusal.code(), refusal.to_string()).closing();
        }
        cause = error.source();
    }
    Problem::new(Code::BodyCut, "the connection failed inside the request body").closing()
}
