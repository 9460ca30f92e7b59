//! `/`: the sign-in page, for people who open the service in a browser.
//! It says what the service is, takes a token, and lists the ledgers.
//!
//! The page is static, and the same for everybody. Its policy lets nothing in but its own style and script, by their hashes, and
//! lets it talk to this service alone.

use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::IntoResponse;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bitacora_api::paths;
use sha2::{Digest as _, Sha256};

const PAGE: &str = include_str!("sign_in/page.html");
const STYLE: &str = include_str!("sign_in/page.css");
const SCRIPT: &str = include_str!("sign_in/page.js");

/// The page with its style and script, and the policy that lets these two in.
struct SignInPage {
    html: String,
    policy: HeaderValue,
}

#[utoipa::path(get, path = paths::SIGN_IN, tag = "operation", operation_id = "signIn", security(()),
    responses((status = 200, description = "The sign-in page", body = String, content_type = "text/html")))]
pub(crate) async fn page() -> impl IntoResponse {
    static PAGE: LazyLock<SignInPage> = LazyLock::new(SignInPage::new);
    let mut headers = HeaderMap::new();
    let fixed = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    headers.extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
    headers.insert(header::CONTENT_SECURITY_POLICY, PAGE.policy.clone());
    (headers, PAGE.html.as_str())
}

impl SignInPage {
    fn new() -> Self {
        let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'",
            hash(SCRIPT),
            hash(STYLE)
        );
        let none = HeaderValue::from_static("default-src 'none'");
        Self {
            html: PAGE.replace("{style}", STYLE).replace("{script}", SCRIPT),
            policy: HeaderValue::try_from(policy).unwrap_or(none),
        }
    }
}
