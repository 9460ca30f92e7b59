//! Any bytes are a frame's body or a typed error, and a body has one encoding.
#![no_main]

use bitacora_formats::{BodyError, BodyWriter, FrameBody, decode_body};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The number of entries stands in the frame's header; without one, the first answer gives it.
    match decode_body(bytes, 0) {
        Ok(body) => assert!(body.requests.is_empty() && bytes.is_empty()),
        Err(error @ BodyError::Entries { found, .. }) => {
            assert_one_line(&error);
            let body = decode_body(bytes, found).unwrap();
            assert_eq!(body.entries().count(), usize::try_from(found).unwrap());
            assert_eq!(encoded(&body), Ok(bytes.to_vec()));
        }
        Err(error) => {
            assert_one_line(&error);
            assert_eq!(decode_body(bytes, 1), Err(error), "the count is compared last");
        }
    }
});

fn encoded(body: &FrameBody<'_>) -> Result<Vec<u8>, BodyError> {
    let mut writer = BodyWriter::new();
    for request in &body.requests {
        writer.begin_request(request.submitted)?;
        for entry in &request.entries {
            writer.entry(entry.stream_version, entry.record, entry.part)?;
        }
        writer.end_request()?;
    }
    writer.finish()
}
