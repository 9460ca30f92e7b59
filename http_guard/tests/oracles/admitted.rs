//! The whole requests that the guard admits of a connection.

use bitacora_http_guard::{RequestFraming, RequestPart};

/// The admitted bytes, as far as they are whole requests.
pub(crate) struct Admitted {
    /// The whole requests, as they came.
    pub(crate) requests: Vec<RawRequest>,
    /// `true` if all bytes of the connection are in them.
    pub(crate) is_all: bool,
}

/// One request, in the two parts that the guard tells apart.
pub(crate) struct RawRequest {
    pub(crate) head: Vec<u8>,
    /// With chunk sizes and trailer, where there are any.
    pub(crate) body: Vec<u8>,
}

impl Admitted {
    /// Presents a connection byte by byte, so that no call admits bytes of two parts.
    pub(crate) fn of(connection: &[u8]) -> Self {
        let mut framing = RequestFraming::new();
        let (mut taken, mut seen) = (0, 0);
        let mut whole: Vec<RawRequest> = Vec::new();
        let mut present: Option<RawRequest> = None;
        'connection: while seen < connection.len() {
            seen += 1;
            loop {
                let heads = framing.heads();
                let Ok(bytes) = framing.admit(&connection[taken..seen]) else { break 'connection };
                if bytes == 0 {
                    break;
                }
                let admitted = connection[taken..taken + bytes].to_vec();
                taken += bytes;
                match &mut present {
                    Some(request) if heads == framing.heads() => request.body.extend(admitted),
                    _ => present = Some(RawRequest { head: admitted, body: Vec::new() }),
                }
                if framing.awaited() == RequestPart::Head {
                    whole.extend(present.take());
                }
            }
        }
        let is_all = taken == connection.len() && present.is_none();
        Self { requests: whole, is_all }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.requests.iter().flat_map(|request| [&request.head[..], &request.body].concat()).collect()
    }
}
