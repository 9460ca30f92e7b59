//! The lines of a read through the service, one stored event each.

use bitacora_client::Connection;
use memchr::memchr_iter;

use crate::error::CommandError;
use crate::ledger_access::line::{AnswerLine, read_line};
use crate::ledger_access::read_failure::ReadFailure;
use crate::terminal::output::printable;

/// The size limit of one line of an answer: an event of the largest size in base64, and its envelope.
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// A stored event, as its line.
pub struct LineEvent<'a> {
    /// The event's position, in decimal digits.
    pub position: &'a str,
    /// Set for an event whose data is erased.
    pub is_erased: bool,
    /// Set for an event whose content expired under a retention policy.
    pub is_expired: bool,
    /// Set for an event whose data cannot be decrypted, because its key is damaged.
    pub is_unreadable: bool,
    /// The line, with its line feed.
    pub line: &'a [u8],
}

/// A taker of lines.
pub trait LineSink {
    /// Takes one event in.
    fn line(&mut self, event: LineEvent<'_>) -> Result<(), CommandError>;

    /// Hands on what was taken in, while the service sends more.
    fn pause(&mut self) -> Result<(), CommandError>;
}

/// Gives each event of an answer to `sink`, up to the answer's end.
pub async fn each_line(
    client: &mut Connection,
    path: &str,
    sink: &mut impl LineSink,
) -> Result<(), CommandError> {
    let mut answer = client.get(path, "application/x-ndjson").await.map_err(ReadFailure::from)?;
    let mut last = "0".to_owned();
    let mut unread = Vec::new();
    loop {
        let piece = answer.next().await;
        let cut = || ReadFailure::Cut { position: last.clone() };
        let piece = piece.ok().flatten().ok_or_else(cut)?;
        unread.extend_from_slice(&piece);
        let mut used = 0;
        for end in memchr_iter(b'\n', &unread) {
            let line = unread.get(used..=end).unwrap_or_default();
            used = end + 1;
            match read_line(line) {
                Some(AnswerLine::Event { position, is_erased, is_expired, is_unreadable }) => {
                    sink.line(LineEvent { position: &position, is_erased, is_expired, is_unreadable, line })?;
                    last = position;
                }
                Some(AnswerLine::End { .. }) => return sink.pause(),
                Some(AnswerLine::Error { what, code }) => {
                    sink.pause()?;
                    let what = printable(&what);
                    return Err(ReadFailure::OnTheWay { what, position: last, code }.into());
                }
                None => return Err(ReadFailure::Client(client.strange()).into()),
            }
        }
        unread.drain(..used);
        if unread.len() > MAX_LINE_BYTES {
            return Err(ReadFailure::Client(client.strange()).into());
        }
        sink.pause()?;
    }
}
