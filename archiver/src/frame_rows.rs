//! A frame's body as rows of an archive, and back.

use bitacora_archive_format::ColumnRow;
use bitacora_formats::{BodyError, BodyWriter, FrameBody, Micros};

/// The reasons for which rows are not those of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameRowsError {
    /// The first row does not begin a frame, or a later one does.
    #[error("rows of more than one frame, or of less")]
    NotOneFrame,
    /// A row of the frame has another time than its first.
    #[error("rows of one frame with different times")]
    Times,
    /// The first row of a frame begins no request, or a submitted event follows a derived one of the same request.
    #[error(
        "rows that are no requests: a frame begins with one, and derived events follow the submitted ones"
    )]
    Requests,
    /// The rows hold more than a frame does.
    #[error(transparent)]
    Body(#[from] BodyError),
}

/// The events of a frame as rows, in order.
pub(crate) fn rows_of<'a>(time: Micros, body: &'a FrameBody<'a>) -> impl Iterator<Item = ColumnRow<'a>> {
    let of_requests = body.requests.iter().flat_map(|request| {
        request.entries.iter().zip(0_u32..).map(|(entry, index)| (entry, index, index >= request.submitted))
    });
    of_requests.zip(0_u32..).map(move |((entry, in_request, derived), in_frame)| ColumnRow {
        time,
        begins_frame: in_frame == 0,
        begins_request: in_request == 0,
        derived,
        stream_version: entry.stream_version,
        record: entry.record,
        part: entry.part,
    })
}

/// The body of the frame that these rows are, all of them.
///
/// # Errors
/// [`FrameRowsError`].
pub(crate) fn body_of(rows: &[ColumnRow<'_>]) -> Result<Vec<u8>, FrameRowsError> {
    let Some((first, rest)) = rows.split_first() else { return Err(FrameRowsError::NotOneFrame) };
    if !first.begins_frame || rest.iter().any(|row| row.begins_frame) {
        return Err(FrameRowsError::NotOneFrame);
    }
    if rest.iter().any(|row| row.time != first.time) {
        return Err(FrameRowsError::Times);
    }
    if !first.begins_request {
        return Err(FrameRowsError::Requests);
    }
    let bytes: usize = rows.iter().map(|row| row.record.len() + row.part.map_or(0, <[u8]>::len)).sum();
    let mut body = BodyWriter::with_capacity(bytes);
    for request in rows.chunk_by(|_, row| !row.begins_request) {
        let submitted = request.iter().take_while(|row| !row.derived).count();
        if request.iter().skip(submitted).any(|row| !row.derived) {
            return Err(FrameRowsError::Requests);
        }
        body.begin_request(u32::try_from(submitted).unwrap_or(u32::MAX))?;
        for row in request {
            body.entry(row.stream_version, row.record, row.part)?;
        }
        body.end_request()?;
    }
    Ok(body.finish()?)
}

#[cfg(test)]
mod tests {
    use bitacora_formats::{StreamVersion, decode_body};

    use super::*;

    /// Requests by how many entries were submitted and how many there are; every third has a part.
    fn body(requests: &[(u32, u32)]) -> Vec<u8> {
        let mut body = BodyWriter::new();
        let mut number = 0_u64;
        for (submitted, entries) in requests {
            body.begin_request(*submitted).unwrap();
            for _ in 0..*entries {
                number += 1;
                let record = format!("record {number}");
                let part = format!("part {number}");
                let part = number.is_multiple_of(3).then_some(part.as_bytes());
                body.entry(StreamVersion::new(number).unwrap(), record.as_bytes(), part).unwrap();
            }
            body.end_request().unwrap();
        }
        body.finish().unwrap()
    }

    #[test]
    fn a_body_becomes_rows_and_the_same_body_again() {
        for requests in [
            &[(1, 1)][..],
            &[(0, 1)],
            &[(0, 2), (3, 3)],
            &[(1, 3), (1, 1), (2, 5), (1, 2)],
            &[(1_000, 4_096)],
        ] {
            let bytes = body(requests);
            let entries = requests.iter().map(|(_, entries)| entries).sum();
            let decoded = decode_body(&bytes, entries).unwrap();
            let rows: Vec<_> = rows_of(Micros(7), &decoded).collect();
            assert_eq!(rows.len(), entries as usize);
            assert_eq!(rows.iter().filter(|row| row.begins_frame).count(), 1);
            assert_eq!(rows.iter().filter(|row| row.begins_request).count(), requests.len());
            assert!(rows.iter().all(|row| row.time == Micros(7)));
            assert_eq!(body_of(&rows).unwrap(), bytes, "{requests:?}");
        }
    }

    #[test]
    fn rows_that_are_no_frame_are_refused() {
        let bytes = body(&[(2, 3), (1, 1)]);
        let decoded = decode_body(&bytes, 4).unwrap();
        let rows: Vec<_> = rows_of(Micros(7), &decoded).collect();
        let changed = |change: &dyn Fn(&mut Vec<ColumnRow<'_>>)| {
            let mut rows = rows.clone();
            change(&mut rows);
            body_of(&rows).unwrap_err()
        };
        assert_eq!(changed(&|rows| rows.clear()), FrameRowsError::NotOneFrame);
        assert_eq!(changed(&|rows| rows.truncate(0)), FrameRowsError::NotOneFrame);
        assert_eq!(changed(&|rows| rows[0].begins_frame = false), FrameRowsError::NotOneFrame);
        assert_eq!(changed(&|rows| rows[3].begins_frame = true), FrameRowsError::NotOneFrame);
        assert_eq!(changed(&|rows| rows[2].time = Micros(8)), FrameRowsError::Times);
        assert_eq!(changed(&|rows| rows[0].begins_request = false), FrameRowsError::Requests);
        assert_eq!(changed(&|rows| rows[0].derived = true), FrameRowsError::Requests);
        let empty = changed(&|rows| rows[1].record = b"");
        assert_eq!(empty, FrameRowsError::Body(BodyError::RecordSize { bytes: 0 }));
        let crowded = changed(&|rows| {
            let row = ColumnRow { begins_request: false, ..rows[3] };
            rows.resize(4_200, row);
        });
        assert!(matches!(crowded, FrameRowsError::Body(BodyError::TooManyEntries { .. })), "{crowded}");
    }
}
