//! The fuzz target of the guard: any bytes are judged alike however they are cut. A second parser, without the guard's rules, reads
//! each admitted head as one whole request, with at most one length.
#![no_main]

use bitacora_http_guard::{FramingError, MAX_HEAD_BYTES, MAX_HEADERS, RequestFraming, RequestPart};
use libfuzzer_sys::fuzz_target;

/// The end of a judgement: the heads, the bytes that were admitted, what is due, and the error.
type Judgement = (u64, usize, RequestPart, Option<FramingError>);

fuzz_target!(|input: &[u8]| {
    let Some((step, bytes)) = input.split_first() else { return };
    let at_once = judge(bytes, bytes.len(), &mut |_| ());
    let byte_by_byte = judge(bytes, 1, &mut assert_is_a_head);
    assert_eq!(at_once, byte_by_byte);
    assert_eq!(at_once, judge(bytes, usize::from(*step).max(2), &mut |_| ()));
    let (_, admitted, _, error) = at_once;
    assert!(admitted == bytes.len() || error.is_some() || bytes.len() - admitted < MAX_HEAD_BYTES);
    if let Some(error) = error {
        let message = error.to_string();
        assert!(!message.is_empty() && !message.contains(['\n', '\r']), "{message:?}");
    }
});

fn judge(bytes: &[u8], piece: usize, on_head: &mut dyn FnMut(&[u8])) -> Judgement {
    let mut framing = RequestFraming::new();
    let (mut taken, mut seen) = (0, 0);
    while seen < bytes.len() {
        seen = (seen + piece).min(bytes.len());
        loop {
            let heads = framing.heads();
            match framing.admit(&bytes[taken..seen]) {
                Ok(0) => break,
                Ok(admitted) => {
                    if framing.heads() > heads {
                        on_head(&bytes[taken..taken + admitted]);
                    }
                    taken += admitted;
                }
                Err(error) => return (framing.heads(), taken, framing.awaited(), Some(error)),
            }
        }
    }
    (framing.heads(), taken, framing.awaited(), None)
}

/// Byte by byte, what is admitted with a head is that head alone.
fn assert_is_a_head(head: &[u8]) {
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut fields);
    assert_eq!(request.parse(head), Ok(httparse::Status::Complete(head.len())));
    let lengths = request.headers.iter().filter(|field| {
        field.name.eq_ignore_ascii_case("content-length")
            || field.name.eq_ignore_ascii_case("transfer-encoding")
    });
    assert!(lengths.count() <= 1);
    assert!(head.ends_with(b"\r\n\r\n") && head.windows(4).filter(|end| *end == b"\r\n\r\n").count() == 1);
}
