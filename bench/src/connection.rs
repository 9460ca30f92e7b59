//! A cheap HTTP/1.1 connection for the load, which shares its cores with the service.
//!
//! A request is prepared bytes, sent in one write. Of an answer only its status and its length are read.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::service::ServiceProcess;
use super::stop::{LOOK_EVERY, StopSignal};

/// The size of one read.
const BUFFER_BYTES: usize = 64 * 1024;
/// The size limit of an answer's head; the service's own are far shorter.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// The size of one read of lines, and of the kept end.
const LINES_BUFFER_BYTES: usize = 256 * 1024;
const TAIL_BYTES: usize = 4 * 1024;
/// The size limit of a small answer.
const MAX_SMALL_BYTES: u64 = 1024 * 1024;
/// The timeout between two pieces of an answer to a read.
const READ_PATIENCE: Duration = Duration::from_secs(120);
/// The beginning of the last line. No event can hold it, since a quote in it would be escaped.
const END_COUNT: &[u8] = b"{\"end\":{\"count\":";
const HEAD_END: &[u8] = b"\r\n\r\n";
/// The length field, as the service writes it.
const LENGTH_FIELD: &[u8] = b"\r\ncontent-length: ";
/// The place of the status in `HTTP/1.1 201 `.
const STATUS_AT: std::ops::Range<usize> = 9..12;

/// A connection for one request after another.
pub(super) struct HttpConnection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// The number of bytes of the buffer that begin the latest answer.
    heard: usize,
}

/// The needed part of an answer.
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    /// The body's first bytes, for error messages.
    pub(super) start: Vec<u8>,
}

impl HttpConnection {
    pub(super) async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; BUFFER_BYTES], heard: 0 })
    }

    /// Sends the request and reads its whole answer; the body must come with its length.
    pub(super) async fn ask(&mut self, request: &[u8]) -> io::Result<HttpAnswer> {
        self.stream.write_all(request).await?;
        let mut read = 0;
        let head = loop {
            if read >= MAX_HEAD_BYTES {
                return Err(strange("an answer whose head does not end"));
            }
            let room = self.buffer.get_mut(read..).unwrap_or_default();
            let more = self.stream.read(room).await?;
            if more == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            read += more;
            let known = self.buffer.get(..read).unwrap_or_default();
            if let Some(end) = find(known, HEAD_END) {
                break end;
            }
        };
        let (head, rest) = self.buffer.get(..read).unwrap_or_default().split_at(head + HEAD_END.len());
        let (status, body_bytes) = read_head(head)?;
        // Answers that say why not are short: their start is all of them.
        let start = if status < 300 { Vec::new() } else { rest.to_vec() };
        self.heard = read;
        let mut missing = body_bytes.checked_sub(rest.len()).ok_or_else(|| strange("more than it said"))?;
        while missing > 0 {
            self.heard = 0;
            let room = self.buffer.len().min(missing);
            let more = self.stream.read(self.buffer.get_mut(..room).unwrap_or_default()).await?;
            if more == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            missing -= more;
        }
        Ok(HttpAnswer { status, start })
    }

    /// Returns `true` if the latest answer holds this text. That is known only of an answer that came in one piece.
    pub(super) fn has_heard(&self, text: &[u8]) -> bool {
        self.buffer.get(..self.heard).is_some_and(|answer| find(answer, text).is_some())
    }
}

/// Asks for lines and discards them; returns the number of events that the last line names.
pub(super) fn ask_for_lines(service: &ServiceProcess, path: &str, stop: &StopSignal) -> io::Result<u64> {
    let mut stream = ask_once(service, path, "application/x-ndjson")?;
    let (mut buffer, mut tail) = (vec![0; LINES_BUFFER_BYTES], Vec::new());
    stream.set_read_timeout(Some(LOOK_EVERY))?;
    let mut heard = Instant::now();
    loop {
        if stop.is_set() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let read = match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if is_pause(&error) && heard.elapsed() < READ_PATIENCE => continue,
            Err(error) => return Err(error),
        };
        heard = Instant::now();
        let kept = buffer.get(..read).unwrap_or_default();
        tail.extend_from_slice(kept.get(kept.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default());
        tail.drain(..tail.len().saturating_sub(TAIL_BYTES));
    }
    let count = find(&tail, END_COUNT).and_then(|at| {
        let digits = tail.get(at + END_COUNT.len()..)?;
        let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
        number(digits.get(..end)?)
    });
    count.map(|count| count as u64).ok_or_else(|| strange("lines without an end"))
}

/// Returns `true` for the timeout of a read.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Asks for a small JSON answer; `None` where the resource does not exist.
pub(super) fn get(service: &ServiceProcess, path: &str) -> io::Result<Option<Value>> {
    let mut answer = Vec::new();
    ask_once(service, path, "application/json")?.take(MAX_SMALL_BYTES).read_to_end(&mut answer)?;
    let body = find(&answer, HEAD_END).and_then(|at| answer.split_at_checked(at + HEAD_END.len()));
    let (head, body) = body.ok_or_else(|| strange("an answer whose head does not end"))?;
    match head.get(STATUS_AT) {
        Some(b"200") => Ok(serde_json::from_slice(body).map(Some)?),
        Some(b"404") => Ok(None),
        _ => Err(strange("neither an answer nor that there is none")),
    }
}

/// Sends a request on a separate connection, which the service closes behind its answer.
fn ask_once(service: &ServiceProcess, path: &str, accept: &str) -> io::Result<std::net::TcpStream> {
    let mut stream = std::net::TcpStream::connect(service.address)?;
    stream.set_read_timeout(Some(READ_PATIENCE))?;
    let authorization = &service.authorization;
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{authorization}accept: {accept}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    Ok(stream)
}

fn read_head(head: &[u8]) -> io::Result<(u16, usize)> {
    let status = head.get(STATUS_AT).and_then(number).ok_or_else(|| strange("an answer without a status"))?;
    let length = find(head, LENGTH_FIELD).and_then(|at| {
        let value = head.get(at + LENGTH_FIELD.len()..)?;
        number(value.get(..find(value, b"\r")?)?)
    });
    let length = length.ok_or_else(|| strange("an answer without its length"))?;
    Ok((u16::try_from(status).unwrap_or_default(), length))
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn find(within: &[u8], what: &[u8]) -> Option<usize> {
    within.windows(what.len()).position(|window| window == what)
}

fn strange(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_and_length_are_read_from_the_head() {
        let head = b"HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 1234\r\n\r\n";
        assert_eq!(read_head(head).unwrap(), (201, 1_234));
        for head in
            [&b"HTTP/1.1"[..], b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 xyz\r\ncontent-length: 1\r\n\r\n"]
        {
            assert!(read_head(head).is_err());
        }
    }
}
