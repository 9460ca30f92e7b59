//! The guarded stream: which request a refusal belongs to.

use super::{GuardedStream, LongBodies, Refusal, Verdict};

#[tokio::test]
async fn a_refusal_is_of_its_own_request_however_far_ahead_it_is_read() {
    use std::future::poll_fn;
    use std::pin::Pin;

    use bitacora_http_guard::FramingError;
    use hyper::rt::{Read, ReadBuf};
    use tokio::io::AsyncWriteExt;

    let (mut peer, stream) = tokio::io::duplex(1024);
    let verdict = Verdict::default();
    let mut guarded = GuardedStream::new(
        stream,
        crate::limits::ConnectionTimeouts::default(),
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
