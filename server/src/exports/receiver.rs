//! The body of an export: bounded while it arrives and while it is decompressed.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use bitacora_otlp::MAX_OTLP_REQUEST_BYTES;
use http_body_util::BodyExt;
use tokio::time::Instant;

use crate::access::caller::Caller;
use crate::api::Api;
use crate::http::body::{content_encoding, cut_off, undecodable};
use crate::http::lanes::{Arrival, gave_way};
use crate::http::pool::PoolPart;
use crate::ingest::{BodyDecoder, Step, decompressor_bytes};
use crate::limits::{
    BODY_ROOM_WAIT, EXPORT_CHUNK_BYTES, EXPORT_CHUNKS_AHEAD, EXPORT_FIRST_BUFFER_BYTES, INGEST_STEP_BYTES,
    PLACE_WAIT,
};
use crate::problem::{Code, Problem};

/// Bytes that an export holds beside its body: the chunks on their way, each as text and as events.
const EXPORT_FIXED_BYTES: usize = 2 * (EXPORT_CHUNKS_AHEAD + 1) * EXPORT_CHUNK_BYTES;
/// Bytes held for each byte of a body: itself, and a copy while the buffer grows or while escapes of JSON are undone.
const BYTES_EACH: usize = 2;

/// The body of an export, decompressed, with the room that it takes.
pub(crate) struct ReceivedExport {
    pub(super) bytes: Vec<u8>,
    /// Both are given back when the export is done.
    pub(super) place: PoolPart,
    pub(super) memory: PoolPart,
}

/// Receives a body of at most [`MAX_OTLP_REQUEST_BYTES`], before and after it is decompressed.
pub(crate) async fn receive(
    api: &Api,
    caller: &Caller,
    headers: &HeaderMap,
    mut body: Body,
) -> Result<ReceivedExport, Problem> {
    let encoding = content_encoding(headers)?;
    if announced(headers).is_some_and(|bytes| bytes > MAX_OTLP_REQUEST_BYTES) {
        return Err(too_large());
    }
    let place = api.ingests.take(caller.key(), 1, PLACE_WAIT).await.map_err(|_| no_room())?;
    let fixed = EXPORT_FIXED_BYTES + decompressor_bytes(encoding);
    let memory = api.uploads.take(caller.key(), fixed, PLACE_WAIT).await.map_err(|_| no_room())?;
    let mut export = ReceivedExport { bytes: Vec::new(), place, memory };
    let mut decoder = BodyDecoder::new(encoding).map_err(|error| undecodable(&error))?;
    let (mut arrival, mut received) = (Arrival::new(), 0);
    loop {
        let piece = export.next_piece(&mut body, &mut arrival).await?;
        let is_last = piece.is_none();
        let length = piece.as_ref().map_or(0, Bytes::len);
        received += length;
        if received > MAX_OTLP_REQUEST_BYTES {
            return Err(too_large());
        }
        arrival.came(length, Instant::now());
        decoder.push(piece);
        loop {
            export.reserve(length.max(INGEST_STEP_BYTES), fixed).await?;
            let step = decoder.step(&mut export.bytes).map_err(|error| undecodable(&error))?;
            if export.bytes.len() > MAX_OTLP_REQUEST_BYTES {
                return Err(too_large());
            }
            match step {
                Step::More => tokio::task::consume_budget().await,
                Step::Starved => break,
                Step::End => return Ok(export),
            }
        }
        if is_last {
            return Err(Problem::new(Code::BadEncoding, "the body ends before its content encoding does"));
        }
    }
}

impl ReceivedExport {
    async fn next_piece(&mut self, body: &mut Body, arrival: &mut Arrival) -> Result<Option<Bytes>, Problem> {
        let due = arrival.waits(Instant::now());
        self.place.pace().waits_until(due);
        self.memory.pace().waits_until(due);
        let frame = tokio::select! {
            biased;
            frame = body.frame() => frame,
            () = self.place.give_way_requested() => return Err(gave_way()),
            () = self.memory.give_way_requested() => return Err(gave_way()),
        };
        self.place.pace().moves();
        self.memory.pace().moves();
        let Some(frame) = frame else { return Ok(None) };
        let frame = frame.map_err(|error| cut_off(&error))?;
        Ok(Some(frame.into_data().unwrap_or_default()))
    }

    /// Makes room for more bytes, once there is memory for them.
    async fn reserve(&mut self, more: usize, fixed: usize) -> Result<(), Problem> {
        let needed = self.bytes.len() + more;
        if needed <= self.bytes.capacity() {
            return Ok(());
        }
        let most = MAX_OTLP_REQUEST_BYTES + more;
        let wanted = (2 * self.bytes.capacity()).max(EXPORT_FIRST_BUFFER_BYTES).min(most).max(needed);
        self.memory.grow_to(fixed + BYTES_EACH * wanted, BODY_ROOM_WAIT).await.map_err(|_| no_room())?;
        self.bytes.reserve_exact(wanted - self.bytes.len());
        Ok(())
    }
}

/// Takes in a body that nobody reads.
pub(crate) async fn discard(headers: &HeaderMap, mut body: Body) -> Result<(), Problem> {
    content_encoding(headers)?;
    let mut received = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| cut_off(&error))?;
        received += frame.into_data().unwrap_or_default().len();
        if received > MAX_OTLP_REQUEST_BYTES {
            return Err(too_large());
        }
    }
    Ok(())
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The rest of the body is not read, so the connection ends with the answer.
fn too_large() -> Problem {
    let detail = format!(
        "an export has at most {MAX_OTLP_REQUEST_BYTES} bytes, also when decompressed; send smaller batches"
    );
    Problem::new(Code::RequestTooLarge, detail).closing()
}

fn no_room() -> Problem {
    let detail = "too much is being exported at once; try again";
    Problem::new(Code::Overloaded, detail).with_retry_after(1).closing()
}
