//! A small blocking HTTP/1.1 client over one kept connection, for tests that talk to a real process.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The longest a test waits for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection.
#[derive(Debug)]
pub struct HttpClient {
    reader: BufReader<TcpStream>,
}

/// An HTTP answer.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// The status code.
    pub status: u16,
    /// The whole body.
    pub body: Vec<u8>,
}

impl HttpClient {
    /// Connects, or says why not.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { reader: BufReader::new(stream) })
    }

    /// Posts a body and waits for the answer.
    pub fn post(&mut self, path: &str, content_type: &str, body: &[u8]) -> io::Result<HttpAnswer> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.exchange(&[head.as_bytes(), body].concat())
    }

    /// Gets a resource as this media type.
    pub fn get(&mut self, path: &str, accept: &str) -> io::Result<HttpAnswer> {
        self.exchange(
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n").as_bytes(),
        )
    }

    fn exchange(&mut self, request: &[u8]) -> io::Result<HttpAnswer> {
        self.reader.get_mut().write_all(request)?;
        let status = self.line()?;
        let status =
            status.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
        let (mut length, mut chunked) = (0, false);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
            }
            chunked |= line.starts_with("transfer-encoding:") && line.ends_with("chunked");
        }
        let body = if chunked { self.chunks()? } else { self.exactly(length)? };
        Ok(HttpAnswer { status, body })
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.trim_end_matches(['\r', '\n']).len());
        Ok(line)
    }

    fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body)?;
        Ok(body)
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size = self.line()?;
            let size = usize::from_str_radix(&size, 16).map_err(|_| io::ErrorKind::InvalidData)?;
            body.extend(self.exactly(size)?);
            self.line()?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
}
