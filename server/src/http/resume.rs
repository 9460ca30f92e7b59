//! The place at which a follower goes on: the last id that it was given.

use axum::http::{HeaderMap, HeaderName};
use bitacora_formats::{After, LedgerId};

use crate::http::media::single_header;
use crate::problem::{Code, FaultLocation, Problem};

/// Names the ledger of an event stream, so that a client can say later which one its position is of.
pub(crate) const LEDGER_ID: HeaderName = HeaderName::from_static("ledger-id");
/// The header that browsers send when they come back.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The position after which a client goes on: `17`, or `<ledger id>:17`, which is refused by any other ledger.
///
/// A ledger of the same name may have taken another one's place, and then a bare position means something else.
pub(crate) fn last_event_id(headers: &HeaderMap, ledger: LedgerId) -> Result<Option<After>, Problem> {
    let Some(text) = single_header(headers, &LAST_EVENT_ID)? else { return Ok(None) };
    let bad = |fault: &str| {
        let fault = format!("{fault}; it is a position from 0, or <ledger id>:<position>");
        Problem::new(Code::BadPosition, format!("Last-Event-ID: {fault}"))
            .with_fault(FaultLocation::Header("Last-Event-ID"), fault)
    };
    let (named, position) = match text.split_once(':') {
        None => (None, text),
        Some((id, position)) => {
            (Some(id.parse::<LedgerId>().map_err(|error| bad(&error.to_string()))?), position)
        }
    };
    let position = position.parse().map_err(|_| bad("not a decimal number up to 2^64 - 1"))?;
    match named {
        Some(named) if named != ledger => {
            let detail = format!("Last-Event-ID is of ledger {named}, this is {ledger}; begin anew");
            Err(Problem::new(Code::OtherLedger, detail)
                .with_fault(FaultLocation::Header("Last-Event-ID"), "is of another ledger"))
        }
        _ => Ok(Some(position)),
    }
}
