//! Evidence bundles: chosen and downloaded here.

use bitacora_api::{HeadAnswer, paths};
use http::{HeaderValue, Method, Response, header};
use maud::{Markup, html};

use crate::command_line::CommandLine;
use crate::components::{filter_field, quoted};
use crate::form::query;
use crate::page_error::PageError;
use crate::response::{ConsoleBody, unknown_body};
use crate::visit::Visit;

/// The media type of a bundle.
const TAR: &str = "application/x-tar";
/// The fields that choose events by something else than time.
const FIELDS: [&str; 4] = ["after", "until", "session", "run"];
/// The fields of times.
const TIMES: [&str; 2] = ["since", "before"];

/// Passes a bundle on as it comes.
pub(crate) async fn download(visit: &Visit) -> Result<Response<ConsoleBody>, PageError> {
    let mut asked: Vec<(&str, String)> = Vec::new();
    for name in FIELDS {
        asked.extend(visit.query.exact(name).map(|value| (name, value.to_owned())));
    }
    for name in TIMES {
        let Some(told) = visit.query.get(name) else { continue };
        let time = visit.zone.instant(told).ok_or_else(|| {
            PageError::Field(format!(
                "{} is no time; write one as 2026-11-27 14:00, or with its zone as 2026-11-27T14:00:00Z",
                quoted(told)
            ))
        })?;
        asked.push((name, time));
    }
    let query = query(asked.iter().map(|(name, value)| (*name, value.as_str())));
    let method = if visit.is_head { Method::HEAD } else { Method::GET };
    let upstream = visit.interface.open(method, &visit.api(paths::EVIDENCE, &[], &query), TAR).await?;
    let (parts, body) = upstream.into_parts();
    let mut response = Response::new(if visit.is_head { unknown_body() } else { body });
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(TAR));
    for name in [header::CONTENT_DISPOSITION, header::CONTENT_LENGTH] {
        if let Some(value) = parts.headers.get(&name) {
            headers.insert(name, value.clone());
        }
    }
    Ok(response)
}

/// The form that chooses the events.
pub(super) fn section(visit: &Visit, head: &HeadAnswer) -> Markup {
    let zone = &visit.zone.name;
    let prove = CommandLine::new(visit, &format!("prove --range 1-{} --out evidence.tar", head.position));
    html! {
        section #bundle.sheet {
            h2 { "Evidence bundle" }
            p { "One file for somebody who has nothing of this ledger: events, their proofs, signed tree heads, a manifest, a verifier, and a page that says how to check it offline." }
            form.fields method="get" action=(visit.page(&["evidence", "bundle"])) {
                (filter_field(visit, "since", &format!("From ({zone})")))
                (filter_field(visit, "before", &format!("Until before ({zone})")))
                (filter_field(visit, "session", "Session"))
                (filter_field(visit, "run", "Run"))
                label { "Past position " input name="after" inputmode="numeric" pattern="[0-9]*" placeholder="0"; }
                label { "Up to position " input name="until" inputmode="numeric" pattern="[0-9]*" placeholder=(head.position); }
                button { "Download" }
            }
            p.note { "Without any field it is everything that the last signed head covers. A bundle has at most 50,000 events and 64 MiB. It has the events in clear, so keep it as carefully as them." }
            p.note { "On a terminal: " code { (prove.line()) } }
        }
    }
}
