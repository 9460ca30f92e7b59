use std::time::Duration;

use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;

use super::*;

/// A connection to a router whose peer is the returned stream, with room for 64 bytes each way.
fn connected(
    router: Router,
    patience: ConnectionTimeouts,
) -> (DuplexStream, watch::Sender<Phase>, JoinHandle<()>) {
    let (peer, stream) = tokio::io::duplex(64);
    let (phase, seen) = watch::channel(Phase::Serving);
    let context = ConnectionContext { router, metrics: Arc::new(Metrics::new()), patience, phase: seen };
    (peer, phase, tokio::spawn(serve_connection(stream, Peer::Unix, None, context)))
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[tokio::test]
async fn a_panic_is_answered_as_a_problem_that_leaves_the_outcome_open() {
    async fn panics() -> &'static str {
        panic!("a defect")
    }
    let (mut peer, _phase, connection) =
        connected(Router::new().route("/", get(panics)), ConnectionTimeouts::default());
    peer.write_all(REQUEST).await.unwrap();
    let mut answer = String::new();
    peer.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 500 ") && answer.contains("connection: close"), "{answer}");
    assert!(
        answer.contains(r#""code":"internal""#) && answer.contains(r#""sideEffects":"unknown""#),
        "{answer}"
    );
    drop(peer);
    connection.await.unwrap();
}

/// Hyper takes every head that the guard admits. One that it refused would be answered by hyper itself, without a word.
#[tokio::test]
async fn whatever_the_guard_admits_hyper_takes() {
    const TOKEN: &[u8] = b"!#$%&'*+-.^_`|~09AZaz";
    const TARGET: &[u8] = b"/?:@-._~!$&'()*+,;=09AZaz";
    const HOST: &[u8] = b"az09-._~%[]:";
    const VALUE: &[u8] = b" \t!\"#,;:=?@[]{}~az09\x80\xff";
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = |alphabet: &[u8], most: u64| -> Vec<u8> {
        let mut next = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % below).unwrap()
        };
        (0..=next(most)).map(|_| alphabet[next(alphabet.len() as u64)]).collect()
    };
    let router = Router::new().fallback(async || "taken");
    let mut taken = 0;
    for round in 0..3_000 {
        let (method, host) = (draw(TOKEN, 6), draw(HOST, 4));
        let path = [b"/".as_slice(), &draw(TARGET, 12)].concat();
        let origin = if round % 2 == 0 { Vec::new() } else { [b"http://".as_slice(), &host].concat() };
        let field = [draw(TOKEN, 6), b":".to_vec(), draw(VALUE, 8)].concat();
        let head = [
            &method,
            b" ".as_slice(),
            &origin,
            &path,
            b" HTTP/1.1\r\nhost: ",
            &host,
            b"\r\n",
            &field,
            b"\r\n\r\n",
        ];
        let (mut peer, _phase, _connection) = connected(router.clone(), ConnectionTimeouts::default());
        peer.write_all(&head.concat()).await.unwrap();
        peer.shutdown().await.unwrap();
        let mut answer = String::new();
        peer.read_to_string(&mut answer).await.unwrap();
        let refused = answer.contains("application/problem+json");
        taken += u32::from(!refused);
        let head = String::from_utf8_lossy(&head.concat()).into_owned();
        assert!(refused || answer.starts_with("HTTP/1.1 200 OK\r\n"), "{head} was answered {answer}");
    }
    assert!(taken > 1_000);
}

#[tokio::test]
async fn a_peer_that_takes_no_answer_is_given_up() {
    let router = Router::new().route("/", get(async || "x".repeat(100_000)));
    let patience =
        ConnectionTimeouts { write_pause: Duration::from_millis(100), ..ConnectionTimeouts::default() };
    let (mut peer, _phase, connection) = connected(router, patience);
    peer.write_all(REQUEST).await.unwrap();
    tokio::time::timeout(Duration::from_secs(5), connection).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_slow_peer_that_takes_its_answer_is_not_given_up() {
    let router = Router::new().route("/", get(async || "x".repeat(2_000)));
    let (write_pause, answer_bytes_per_s) = (Duration::from_millis(200), 1_000);
    let patience = ConnectionTimeouts { write_pause, answer_bytes_per_s, ..ConnectionTimeouts::default() };
    let (mut peer, _phase, _connection) = connected(router, patience);
    peer.write_all(REQUEST).await.unwrap();
    let mut taken = 0;
    let mut bytes = [0; 100];
    while taken < 2_000 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let read = peer.read(&mut bytes).await.unwrap();
        assert!(read > 0, "given up after {taken} bytes");
        taken += read;
    }
}

/// A byte of the answer now and then keeps neither the connection nor what lies in it.
#[tokio::test]
async fn a_peer_that_takes_its_answer_byte_by_byte_is_given_up() {
    let router = Router::new().route("/", get(async || "x".repeat(20_000)));
    let patience =
        ConnectionTimeouts { write_pause: Duration::from_millis(200), ..ConnectionTimeouts::default() };
    let (mut peer, _phase, connection) = connected(router, patience);
    peer.write_all(REQUEST).await.unwrap();
    let reading = tokio::spawn(async move {
        while peer.read_u8().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    tokio::time::timeout(Duration::from_secs(3), connection).await.unwrap().unwrap();
    tokio::time::timeout(Duration::from_secs(3), reading).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_peer_that_never_stops_sending_is_cut_after_a_refusal() {
    let patience = ConnectionTimeouts { linger: Duration::from_millis(100), ..ConnectionTimeouts::default() };
    let (peer, _phase, connection) = connected(Router::new(), patience);
    let (mut reader, mut writer) = tokio::io::split(peer);
    let sending = tokio::spawn(async move {
        writer.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        while writer.write_all(&[b'x'; 64]).await.is_ok() {}
    });
    let mut answer = String::new();
    reader.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    tokio::time::timeout(Duration::from_secs(5), connection).await.unwrap().unwrap();
    tokio::time::timeout(Duration::from_secs(5), sending).await.unwrap().unwrap();
}

#[tokio::test]
async fn what_goes_on_past_the_grace_is_cut() {
    let router = Router::new().route("/", get(async || std::future::pending::<()>().await));
    let (mut peer, phase, mut connection) = connected(router, ConnectionTimeouts::default());
    peer.write_all(REQUEST).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    phase.send_replace(Phase::Draining);
    assert!(
        tokio::time::timeout(Duration::from_millis(100), &mut connection).await.is_err(),
        "it is let finish"
    );
    phase.send_replace(Phase::Cut);
    tokio::time::timeout(Duration::from_secs(5), connection).await.unwrap().unwrap();
}
