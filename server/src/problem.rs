//! Problems as the service makes them; a problem becomes a document of the interface, and an answer.

use std::fmt::Display;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bitacora_api::{FaultAnswer, ProblemAnswer};
use bitacora_formats::LedgerName;

pub(crate) use bitacora_api::{ProblemCode as Code, SideEffects};

/// One fault inside a request, by its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestFault {
    pub(crate) place: FaultLocation,
    pub(crate) detail: String,
}

/// The place of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FaultLocation {
    /// A value by its JSON pointer (RFC 6901), in NDJSON within the line, from 1.
    Body {
        line: Option<usize>,
        pointer: String,
    },
    Parameter(String),
    Header(&'static str),
    /// Not in the request at all: in a ledger.
    Ledger(LedgerName),
}

/// One error, as it is answered.
#[derive(Debug)]
pub(crate) struct Problem {
    code: Code,
    detail: String,
    faults: Vec<RequestFault>,
    members: Vec<(&'static str, String)>,
    retry_after_s: Option<u32>,
    side_effects: Option<SideEffects>,
    closes: bool,
}

/// The most characters of a name in a detail.
const SHOWN_CHARS: usize = 64;

/// Returns a name that somebody chose, for a detail: between backticks, with none in it, so that readers see where it ends.
pub(crate) fn quoted(name: &str) -> String {
    let shown = name.chars().filter(|character| !character.is_control()).take(SHOWN_CHARS);
    let shown: String = shown.map(|character| if character == '`' { '\'' } else { character }).collect();
    format!("`{shown}`")
}

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            faults: Vec::new(),
            members: Vec::new(),
            retry_after_s: None,
            side_effects: None,
            closes: false,
        }
    }

    /// Returns `true` if it has this code.
    pub(crate) fn is(&self, code: Code) -> bool {
        self.code == code
    }

    #[cfg(test)]
    pub(crate) fn code(&self) -> Code {
        self.code
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns a member of the problem document.
    pub(crate) fn member(&self, name: &str) -> Option<&str> {
        self.members.iter().find(|(member, _)| *member == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn with_fault(mut self, place: FaultLocation, detail: impl Into<String>) -> Self {
        self.faults.push(RequestFault { place, detail: detail.into() });
        self
    }

    /// Adds a member of the problem document, such as `position`; numbers past 2^53 are the reason it is a string.
    /// The document has to know it.
    pub(crate) fn with(mut self, member: &'static str, value: impl Display) -> Self {
        self.members.push((member, format!("{value}")));
        self
    }

    pub(crate) fn with_retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// For an error whose effects are known better than its code says.
    pub(crate) fn with_side_effects(mut self, side_effects: SideEffects) -> Self {
        self.side_effects = Some(side_effects);
        self
    }

    /// For an error about one event of many lines: its fault stands in this line.
    pub(crate) fn at_line(mut self, number: u64) -> Self {
        let number = usize::try_from(number).ok();
        for fault in &mut self.faults {
            if let FaultLocation::Body { line, pointer } = &mut fault.place {
                *line = number;
                // A first step that is a number is the event among those of the request, which is the line now.
                let after_first =
                    pointer.get(1..).unwrap_or_default().find('/').map_or(pointer.len(), |at| at + 1);
                if pointer.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
                    pointer.replace_range(..after_first, "");
                }
            }
        }
        if self.faults.is_empty() {
            let place = FaultLocation::Body { line: number, pointer: String::new() };
            self.faults.push(RequestFault { place, detail: self.detail.clone() });
        }
        self
    }

    /// Returns `true` if the effect of the request is not known.
    pub(crate) fn is_unknown(&self) -> bool {
        self.side_effects.unwrap_or(self.code.facts().side_effects) == SideEffects::Unknown
    }

    /// The connection ends with this answer.
    pub(crate) fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    /// Returns the document of the interface.
    pub(crate) fn document(&self) -> ProblemAnswer {
        let facts = self.code.facts();
        let member = |name| self.member(name).map(str::to_owned);
        ProblemAnswer {
            r#type: format!("urn:bitacora:problem:{}", facts.name),
            title: facts.title.to_owned(),
            status: facts.status,
            detail: self.detail.clone(),
            code: facts.name.to_owned(),
            retryable: facts.retryable,
            side_effects: self.side_effects.unwrap_or(facts.side_effects).as_str().to_owned(),
            needs: member("needs"),
            expected: member("expected"),
            actual: member("actual"),
            position: member("position"),
            tip: member("tip"),
            first: member("first"),
            last: member("last"),
            errors: self.faults.iter().map(RequestFault::document).collect(),
        }
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        // Its members are texts, numbers and lists of them: none fails to be written.
        serde_json::to_vec(&self.document()).unwrap_or_default()
    }
}

impl RequestFault {
    fn document(&self) -> FaultAnswer {
        let mut answer = FaultAnswer { detail: self.detail.clone(), ..FaultAnswer::default() };
        match &self.place {
            FaultLocation::Body { line, pointer } => {
                (answer.line, answer.pointer) = (*line, Some(pointer.clone()));
            }
            FaultLocation::Parameter(parameter) => answer.parameter = Some(parameter.clone()),
            FaultLocation::Header(header) => answer.header = Some((*header).to_owned()),
            FaultLocation::Ledger(name) => answer.ledger = Some(name.to_string()),
        }
        answer
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let facts = self.code.facts();
        let mut response = Response::new(Body::from(self.to_json()));
        *response.status_mut() =
            StatusCode::from_u16(facts.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.code == Code::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"bitacora\""));
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.closes {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_a_json_document_whatever_its_texts_hold() {
        let problem = Problem::new(Code::NotJson, "a \"quote\"\nand \u{1}")
            .with("position", u64::MAX)
            .with_fault(FaultLocation::Body { line: Some(3), pointer: "/0/a~1b".to_owned() }, "bad");
        let json: serde_json::Value = serde_json::from_slice(&problem.to_json()).unwrap();
        assert_eq!(json["detail"], "a \"quote\"\nand \u{1}");
        assert_eq!(json["position"], "18446744073709551615");
        assert_eq!(json["errors"][0], serde_json::json!({"line": 3, "pointer": "/0/a~1b", "detail": "bad"}));
        assert_eq!((json["status"].as_u64(), json["sideEffects"].as_str()), (Some(400), Some("none")));
    }
    #[test]
    fn every_member_of_a_problem_is_in_its_document() {
        let members = ["needs", "expected", "actual", "position", "tip", "first", "last"];
        let problem = members
            .into_iter()
            .fold(Problem::new(Code::NotFound, "x"), |problem, member| problem.with(member, member));
        let json: serde_json::Value = serde_json::from_slice(&problem.to_json()).unwrap();
        for member in members {
            assert_eq!(json[member], member);
        }
    }
}
