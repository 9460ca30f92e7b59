//! The stream that hyper reads: whole, checked heads only, and a peer that keeps moving.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bitacora_http_guard::{RequestFraming, RequestPart};
use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::patience::PeerWait;
use super::refusal::Refusal;
use crate::http::lanes::Arrival;
use crate::http::pool::PoolPart;
use crate::limits::{
    CONNECTION_STALL, ConnectionTimeouts, GIVING_WAY_LINGER, NAMELESS_STALL, READ_BUFFER_BYTES,
};

/// The request that hyper is given in place of a refused head. So the refusal is answered in its turn, after the answers to the requests
/// before it. Only [`Verdict`] says which request it is: a client that sends the same bytes asks for `/` and nothing else.
const STAND_IN: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// The refusal of a connection's request head, told by the stream to the service.
#[derive(Clone, Default)]
pub(crate) struct Verdict(Arc<OnceLock<(u64, Refusal)>>);

impl Verdict {
    /// Returns the reason for which the connection's `request`-th request (from 1) was refused, if it was.
    pub(crate) fn of(&self, request: u64) -> Option<Refusal> {
        self.0.get().filter(|(refused, _)| *refused == request).map(|(_, refusal)| *refusal)
    }
}

/// The request whose body may take as long as it likes, told by the service to the stream.
#[derive(Clone, Default)]
pub(crate) struct LongBodies(Arc<AtomicU64>);

/// The right of one request to a body without an end in sight.
#[derive(Clone)]
pub(crate) struct LongBody {
    bodies: LongBodies,
    request: u64,
}

impl LongBodies {
    /// For the connection's `request`-th request, from 1.
    pub(crate) fn of(&self, request: u64) -> LongBody {
        LongBody { bodies: self.clone(), request }
    }
}

impl LongBody {
    /// From now on only its pauses are bounded, more widely than others'.
    pub(crate) fn allow(&self) {
        self.bodies.0.store(self.request, Ordering::Relaxed);
    }
}

/// A byte stream that passes on only what [`RequestFraming`] admits and gives up on a peer that stops moving.
pub(crate) struct GuardedStream<S> {
    stream: S,
    framing: RequestFraming,
    patience: ConnectionTimeouts,
    verdict: Verdict,
    long_bodies: LongBodies,
    buffer: Box<[u8]>,
    /// `buffer[taken..admitted]` may be passed on, `buffer[admitted..filled]` is not yet judged.
    taken: usize,
    admitted: usize,
    filled: usize,
    reading: ReadState,
    read_wait: PeerWait,
    write_wait: PeerWait,
    closing: CloseState,
    /// The time of its acceptance.
    made: Instant,
    /// The connection's place among all, and the pace of the present body for the room that it takes.
    place: Option<PoolPart>,
    arrival: Arrival,
    gives_way: bool,
}

#[derive(PartialEq, Eq)]
enum ReadState {
    Open,
    /// The peer sends no more.
    Ended,
    /// Refused: nothing is passed on any more, but for the stand-in.
    Refused,
}

#[derive(PartialEq, Eq)]
enum CloseState {
    No,
    /// Our side is closed; what the peer still sends is thrown away, so that its system does not throw away our
    /// answer in turn.
    Lingering,
    Done,
}

impl<S: AsyncRead + AsyncWrite + Unpin> GuardedStream<S> {
    pub(crate) fn new(
        stream: S,
        patience: ConnectionTimeouts,
        verdict: Verdict,
        long_bodies: LongBodies,
        place: Option<PoolPart>,
    ) -> Self {
        Self {
            stream,
            framing: RequestFraming::new(),
            patience,
            verdict,
            long_bodies,
            buffer: vec![0; READ_BUFFER_BYTES].into_boxed_slice(),
            taken: 0,
            admitted: 0,
            filled: 0,
            reading: ReadState::Open,
            read_wait: PeerWait::default(),
            write_wait: PeerWait::default(),
            closing: CloseState::No,
            made: Instant::now(),
            place,
            arrival: Arrival::new(),
            gives_way: false,
        }
    }

    /// Passes on what is admitted and fits; `false` when nothing is.
    fn pass_on(&mut self, cursor: &mut ReadBufCursor<'_>) -> bool {
        let bytes = (self.admitted - self.taken).min(cursor.remaining());
        let end = self.taken + bytes;
        cursor.put_slice(self.buffer.get(self.taken..end).unwrap_or_default());
        self.taken = end;
        bytes > 0
    }

    /// Judges what is buffered; `true` when more of it may be passed on.
    fn judge(&mut self) -> Result<bool, Refusal> {
        let awaited = self.framing.awaited();
        let heads = self.framing.heads();
        let bytes = self.framing.admit(self.buffer.get(self.admitted..self.filled).unwrap_or_default())?;
        self.admitted += bytes;
        if awaited != self.framing.awaited() || heads != self.framing.heads() {
            self.read_wait.begin_anew();
            self.write_wait.begin_anew();
            self.arrival = Arrival::new();
        } else if awaited == RequestPart::Body {
            self.read_wait.earn(worth(bytes, self.patience.body_bytes_per_s));
            self.arrival.came(bytes, Instant::now());
        }
        Ok(bytes > 0)
    }

    /// Reads more from the peer; `Ok(false)` at its end.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.admitted -= self.taken;
        self.taken = 0;
        let mut space = ReadBuf::new(self.buffer.get_mut(self.filled..).unwrap_or_default());
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut space))?;
        let bytes = space.filled().len();
        self.filled += bytes;
        if let Some(place) = &self.place {
            place.pace().stays();
        }
        // A head has one deadline from its first byte on, however often its peer moves.
        if self.framing.awaited() == RequestPart::Head && self.filled == bytes {
            self.read_wait.begin_anew();
        } else {
            self.read_wait.pause_is_over();
            // A peer that is still sending need not listen yet.
            self.write_wait.begin_anew();
        }
        Poll::Ready(Ok(bytes > 0))
    }

    /// Ready when the peer has kept us waiting for too long, or another needs the place: with the refusal, or `None` between requests.
    fn poll_impatience(&mut self, cx: &mut Context<'_>) -> Poll<Option<Refusal>> {
        let ConnectionTimeouts { head, idle, body_pause, upload_pause, body_grace, .. } = self.patience;
        let is_long = self.long_bodies.0.load(Ordering::Relaxed) == self.framing.heads();
        let (pause, total, refusal) = match self.framing.awaited() {
            RequestPart::Head if self.filled == 0 => (idle, idle, None),
            RequestPart::Head => (head, head, Some(Refusal::SlowHead)),
            RequestPart::Body if is_long => (upload_pause, Duration::MAX, Some(Refusal::SlowBody)),
            RequestPart::Body => (body_pause, body_grace, Some(Refusal::SlowBody)),
        };
        if self.read_wait.poll_over(cx, pause, total).is_ready() {
            return Poll::Ready(refusal);
        }
        let due = match self.framing.awaited() {
            // An upload has a place of its own, and gives that way.
            RequestPart::Body if is_long => return Poll::Pending,
            RequestPart::Body => self.arrival.waits(Instant::now()),
            RequestPart::Head if self.is_of_nobody() => self.made + NAMELESS_STALL,
            RequestPart::Head => self.read_wait.since().unwrap_or_else(Instant::now) + CONNECTION_STALL,
        };
        ready!(self.poll_gives_way(cx, due));
        Poll::Ready(refusal.map(|_| Refusal::GaveWay))
    }

    /// Returns `true` while no request on it showed a token that was taken. The work for such requests earns no time.
    fn is_of_nobody(&self) -> bool {
        self.place.as_ref().is_some_and(|place| !place.has_moved())
    }

    /// Ready once another connection needs the place of this one, whose peer is waited for: from this time on that is anybody's.
    fn poll_gives_way(&mut self, cx: &mut Context<'_>, due: Instant) -> Poll<()> {
        let Some(place) = &mut self.place else { return Poll::Pending };
        place.pace().waits_until(due);
        ready!(place.poll_give_way(cx));
        self.gives_way = true;
        Poll::Ready(())
    }

    /// In place of a head hyper gets the stand-in; inside a body, an error.
    fn refuse(&mut self, refusal: Refusal) -> io::Result<()> {
        self.reading = ReadState::Refused;
        if self.framing.awaited() == RequestPart::Body {
            return Err(io::Error::new(io::ErrorKind::InvalidData, refusal));
        }
        let refused = (self.framing.heads() + 1, refusal);
        // Set once only: a refused connection is never judged again.
        let _first = self.verdict.0.set(refused);
        if let Some(space) = self.buffer.get_mut(..STAND_IN.len()) {
            space.copy_from_slice(STAND_IN);
        }
        (self.taken, self.admitted, self.filled) = (0, STAND_IN.len(), STAND_IN.len());
        Ok(())
    }

    fn end_of_stream(&mut self) -> Option<Refusal> {
        match self.framing.awaited() {
            RequestPart::Head if self.filled == 0 => None,
            RequestPart::Head => Some(Refusal::HeadCut),
            RequestPart::Body => Some(Refusal::BodyCut),
        }
    }

    /// Returns `true` if the peer may still be sending bytes that nobody reads.
    fn is_mid_request(&self) -> bool {
        self.reading == ReadState::Refused
            || self.framing.awaited() == RequestPart::Body
            || self.filled > self.taken
    }

    /// The pause is never over here: lingering ends in time also with a peer that never stops.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let linger = if self.gives_way { GIVING_WAY_LINGER } else { self.patience.linger };
        loop {
            let mut space = ReadBuf::new(&mut self.buffer);
            match Pin::new(&mut self.stream).poll_read(cx, &mut space) {
                Poll::Ready(Ok(())) if !space.filled().is_empty() => (),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => {
                    if self.read_wait.poll_over(cx, linger, linger).is_ready() {
                        return Poll::Ready(());
                    }
                    if self.gives_way {
                        return Poll::Pending;
                    }
                    // Its peer has had the time to take the answer: from then on the place is anybody's.
                    let since = self.read_wait.since().unwrap_or_else(Instant::now);
                    return self.poll_gives_way(cx, since + GIVING_WAY_LINGER);
                }
            }
        }
    }

    fn poll_written(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(result) => {
                self.write_wait.pause_is_over();
                let bytes = result.as_ref().map_or(0, |bytes| *bytes);
                self.write_wait.earn(worth(bytes, self.patience.answer_bytes_per_s));
                if let Some(place) = &self.place {
                    place.pace().stays();
                }
                Poll::Ready(result)
            }
            Poll::Pending => {
                let pause = self.patience.write_pause;
                let is_over = self.write_wait.poll_over(cx, pause, pause).is_ready();
                let since = self.write_wait.since().unwrap_or_else(Instant::now);
                if !is_over {
                    ready!(self.poll_gives_way(cx, since + CONNECTION_STALL));
                }
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not take its answer")))
            }
        }
    }
}

/// The time in which a peer has to move so many bytes.
fn worth(bytes: usize, bytes_per_s: u64) -> Duration {
    Duration::from_micros((bytes as u64).saturating_mul(1_000_000) / bytes_per_s.max(1))
}

impl<S: AsyncRead + AsyncWrite + Unpin> Read for GuardedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if this.pass_on(&mut cursor) || this.reading != ReadState::Open {
                return Poll::Ready(Ok(()));
            }
            match this.judge() {
                Ok(true) => continue,
                Ok(false) => (),
                Err(refusal) => {
                    this.refuse(refusal)?;
                    continue;
                }
            }
            let refusal = match this.poll_fill(cx)? {
                Poll::Ready(true) => continue,
                Poll::Ready(false) => this.end_of_stream(),
                Poll::Pending => ready!(this.poll_impatience(cx)),
            };
            match refusal {
                Some(refusal) => this.refuse(refusal)?,
                None => this.reading = ReadState::Ended,
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Write for GuardedStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.poll_written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.poll_written(cx, written)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match Pin::new(&mut this.stream).poll_flush(cx) {
            // A stream that holds back what it was given, as TLS does, waits for its peer here.
            Poll::Pending => this.poll_written(cx, Poll::Pending).map_ok(drop),
            Poll::Ready(flushed) => {
                this.write_wait.pause_is_over();
                Poll::Ready(flushed)
            }
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.closing == CloseState::No {
            match Pin::new(&mut this.stream).poll_shutdown(cx) {
                Poll::Ready(shut) => shut?,
                // What TLS says last may find no room, as the answer before it.
                Poll::Pending => {
                    let linger = this.patience.linger;
                    ready!(this.write_wait.poll_over(cx, linger, linger));
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
            this.closing = if this.is_mid_request() { CloseState::Lingering } else { CloseState::Done };
            this.read_wait.begin_anew();
        }
        if this.closing == CloseState::Lingering {
            ready!(this.poll_linger(cx));
            this.closing = CloseState::Done;
        }
        Poll::Ready(Ok(()))
    }
}
