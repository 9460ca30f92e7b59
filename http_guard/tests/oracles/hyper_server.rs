//! hyper as the reader behind the guard.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bitacora_testkit::SeededRng;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::admitted::Admitted;
use crate::connections::connection;
use crate::plain_reader::{PlainRequest, read};

/// Returns the requests that a hyper server answers, and whether it refused one itself.
async fn served(bytes: &[u8]) -> (Vec<PlainRequest>, bool) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (mut peer, stream) = tokio::io::duplex(1 << 20);
    peer.write_all(bytes).await.unwrap();
    peer.shutdown().await.unwrap();
    let service = service_fn(|request: Request<Incoming>| {
        let seen = Arc::clone(&seen);
        async move {
            let (method, target) = (request.method().to_string(), request.uri().to_string());
            if let Ok(body) = request.into_body().collect().await {
                let body = body.to_bytes().to_vec();
                seen.lock().unwrap().push(PlainRequest { method, target, body });
            }
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        }
    });
    let ended = http1::Builder::new().half_close(true).serve_connection(TokioIo::new(stream), service).await;
    let mut answers = String::new();
    peer.read_to_string(&mut answers).await.unwrap();
    let seen = seen.lock().unwrap().clone();
    (seen, ended.is_err() || answers.contains("HTTP/1.1 400"))
}

#[test]
fn hyper_sees_the_same_requests() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut random = SeededRng::new(2);
    let mut requests = 0;
    for number in 0..4_000 {
        let connection = connection(&mut random);
        let mut admitted = Admitted::of(&connection);
        // hyper ends the connection behind a request of HTTP/1.0.
        let is_old = |head: &[u8]| head.windows(10).any(|window| window == b"HTTP/1.0\r\n");
        if let Some(old) = admitted.requests.iter().position(|request| is_old(&request.head)) {
            admitted.requests.truncate(old + 1);
        }
        let expected: Vec<PlainRequest> = admitted
            .requests
            .iter()
            .filter_map(|request| Some(read(&[&request.head[..], &request.body].concat())?.0))
            .collect();
        let bytes = admitted.bytes();
        let (seen, refused) = runtime.block_on(served(&bytes));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!refused, "connection {number}: {text:?}");
        assert_eq!(seen, expected, "connection {number}: {text:?}");
        requests += seen.len();
    }
    assert!(requests > 4_000, "{requests} requests: too few");
}

/// Shows the need for the guard: hyper serves a request of which it drops one of two lengths.
#[test]
fn hyper_serves_what_the_guard_refuses() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ambiguous =
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    let (seen, refused) = runtime.block_on(served(ambiguous));
    assert!(seen.len() == 1 && !refused);
    let admitted = Admitted::of(ambiguous);
    assert!(admitted.requests.is_empty() && !admitted.is_all);
}
