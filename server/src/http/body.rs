//! Request bodies: bounded while they arrive, bounded once more while they are decompressed.

use std::error::Error;
use std::io::{self, BufRead, Read};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, header};
use bitacora_formats::body_digest;
use bitacora_formats::limits::MAX_REQUEST_BYTES;
use bitacora_http_guard::MAX_HEAD_BYTES;
use http_body_util::BodyExt;
use hyper::body::Buf;
use tokio::time::Instant;

use crate::http::framing::Refusal;
use crate::http::lanes::{Arrival, BodyRoom, Lane, Lanes, gave_way};
use crate::http::pool::CallerKey;
use crate::problem::{Code, FaultLocation, Problem};

/// The digest of a body as it is sent (RFC 9530).
pub(crate) const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");
/// zstd's window for HTTP (RFC 9659): 8 MiB, as a power of two.
pub(crate) const MAX_ZSTD_WINDOW_LOG: u32 = 23;
/// The first step of a decompression, bytes; each step is twice the one before.
const FIRST_STEP_BYTES: usize = 16 * 1024;
/// The largest step that is decompressed before room for more is asked for, bytes.
const MAX_STEP_BYTES: usize = 512 * 1024;
/// A body's buffer begins at most this large, bytes: announcing much must not cost us much.
const FIRST_BUFFER_BYTES: usize = 64 * 1024;

/// Reads bodies within the memory that all of them may take at once.
#[derive(Clone)]
pub(crate) struct BodyReader {
    lanes: Lanes,
}

/// A body and its room, given back when dropped.
pub(crate) struct BufferedBody {
    bytes: Bytes,
    room: BodyRoom,
}

impl BufferedBody {
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes, which take their room for as long as this body is there.
    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes.clone()
    }

    /// Another text of the same, in which each byte takes at most so many.
    pub(crate) async fn rewritten(
        mut self,
        bytes_each: usize,
        write: impl FnOnce(&[u8]) -> Result<Vec<u8>, Problem>,
    ) -> Result<Self, Problem> {
        self.room.grow_to((1 + bytes_each) * self.bytes.len() + bytes_each * MAX_HEAD_BYTES).await?;
        self.bytes = Bytes::from(write(&self.bytes)?);
        Ok(self)
    }
}

/// The content coding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentEncoding {
    Gzip,
    Zstd,
}

impl BodyReader {
    pub(crate) fn new(lanes: Lanes) -> Self {
        Self { lanes }
    }

    /// Reads a body of at most [`MAX_REQUEST_BYTES`], before and after decompression, in the caller's lane and share.
    pub(crate) async fn read(
        &self,
        lane: Lane,
        key: &CallerKey,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<BufferedBody, Problem> {
        let encoding = content_encoding(headers)?;
        let room = self.lanes.room(lane, key);
        let received = receive(headers, body, room, MAX_REQUEST_BYTES).await?;
        check_digest(headers, received.as_slice())?;
        let Some(encoding) = encoding else { return Ok(received) };
        let room = self.lanes.room(lane, key);
        decompress(encoding, received.bytes, room).await
    }

    /// Reads a form of a page, which browsers never compress, in the caller's lane and share.
    pub(crate) async fn read_form(
        &self,
        lane: Lane,
        key: &CallerKey,
        headers: &HeaderMap,
        body: Body,
        most: usize,
    ) -> Result<BufferedBody, Problem> {
        if content_encoding(headers)?.is_some() {
            return Err(Problem::new(Code::UnsupportedEncoding, "a form is sent as it is").closing());
        }
        receive(headers, body, self.lanes.room(lane, key), most.min(MAX_REQUEST_BYTES)).await
    }
}

/// Refuses a body that is not the one of the request's digest: the signature of the answer covers the digest.
fn check_digest(headers: &HeaderMap, body: &[u8]) -> Result<(), Problem> {
    let mut digests = headers.get_all(CONTENT_DIGEST).iter();
    match (digests.next(), digests.next()) {
        (None, _) => Ok(()),
        (Some(digest), None) if digest.as_bytes() == body_digest(body).as_bytes() => Ok(()),
        _ => Err(other_digest()),
    }
}

/// The problem of a digest that is not the body's.
pub(crate) fn other_digest() -> Problem {
    let fault = "found a digest that is not the body's; expected sha-256 alone";
    Problem::new(Code::BadHeader, format!("the header Content-Digest: {fault}"))
        .with_fault(FaultLocation::Header("content-digest"), fault)
}

/// Takes in what comes, for as long as there is room and its peer goes on.
async fn receive(
    headers: &HeaderMap,
    mut body: Body,
    mut room: BodyRoom,
    most: usize,
) -> Result<BufferedBody, Problem> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|bytes: usize| bytes > most) {
        return Err(too_large(most));
    }
    let mut first = Bytes::new();
    let mut buffer = Vec::new();
    let mut arrival = Arrival::new();
    loop {
        room.waits_until(arrival.waits(Instant::now()));
        let frame = tokio::select! {
            biased;
            frame = body.frame() => frame,
            () = room.give_way_requested() => return Err(gave_way()),
        };
        room.stays();
        let Some(frame) = frame else { break };
        let Ok(data) = frame.map_err(|error| cut_off(&error))?.into_data() else { continue };
        arrival.came(data.len(), Instant::now());
        let length = first.len() + buffer.len() + data.len();
        if length > most {
            return Err(too_large(most));
        }
        // Most bodies are one piece: it is kept as it came.
        if length == data.len() {
            room.grow_to(length).await?;
            first = data;
            continue;
        }
        if length > buffer.capacity() {
            let least = announced.unwrap_or_default().min(FIRST_BUFFER_BYTES);
            let wanted = (2 * buffer.capacity()).max(least).max(length).min(most);
            room.grow_to(wanted).await?;
            buffer.reserve_exact(wanted - buffer.len());
        }
        buffer.extend_from_slice(&std::mem::take(&mut first));
        buffer.extend_from_slice(&data);
    }
    let bytes = if buffer.is_empty() { first } else { Bytes::from(buffer) };
    Ok(BufferedBody { bytes, room })
}

async fn decompress(
    encoding: ContentEncoding,
    bytes: Bytes,
    mut room: BodyRoom,
) -> Result<BufferedBody, Problem> {
    let mut reader: Box<dyn Read + Send> = match encoding {
        ContentEncoding::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(bytes.reader())),
        ContentEncoding::Zstd => Box::new(zstd_reader(bytes.reader()).map_err(|error| undecodable(&error))?),
    };
    let (mut decompressed, mut step) = (Vec::new(), FIRST_STEP_BYTES);
    loop {
        let wanted = decompressed.len() + step;
        room.grow_to(wanted).await?;
        decompressed.reserve_exact(step);
        let task = tokio::task::spawn_blocking(move || {
            let read = reader.by_ref().take(step as u64).read_to_end(&mut decompressed);
            read.map(|_| (reader, decompressed))
        });
        let stepped =
            task.await.map_err(|_| Problem::new(Code::Internal, "decompressing the body failed"))?;
        (reader, decompressed) = stepped.map_err(|error| undecodable(&error))?;
        if decompressed.len() > MAX_REQUEST_BYTES {
            return Err(too_large(MAX_REQUEST_BYTES));
        }
        if decompressed.len() < wanted {
            return Ok(BufferedBody { bytes: Bytes::from(decompressed), room });
        }
        step = (2 * step).min(MAX_STEP_BYTES);
    }
}

fn zstd_reader(bytes: impl BufRead + Send) -> io::Result<impl Read + Send> {
    let mut reader = zstd::stream::read::Decoder::with_buffer(bytes)?;
    reader.window_log_max(MAX_ZSTD_WINDOW_LOG)?;
    Ok(reader)
}

/// Returns the content coding of the body, if it has one.
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
fn too_large(most: usize) -> Problem {
    let detail = match most {
        MAX_REQUEST_BYTES => {
            format!("a request has at most {most} bytes, also when decompressed; send several")
        }
        _ => format!("a form here has at most {most} bytes"),
    };
    Problem::new(Code::RequestTooLarge, detail).closing()
}

pub(crate) fn undecodable(error: &io::Error) -> Problem {
    Problem::new(Code::BadEncoding, format!("the body does not decompress: {error}"))
}

/// Returns the reason for which a body ended before its end: the guard's, if it was the guard.
pub(crate) fn cut_off(error: &(dyn Error + 'static)) -> Problem {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let refusal =
            error.downcast_ref::<io::Error>().and_then(|error| error.get_ref()?.downcast_ref::<Refusal>());
        if let Some(refusal) = refusal {
            return refusal.problem();
        }
        cause = error.source();
    }
    Problem::new(Code::BodyCut, "the connection failed inside the request body").closing()
}
