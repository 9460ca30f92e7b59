//! Links that sign in: a program asks for one with its token, and its user opens it in a browser.

use std::time::Instant;

use bitacora_api::{ProblemAnswer, ProblemCode, SignInLink};
use http::request::Parts;
use http::{Extensions, Response, header};

use super::signing::identity;
use crate::console::Console;
use crate::form::query;
use crate::interface::{InterfaceClient, InterfaceError};
use crate::limits::LINK_LIFE;
use crate::page_error::PageError;
use crate::response::{ConsoleBody, text_response};

/// The page of signing in.
const SIGN_IN: &str = "/console/sign-in";
/// The page that a viewer comes to whom the service lets in without a token.
const HOME: &str = "/console";
/// The media type of a refusal.
const PROBLEM: &str = "application/problem+json";

impl Console {
    /// Makes a link for the holder of a token. Where the service lets callers in without one, the link has no code.
    pub(crate) async fn link(
        &self,
        token: Option<&str>,
        extensions: Extensions,
    ) -> Result<SignInLink, PageError> {
        let interface = InterfaceClient::new(self.interface.clone(), token, extensions);
        let holder = identity(&interface).await?;
        let (path, seconds) = match token {
            Some(token) => {
                let code = self.links.make(token, Instant::now())?;
                let code = query([("code", code.as_str())].into_iter());
                (format!("{SIGN_IN}{code}"), LINK_LIFE.as_secs())
            }
            None => (HOME.to_owned(), 0),
        };
        Ok(SignInLink { path, actor: holder.actor, role: holder.role, seconds })
    }
}

/// Makes a link for the holder of the token in the header `Authorization`, which no browser sends by itself. Refusals are problem
/// documents, as those of the interface.
pub(super) async fn make(console: &Console, parts: &Parts) -> Response<ConsoleBody> {
    let field = parts.headers.get(header::AUTHORIZATION).and_then(|field| field.to_str().ok());
    let token = field.and_then(|field| field.strip_prefix("Bearer ")).map(str::trim);
    let made = console.link(token, parts.extensions.clone()).await;
    let written = made.and_then(|link| {
        serde_json::to_string(&link).map_err(|error| InterfaceError::Unreadable(error.to_string()).into())
    });
    match written {
        Ok(json) => text_response(http::StatusCode::OK, "application/json", json),
        Err(error) => refusal(error),
    }
}

fn refusal(error: PageError) -> Response<ConsoleBody> {
    let (status, detail) = (error.status(), error.to_string());
    let problem = match error {
        PageError::Interface(InterfaceError::Refused(problem)) => *problem,
        PageError::NoSuchPage => {
            problem(ProblemCode::LedgerNotFound, "no ledger is open to this token".to_owned())
        }
        _ => problem(ProblemCode::Internal, detail),
    };
    text_response(status, PROBLEM, serde_json::to_string(&problem).unwrap_or_default())
}

fn problem(code: ProblemCode, detail: String) -> ProblemAnswer {
    let facts = code.facts();
    ProblemAnswer {
        r#type: format!("urn:bitacora:problem:{}", facts.name),
        title: facts.title.to_owned(),
        status: facts.status,
        detail,
        code: facts.name.to_owned(),
        retryable: facts.retryable,
        side_effects: facts.side_effects.as_str().to_owned(),
        needs: None,
        expected: None,
        actual: None,
        position: None,
        tip: None,
        first: None,
        last: None,
        errors: Vec::new(),
    }
}
