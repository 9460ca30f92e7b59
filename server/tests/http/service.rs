//! A running service and a client that can send anything.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use bitacora_formats::{Keyring, Micros};
use bitacora_ledger::{Clock, Environment, HeadOptions, Options, ReactorChoice, SystemClock};
use bitacora_server::{
    Admission, CloseFailures, ConnectionTimeouts, LedgersConfig, LiveSettings, Server, ServerConfig,
    ServerLimits,
};
use serde_json::Value;
use tokio::sync::oneshot;

/// Longer than any answer takes, shorter than a hanging test is bearable.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The machine's clock, set wrong by so many microseconds: time passes by a test's word, and no test sleeps for it.
#[derive(Debug, Default, Clone)]
pub(crate) struct SetClock(Arc<AtomicI64>);

impl SetClock {
    pub(crate) fn by_minutes(&self, minutes: i64) {
        self.0.store(minutes * 60_000_000, Ordering::SeqCst);
    }

    pub(crate) fn advance(&self, milliseconds: i64) {
        self.0.fetch_add(milliseconds * 1_000, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Micros {
        Micros(SystemClock.now().0.saturating_add_signed(self.0.load(Ordering::SeqCst)))
    }

    fn passed(&self) -> Duration {
        SystemClock.passed()
    }
}

/// A service on a port of its own, with a fresh data folder and one ledger, `main`.
pub(crate) struct TestService {
    pub(crate) address: SocketAddr,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) keyring: Arc<Keyring>,
    /// The clock that it begins with again.
    clock: SetClock,
    pub(crate) live: LiveSettings,
    shutdown: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), CloseFailures>>>,
}

impl TestService {
    pub(crate) fn start() -> Self {
        Self::with(ServerLimits::default())
    }

    /// A service whose patience ends while a test can wait for it.
    pub(crate) fn impatient() -> Self {
        let pause = Duration::from_millis(800);
        let patience = ConnectionTimeouts {
            head: pause,
            idle: pause,
            body_pause: pause,
            ..ConnectionTimeouts::default()
        };
        Self::with(ServerLimits { patience, ..ServerLimits::default() })
    }

    pub(crate) fn with(limits: ServerLimits) -> Self {
        let service = Self::on(tempfile::tempdir().unwrap(), new_keyring(), limits);
        service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
        service
    }

    /// A service by this clock.
    pub(crate) fn at(clock: &SetClock) -> Self {
        let (folder, keyring) = (tempfile::tempdir().unwrap(), new_keyring());
        let mut config = config(folder.path(), &keyring, ServerLimits::default());
        config.ledgers.environment.clock = Arc::new(clock.clone());
        let mut service = Self::of(config, folder, keyring);
        service.clock = clock.clone();
        service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
        service
    }

    /// A service that signs a tree head as soon as there is something new.
    pub(crate) fn signing() -> Self {
        let (folder, keyring) = (tempfile::tempdir().unwrap(), new_keyring());
        let mut config = config(folder.path(), &keyring, ServerLimits::default());
        config.ledgers.options.heads =
            Some(HeadOptions { every: Duration::from_millis(50), ..HeadOptions::default() });
        let service = Self::of(config, folder, keyring);
        service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
        service
    }

    /// A service whose ledger takes requests and has segments as large as they are in use.
    pub(crate) fn roomy() -> Self {
        let (folder, keyring) = (tempfile::tempdir().unwrap(), new_keyring());
        let mut config = config(folder.path(), &keyring, ServerLimits::default());
        let governing = config.ledgers.options.governing.clone();
        config.ledgers.options = Options { governing, heads: None, ..Options::default() };
        let service = Self::of(config, folder, keyring);
        service.post("/v1/ledgers", "application/json", r#"{"name":"main"}"#).expect(201);
        service
    }

    /// A service on a folder that may hold ledgers already.
    pub(crate) fn on(folder: tempfile::TempDir, keyring: Arc<Keyring>, limits: ServerLimits) -> Self {
        let config = config(folder.path(), &keyring, limits);
        Self::of(config, folder, keyring)
    }

    pub(crate) fn of(config: ServerConfig, folder: tempfile::TempDir, keyring: Arc<Keyring>) -> Self {
        let (shutdown, asked) = oneshot::channel::<()>();
        let (bound, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            tokio::runtime::Runtime::new().unwrap().block_on(async move {
                let server = Server::bind(config).await.unwrap();
                bound.send((server.local_addr().unwrap(), server.live_settings())).unwrap();
                server.run(async { drop(asked.await) }).await
            })
        });
        let (address, live) = address.recv().unwrap();
        let (clock, shutdown, thread) = (SetClock::default(), Some(shutdown), Some(thread));
        Self { address, folder, keyring, clock, live, shutdown, thread }
    }

    /// Asks for the end; [`Self::wait`] waits for it.
    pub(crate) fn begin_shutdown(&mut self) {
        drop(self.shutdown.take());
    }

    pub(crate) fn wait(&mut self) -> Result<(), CloseFailures> {
        self.thread.take().unwrap().join().unwrap()
    }

    /// Ends the service and starts another one on the same folder.
    pub(crate) fn restarted(mut self) -> Self {
        self.begin_shutdown();
        self.wait().unwrap();
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        let mut config = config(folder.path(), &self.keyring, ServerLimits::default());
        config.ledgers.environment.clock = Arc::new(self.clock.clone());
        Self::of(config, folder, Arc::clone(&self.keyring))
    }

    pub(crate) fn connect(&self) -> RawClient {
        RawClient::new(TcpStream::connect(self.address).unwrap())
    }

    pub(crate) fn get(&self, target: &str) -> ServiceAnswer {
        self.request("GET", target, &[], b"")
    }

    pub(crate) fn get_with(&self, target: &str, headers: &[(&str, &str)]) -> ServiceAnswer {
        self.request("GET", target, headers, b"")
    }

    pub(crate) fn post(&self, target: &str, content_type: &str, body: impl AsRef<[u8]>) -> ServiceAnswer {
        self.request("POST", target, &[("Content-Type", content_type)], body.as_ref())
    }

    pub(crate) fn append(&self, body: impl AsRef<[u8]>) -> ServiceAnswer {
        self.post("/v1/ledgers/main/events", "application/json", body)
    }

    pub(crate) fn append_with(&self, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> ServiceAnswer {
        let mut all = vec![("Content-Type", "application/json")];
        all.extend_from_slice(headers);
        self.request("POST", "/v1/ledgers/main/events", &all, body.as_ref())
    }

    pub(crate) fn request(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> ServiceAnswer {
        let mut client = self.connect();
        client.send(head(method, target, headers, Some(body.len())).as_bytes());
        // A refusal may come, and the connection go, before all of a large body is sent.
        client.send_some(body);
        client.answer()
    }

    /// Waits until a follower that does not read is given up.
    pub(crate) fn wait_for_lag(&self) {
        let told = "bitacora_http_followers_lagged_total 1\n";
        wait_until(|| self.get("/metrics").expect(200).text().contains(told));
    }

    /// The position of the durable head.
    pub(crate) fn tip(&self) -> u64 {
        self.get("/v1/ledgers/main/head").expect(200).json()["position"].as_str().unwrap().parse().unwrap()
    }
}

impl Drop for TestService {
    fn drop(&mut self) {
        self.begin_shutdown();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

pub(crate) fn new_keyring() -> Arc<Keyring> {
    let entropy = Environment::real().entropy;
    Arc::new(Keyring::generate(&mut |bytes| entropy.fill(bytes).unwrap()))
}

pub(crate) fn config(folder: &Path, keyring: &Arc<Keyring>, limits: ServerLimits) -> ServerConfig {
    ServerConfig {
        addresses: vec!["127.0.0.1:0".parse().unwrap()],
        tls: None,
        allows_remote: false,
        unix_socket: None,
        admission: Admission::Open,
        allowed_origins: Vec::new(),
        notices: None,
        archiving: None,
        warm: None,
        ledgers: LedgersConfig {
            data: data(folder),
            keyring: Arc::clone(keyring),
            environment: Environment::real(),
            options: Options { governing: ReactorChoice::Governance, ..Options::small() },
            read_models: true,
            recalls: Arc::default(),
        },
        unlisted: None,
        required_models: Vec::new(),
        limits,
    }
}

pub(crate) fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

/// A request head; `None` leaves the body's framing to the headers given.
pub(crate) fn head(method: &str, target: &str, headers: &[(&str, &str)], length: Option<usize>) -> String {
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    if let Some(length) = length.filter(|length| *length > 0 || method == "POST") {
        head += &format!("Content-Length: {length}\r\n");
    }
    head + "\r\n"
}

/// One event as JSON.
pub(crate) fn event(id: &str, stream: &str) -> String {
    format!(
        r#"{{"specversion":"1.0","id":"{id}","source":"/tests","type":"x.happened","subject":"{stream}","data":{{"n":1}}}}"#
    )
}

/// A connection that sends any bytes it is given.
pub(crate) struct RawClient<S = TcpStream> {
    stream: S,
    received: Vec<u8>,
}

impl RawClient {
    pub(crate) fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(ANSWER_TIMEOUT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, received: Vec::new() }
    }

    /// Another hold on the connection, to send from another thread.
    pub(crate) fn sender(&self) -> TcpStream {
        self.stream.try_clone().unwrap()
    }

    /// Reads one whole answer, if it is there already.
    pub(crate) fn try_answer_now(&mut self) -> Option<ServiceAnswer> {
        self.stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let answer = self.try_answer();
        self.stream.set_read_timeout(Some(ANSWER_TIMEOUT)).unwrap();
        answer
    }

    /// Says that nothing more will be sent.
    pub(crate) fn half_close(&self) {
        self.stream.shutdown(std::net::Shutdown::Write).unwrap();
    }
}

impl<S: Read + Write> RawClient<S> {
    pub(crate) fn over(stream: S) -> Self {
        Self { stream, received: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends as much as the service takes.
    pub(crate) fn send_some(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Reads one whole answer.
    pub(crate) fn answer(&mut self) -> ServiceAnswer {
        self.try_answer().expect("the service answers whole and in time")
    }

    /// Reads one whole answer, if there is one.
    pub(crate) fn try_answer(&mut self) -> Option<ServiceAnswer> {
        let head_end = self.read_until(|received| find(received, b"\r\n\r\n").map(|at| at + 4))?;
        let head = String::from_utf8(self.received.drain(..head_end).collect()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut answer = ServiceAnswer { status, headers, body: Vec::new() };
        answer.body = if answer.header("transfer-encoding") == Some("chunked") {
            self.chunked_body()?
        } else {
            let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
            self.read_until(|received| (received.len() >= length).then_some(length))?;
            self.received.drain(..length).collect()
        };
        Some(answer)
    }

    /// Reads, in any framing, until these bytes have come; returns all up to them.
    pub(crate) fn read_past(&mut self, wanted: &[u8]) -> String {
        let end = self.read_until(|received| find(received, wanted).map(|at| at + wanted.len()));
        let end = end.expect("the service says it");
        String::from_utf8(self.received.drain(..end).collect()).unwrap()
    }

    /// Returns `true` if the service ended the connection without another byte.
    pub(crate) fn is_ended(&mut self) -> bool {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(read) => read == 0 && self.received.is_empty(),
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    fn chunked_body(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line_end = self.read_until(|received| find(received, b"\r\n").map(|at| at + 2))?;
            let line = String::from_utf8(self.received.drain(..line_end).collect()).unwrap();
            let size = usize::from_str_radix(line.trim_end(), 16).unwrap();
            self.read_until(|received| (received.len() >= size + 2).then_some(()))?;
            body.extend(self.received.drain(..size + 2).take(size));
            if size == 0 {
                return Some(body);
            }
        }
    }

    /// `None` where the connection ends first.
    fn read_until<T>(&mut self, done: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        loop {
            if let Some(found) = done(&self.received) {
                return Some(found);
            }
            let mut bytes = [0; 64 * 1024];
            let read = self.stream.read(&mut bytes).ok().filter(|read| *read > 0)?;
            self.received.extend_from_slice(&bytes[..read]);
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// One answer.
#[derive(Debug)]
pub(crate) struct ServiceAnswer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl ServiceAnswer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    /// Checks that it is this typed problem, without side effects.
    pub(crate) fn expect_problem(self, status: u16, code: &str) -> Value {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{} {}",
            self.status,
            self.text()
        );
        let problem = self.json();
        assert_eq!((self.status, problem["code"].as_str()), (status, Some(code)), "{problem}");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["sideEffects"], "none", "{problem}");
        assert!(
            problem["detail"].is_string()
                && problem["retryable"].is_boolean()
                && problem["title"].is_string()
        );
        problem
    }
}

/// Waits for what takes a moment after its acknowledgement, at most twenty seconds.
pub(crate) fn wait_until(done: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never came");
}
