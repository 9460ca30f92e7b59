//! The webhook that notices go to: requests signed as <https://www.standardwebhooks.com> says.

use std::fmt;
use std::io;
use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bitacora_formats::{Micros, format_time};
use hmac::{Hmac, KeyInit, Mac};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Url};
use sha2::Sha256;

use crate::http::outgoing;
use crate::json::JsonWriter;
use crate::limits::{NOTICE_CONNECT_DEADLINE, NOTICE_DEADLINE};
use crate::metrics::Metrics;

/// The prefix of a secret.
const SECRET_PREFIX: &str = "whsec_";
/// Bytes of a secret, from so many to so many.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
const MICROS_A_SECOND: u64 = 1_000_000;

/// The receiver of notices, and the secret that the requests are signed with.
#[derive(Clone)]
pub struct NoticeTarget {
    url: Url,
    secret: Vec<u8>,
    client: Client,
}

impl fmt::Debug for NoticeTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoticeTarget").field("url", &self.url.host_str()).finish_non_exhaustive()
    }
}

/// The reason for which no notice can be sent.
#[derive(Debug, thiserror::Error)]
pub enum NoticeTargetError {
    /// The address is none. It is not shown: many hold a secret.
    #[error("found another address of notices, expected one that begins with 'http://' or 'https://'")]
    Url,
    /// The secret is none.
    #[error(
        "the secret of notices is '{SECRET_PREFIX}' and the base64 of {} to {} random bytes",
        SECRET_BYTES.start(),
        SECRET_BYTES.end()
    )]
    Secret,
    /// No connections can be made.
    #[error("connections for notices cannot be made: {0}; the service did not start")]
    Client(reqwest::Error),
}

impl NoticeTarget {
    /// Notices go to `url`, signed with `secret`: `whsec_` and the base64 of 24 to 64 bytes.
    ///
    /// # Errors
    /// A [`NoticeTargetError`]; never with anything of the secret in it.
    pub fn new(url: &str, secret: &str) -> Result<Self, NoticeTargetError> {
        let parsed = Url::parse(url).ok().filter(outgoing::is_web_address);
        let parsed = parsed.ok_or(NoticeTargetError::Url)?;
        let secret = secret.trim().strip_prefix(SECRET_PREFIX).and_then(|text| BASE64.decode(text).ok());
        let secret = secret.filter(|secret| SECRET_BYTES.contains(&secret.len()));
        let secret = secret.ok_or(NoticeTargetError::Secret)?;
        let client = outgoing::client(&parsed, NOTICE_CONNECT_DEADLINE, NOTICE_DEADLINE)
            .map_err(NoticeTargetError::Client)?;
        Ok(Self { url: parsed, secret, client })
    }
}

/// Something to tell of.
pub(crate) struct Notice {
    /// The same each time it is sent, so that a receiver that is told twice can tell.
    pub(crate) id: String,
    pub(crate) kind: String,
    /// The time at which it happened.
    pub(crate) time: Micros,
    /// The data of the notice: one JSON value.
    pub(crate) data: Vec<u8>,
}

/// The reason for which a notice was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeliveryFailure {
    /// Not yet: it is sent again. Another status than 2xx may mean that it never will be; that is for the receiver's operator to see.
    #[error("{0}")]
    Yet(#[from] io::Error),
    /// The receiver wants no more of it: status 410.
    #[error("status 410: nobody wants it there")]
    Unwanted,
}

/// Sends notices to its target.
pub(crate) struct Webhook {
    /// Replaced when the settings are read again.
    target: Arc<ArcSwap<NoticeTarget>>,
    metrics: Arc<Metrics>,
}

impl Webhook {
    pub(crate) fn new(target: Arc<ArcSwap<NoticeTarget>>, metrics: Arc<Metrics>) -> Self {
        Self { target, metrics }
    }

    /// Sends it once. Returned `Ok` ⇒ it was taken.
    pub(crate) async fn send(&self, notice: &Notice, now: Micros) -> Result<(), DeliveryFailure> {
        let sent = self.try_send(notice, now).await;
        self.metrics.count_notice(if sent.is_ok() { "delivered" } else { "failed" });
        sent
    }

    /// It will not be sent again, and why.
    pub(crate) fn give_up(&self, notice: &Notice, why: &str) {
        self.metrics.count_notice("given_up");
        tracing::error!(notice = notice.id, why, "this notice is given up; nobody was told of it");
    }

    async fn try_send(&self, notice: &Notice, now: Micros) -> Result<(), DeliveryFailure> {
        let (body, timestamp) = (body_of(notice), (now.0 / MICROS_A_SECOND).to_string());
        let target = self.target.load_full();
        let signature = signature(&target.secret, &notice.id, &timestamp, &body)?;
        let request = target
            .client
            .post(target.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", &notice.id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", signature)
            .body(body);
        let response = request.send().await.map_err(|error| outgoing::why(&error))?;
        let status = response.status();
        match status.as_u16() {
            200..=299 => Ok(()),
            410 => Err(DeliveryFailure::Unwanted),
            other => Err(io::Error::other(format!("status {other}")).into()),
        }
    }
}

fn body_of(notice: &Notice) -> Vec<u8> {
    let mut json = JsonWriter::with_capacity(128 + notice.data.len());
    json.begin_object();
    json.text_member("type", &notice.kind);
    json.text_member("timestamp", &format_time(notice.time));
    json.key("data");
    json.value(|out| out.extend_from_slice(&notice.data));
    json.end_object();
    json.into_bytes()
}

fn signature(secret: &[u8], id: &str, timestamp: &str, body: &[u8]) -> io::Result<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).map_err(io::Error::other)?;
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        mac.update(part);
    }
    Ok(format!("v1,{}", BASE64.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_signed_as_the_specification_does() {
        // The example of the specification's reference libraries.
        let secret = BASE64.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = br#"{"test": 2432232314}"#;
        let signed = signature(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", body).unwrap();
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn addresses_and_secrets_that_are_none_are_refused_and_not_shown() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        assert!(NoticeTarget::new("http://127.0.0.1:9/hook?key=1", secret).is_ok());
        for url in ["ftp://x", "x", "http://", "unix:/x"] {
            assert!(matches!(NoticeTarget::new(url, secret), Err(NoticeTargetError::Url)), "{url}");
        }
        for secret in ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_!"] {
            let error = NoticeTarget::new("https://x.example", secret).unwrap_err();
            assert!(matches!(error, NoticeTargetError::Secret));
            assert!(secret.len() < 7 || !error.to_string().contains(&secret[6..]));
        }
        let shown = format!("{:?}", NoticeTarget::new("https://x.example/path", secret).unwrap());
        assert!(!shown.contains("path") && !shown.contains("MfK"), "{shown}");
    }
}
