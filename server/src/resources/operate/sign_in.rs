//! `/`: leads people who open the service in a browser to the console. A service without pages says what it is.
//!
//! The page is static, and the same for everybody. Its policy lets nothing in but its own style, by its hash.

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bitacora_api::paths;
use sha2::{Digest as _, Sha256};

use crate::api::Api;
use crate::pages::PAGES;

const PAGE: &str = include_str!("sign_in/page.html");
const STYLE: &str = include_str!("sign_in/page.css");

/// The page with its style, and the policy that lets it in.
struct FirstPage {
    html: String,
    policy: HeaderValue,
}

#[utoipa::path(get, path = paths::SIGN_IN, tag = "operation", operation_id = "signIn", security(()),
    responses((status = 200, description = "What the service is, where it serves no pages", body = String, content_type = "text/html"),
        (status = 303, description = "The console, where people sign in")))]
pub(crate) async fn page(State(api): State<Arc<Api>>) -> Response {
    static PAGE: LazyLock<FirstPage> = LazyLock::new(FirstPage::new);
    let mut headers = HeaderMap::new();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if api.has_pages() {
        headers.insert(header::LOCATION, HeaderValue::from_static(PAGES));
        return (StatusCode::SEE_OTHER, headers).into_response();
    }
    let fixed = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    headers.extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
    headers.insert(header::CONTENT_SECURITY_POLICY, PAGE.policy.clone());
    (headers, PAGE.html.as_str()).into_response()
}

impl FirstPage {
    fn new() -> Self {
        let style = STANDARD.encode(Sha256::digest(STYLE));
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        let none = HeaderValue::from_static("default-src 'none'");
        Self { html: PAGE.replace("{style}", STYLE), policy: HeaderValue::try_from(policy).unwrap_or(none) }
    }
}
