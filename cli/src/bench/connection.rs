//! One HTTP/1.1 connection of the load: it costs as little as it can, for it shares its cores with the service.
//!
//! A request is bytes made beforehand, one write. Of an answer its status and its length are read, no more.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What is read at once.
const BUFFER_BYTES: usize = 64 * 1024;
/// Bytes of an answer's head at most; the service's own are far shorter.
const MAX_HEAD_BYTES: usize = 16 * 1024;
const HEAD_END: &[u8] = b"\r\n\r\n";
/// As the service writes it.
const LENGTH_FIELD: &[u8] = b"\r\ncontent-length: ";
/// `HTTP/1.1 201 `
const STATUS_AT: std::ops::Range<usize> = 9..12;

/// A connection that asks one thing after another.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// What is looked at of an answer.
pub(super) struct Answer {
    pub(super) status: u16,
    /// The body's first bytes, for whoever wants to know why not.
    pub(super) start: Vec<u8>,
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; BUFFER_BYTES] })
    }

    /// Sends the request and takes its whole answer; the body must come with its length.
    pub(super) async fn ask(&mut self, request: &[u8]) -> io::Result<Answer> {
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
        let mut missing = body_bytes.checked_sub(rest.len()).ok_or_else(|| strange("more than it said"))?;
        while missing > 0 {
            let room = self.buffer.len().min(missing);
            let more = self.stream.read(self.buffer.get_mut(..room).unwrap_or_default()).await?;
            if more == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            missing -= more;
        }
        Ok(Answer { status, start })
    }
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
