//! The guarded stream: the request that a refusal belongs to, and peers that are stuck.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::Write;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf as TokioReadBuf};
use tokio::time::{Instant, timeout};

use super::{GuardedStream, LongBodies, Refusal, Verdict};
use crate::limits::ConnectionTimeouts;

#[tokio::test]
async fn a_refusal_is_of_its_own_request_however_far_ahead_it_is_read() {
    use bitacora_http_guard::FramingError;
    use hyper::rt::{Read, ReadBuf};
    use tokio::io::AsyncWriteExt;

    let (mut peer, stream) = tokio::io::duplex(1024);
    let verdict = Verdict::default();
    let mut guarded = GuardedStream::new(
        stream,
        ConnectionTimeouts::default(),
        verdict.clone(),
        LongBodies::default(),
        None,
    );
    let good = "GET /good HTTP/1.1\r\nHost: h\r\n\r\n";
    peer.write_all(format!("{good}{good}GET /bad HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    let mut passed = Vec::new();
    loop {
        let mut bytes = [0; 40];
        let mut buffer = ReadBuf::new(&mut bytes);
        poll_fn(|cx| Pin::new(&mut guarded).poll_read(cx, buffer.unfilled())).await.unwrap();
        if buffer.filled().is_empty() {
            break;
        }
        passed.extend_from_slice(buffer.filled());
    }
    let passed = String::from_utf8(passed).unwrap();
    assert!(passed.starts_with(&good.repeat(2)) && !passed.contains("/bad"), "{passed}");
    assert_eq!(
        [1, 2, 3, 4].map(|request| verdict.of(request)),
        [None, None, Some(Refusal::Framing(FramingError::HostMissing)), None]
    );
}

/// A stream whose peer takes nothing of what it holds back, as one with TLS may have it.
struct StuckStream;

impl AsyncRead for StuckStream {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut TokioReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl AsyncWrite for StuckStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_take_what_is_held_back_is_waited_for_as_for_any_answer() {
    let patience = ConnectionTimeouts::default();
    let (write_pause, linger) = (patience.write_pause, patience.linger);
    let mut guarded =
        GuardedStream::new(StuckStream, patience, Verdict::default(), LongBodies::default(), None);
    let began = Instant::now();
    let flushed = poll_fn(|cx| Pin::new(&mut guarded).poll_flush(cx));
    let flushed = timeout(write_pause * 2, flushed).await.expect("it is given up");
    assert_eq!(flushed.unwrap_err().kind(), io::ErrorKind::TimedOut);
    assert!(began.elapsed() >= write_pause, "{:?}", began.elapsed());

    let mut guarded = GuardedStream::new(
        StuckStream,
        ConnectionTimeouts::default(),
        Verdict::default(),
        LongBodies::default(),
        None,
    );
    let shut = poll_fn(|cx| Pin::new(&mut guarded).poll_shutdown(cx));
    let shut = timeout(linger * 2, shut).await.expect("it is given up");
    assert_eq!(shut.unwrap_err().kind(), io::ErrorKind::TimedOut);
}
