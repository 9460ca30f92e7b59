//! The renewal of the service's certificate: its files are read again every minute, and its end is warned of.

use std::sync::Arc;

use rustls::pki_types::UnixTime;
use tokio::time::Instant;

use crate::http::tls::{CertificateTimes, ServiceTls};
use crate::limits::{CERTIFICATE_NOTICE, CERTIFICATE_NOTICE_PAUSE, CERTIFICATE_PAUSE};
use crate::log_pace::LogPace;

/// Runs until the service ends.
pub(crate) async fn run(tls: Arc<ServiceTls>) {
    let pace = LogPace::new(CERTIFICATE_NOTICE_PAUSE);
    let mut told = None;
    loop {
        warn_of_times(tls.times(), &pace);
        tokio::time::sleep(CERTIFICATE_PAUSE).await;
        let tls = Arc::clone(&tls);
        let reload = tokio::task::spawn_blocking(move || tls.reload());
        // A panic in there is told by the runtime.
        let Ok(reloaded) = reload.await else { continue };
        match reloaded {
            Ok(true) => {
                tracing::info!("the certificate was renewed; new connections get it");
                told = None;
            }
            Ok(false) => (),
            Err(error) => {
                let error = error.to_string();
                if told.as_ref() != Some(&error) {
                    tracing::error!(%error, "the certificate is not renewed; the one before stays in use");
                }
                told = Some(error);
            }
        }
    }
}

/// Warns of a certificate that clients refuse, or soon will.
fn warn_of_times(times: CertificateTimes, pace: &LogPace) {
    let now = UnixTime::now().as_secs();
    let is_early = now < times.not_before;
    if !is_early && now.saturating_add(CERTIFICATE_NOTICE.as_secs()) < times.not_after {
        return;
    }
    if pace.tells(Instant::now()).is_none() {
        return;
    }
    if is_early {
        let seconds = times.not_before - now;
        tracing::error!(seconds, "the certificate is not valid yet; clients refuse it until then");
    } else if now > times.not_after {
        let seconds = now - times.not_after;
        tracing::error!(
            seconds,
            "the certificate has expired; clients refuse it. Renew the files, no restart is needed"
        );
    } else {
        let days = (times.not_after - now) / (24 * 3600);
        tracing::warn!(days, "the certificate ends soon; renew its files, no restart is needed");
    }
}
