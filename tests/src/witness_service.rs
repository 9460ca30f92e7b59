//! A [`TestWitness`] over HTTP on a loopback address, for a real program to ask.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use bitacora_formats::limits::MAX_ADD_CHECKPOINT_BYTES;

use crate::witness::{TestWitness, WitnessAnswer, WitnessBehavior};

/// The time that a witness takes that is [`WitnessBehavior::Slow`]: longer than anybody waits.
const SLOWNESS: Duration = Duration::from_secs(20);
/// The time that a connection may say nothing.
const PATIENCE: Duration = Duration::from_secs(30);
/// The submission prefix's path.
const PREFIX: &str = "/witness";

/// A witness that listens. Dropping it ends that; what it has cosigned stays with the [`TestWitness`].
#[derive(Debug)]
pub struct WitnessService {
    address: SocketAddr,
    is_ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl WitnessService {
    /// Listens on a free port of the loopback address.
    pub fn start(witness: &TestWitness) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let is_ending = Arc::new(AtomicBool::new(false));
        let (witness, ending) = (witness.clone(), Arc::clone(&is_ending));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ending.load(Ordering::SeqCst) {
                    return;
                }
                let witness = witness.clone();
                // A connection that breaks off is the asker's matter.
                std::thread::spawn(move || stream.and_then(|stream| serve(&witness, &stream)));
            }
        });
        Ok(Self { address, is_ending, thread: Some(thread) })
    }

    /// Its submission prefix.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{PREFIX}", self.address)
    }
}

impl Drop for WitnessService {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::SeqCst);
        // Wakes it, so that it sees that it ends.
        let is_awake = TcpStream::connect(self.address).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| is_awake) {
            let _has_ended = thread.join().is_ok();
        }
    }
}

/// One request and its answer.
fn serve(witness: &TestWitness, stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    if witness.behavior() == WitnessBehavior::Unreachable {
        return Ok(());
    }
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let is_right = line == format!("POST {PREFIX}/add-checkpoint HTTP/1.1\r\n");
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let header = line.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
        }
    }
    if length > MAX_ADD_CHECKPOINT_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let behavior = witness.behavior();
    if behavior == WitnessBehavior::Slow {
        std::thread::sleep(SLOWNESS);
        return Ok(());
    }
    let answer = match String::from_utf8(body) {
        Ok(body) if is_right => witness.answer(&body),
        _ => WitnessAnswer { status: 400, content_type: "text/plain", body: "no request\n".to_owned() },
    };
    if behavior == WitnessBehavior::Forgetful {
        return Ok(());
    }
    let WitnessAnswer { status, content_type, body } = answer;
    let head = format!(
        "HTTP/1.1 {status} Said\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = stream;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}
