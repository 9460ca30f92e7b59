//! The handshake of a connection: bounded in time and in number, with a share for each address.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::server::TlsStream;

use super::service_tls::ServiceTls;
use crate::http::pool::{CallerKey, Pool, PoolPart};
use crate::limits::{GIVING_WAY_LINGER, HANDSHAKE_STALL, MAX_HANDSHAKES, NAMELESS_STALL};
use crate::problem::{Code, Problem};

/// The first byte of every TLS connection: a record of its handshake.
const HANDSHAKE_RECORD: u8 = 0x16;
/// Bytes of a refused peer that are read and thrown away, so that it hears the reason.
const MAX_THROWN_AWAY_BYTES: usize = 64 * 1024;

/// The place at which all TLS connections of a service shake hands.
#[derive(Clone)]
pub(crate) struct HandshakeDesk {
    tls: Arc<ServiceTls>,
    turns: Pool,
    plain_answer: Arc<[u8]>,
}

/// The end of a connection that does not come to speak TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandshakeEnd {
    /// The two do not agree: on a version, a cipher, or the client's certificate.
    Failed,
    /// The peer took too long.
    Late,
    /// Another connection needed its place or its turn.
    GaveWay,
    /// The peer spoke without TLS.
    Plain,
}

impl HandshakeEnd {
    /// Returns its name in metrics.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Late => "late",
            Self::GaveWay => "gave_way",
            Self::Plain => "plain",
        }
    }
}

impl HandshakeDesk {
    pub(crate) fn new(tls: Arc<ServiceTls>) -> Self {
        let plain_answer = plain_answer().into();
        Self { tls, turns: Pool::new(MAX_HANDSHAKES), plain_answer }
    }

    /// Shakes hands within this time. Meanwhile the connection gives its place to others as an idle one does.
    pub(crate) async fn shake_hands(
        &self,
        stream: TcpStream,
        caller: &CallerKey,
        place: &mut PoolPart,
        within: Duration,
    ) -> Result<TlsStream<TcpStream>, HandshakeEnd> {
        place.pace().waits_until(Instant::now() + NAMELESS_STALL);
        let shaken = tokio::select! {
            shaken = timeout(within, self.shake(stream, caller, Instant::now() + within)) => shaken,
            () = place.give_way_requested() => return Err(HandshakeEnd::GaveWay),
        };
        place.pace().stays();
        shaken.unwrap_or(Err(HandshakeEnd::Late))
    }

    async fn shake(
        &self,
        stream: TcpStream,
        caller: &CallerKey,
        until: Instant,
    ) -> Result<TlsStream<TcpStream>, HandshakeEnd> {
        let mut first = [0];
        let peeked = stream.peek(&mut first).await.map_err(|_| HandshakeEnd::Failed)?;
        if peeked == 0 {
            return Err(HandshakeEnd::Failed);
        }
        if first != [HANDSHAKE_RECORD] {
            // A best effort: what a peer that speaks no TLS does with the answer is its own affair.
            let _told = self.refuse_plain(stream).await.is_ok();
            return Err(HandshakeEnd::Plain);
        }
        // A turn begins with the first byte, so that connections without one take none.
        let left = until.saturating_duration_since(Instant::now());
        let turn = self.turns.take(caller, 1, left).await;
        let mut turn = turn.map_err(|_| HandshakeEnd::GaveWay)?;
        turn.pace().waits_until(Instant::now() + HANDSHAKE_STALL);
        let accepting = timeout_at(until, self.tls.acceptor().accept(stream).into_fallible());
        let shaken = tokio::select! {
            shaken = accepting => shaken.map_err(|_| HandshakeEnd::Late)?,
            () = turn.give_way_requested() => return Err(HandshakeEnd::GaveWay),
        };
        match shaken {
            Ok(stream) => Ok(stream),
            Err((error, stream)) => {
                tracing::debug!(%error, "a TLS handshake failed");
                drop(turn);
                let _heard = hang_up(stream).await.is_ok();
                Err(HandshakeEnd::Failed)
            }
        }
    }

    /// Answers a request that came without TLS.
    async fn refuse_plain(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.write_all(&self.plain_answer).await?;
        hang_up(stream).await
    }
}

/// Ends a connection so that its peer hears what was said last: a system that closes with bytes unread tells the peer to throw that away.
async fn hang_up(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let thrown_away = async {
        let (mut space, mut bytes) = ([0; 1024], 0);
        while bytes < MAX_THROWN_AWAY_BYTES {
            stream.readable().await?;
            match stream.try_read(&mut space) {
                Ok(0) => break,
                Ok(read) => bytes += read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    };
    timeout(GIVING_WAY_LINGER, thrown_away).await.unwrap_or(Ok(()))
}

fn plain_answer() -> Vec<u8> {
    let body = Problem::new(Code::RequestFraming, "this port speaks TLS; ask it with https://").to_json();
    let head = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat()
}
