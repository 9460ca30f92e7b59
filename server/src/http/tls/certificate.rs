//! The parts of a certificate that the service itself reads: its host names and its times.

use rustls::pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, Error, KeyUsage};

/// The last time that can be asked for. Every certificate has expired by then.
const END_OF_TIME: u64 = u64::MAX;

/// The time in which a certificate is valid, seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CertificateTimes {
    /// Its `notBefore`.
    pub(crate) not_before: u64,
    /// Its `notAfter`.
    pub(crate) not_after: u64,
}

impl CertificateTimes {
    /// Returns the times of the service's own certificate, the first one of a chain. Clients may do without any other one of them.
    ///
    /// # Errors
    /// A certificate is not one of X.509 version 3.
    pub(super) fn of_chain(chain: &[CertificateDer<'_>]) -> Result<Self, Error> {
        let mut times = chain.iter().map(|certificate| Self::of(&EndEntityCert::try_from(certificate)?));
        let own = times.next().unwrap_or(Err(Error::BadDer))?;
        times.try_for_each(|other| other.map(drop))?;
        Ok(own)
    }

    /// Reads the times out of the reasons for which the certificate is refused at both ends of time. A check looks at them before it
    /// looks for an issuer, so it needs none.
    fn of(certificate: &EndEntityCert<'_>) -> Result<Self, Error> {
        let refusal_at = |seconds| {
            let time = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
            let verified = certificate.verify_for_usage(
                webpki::ALL_VERIFICATION_ALGS,
                &[],
                &[],
                time,
                KeyUsage::server_auth(),
                None,
                None,
            );
            verified.err()
        };
        let not_before = match refusal_at(0) {
            Some(Error::CertNotValidYet { not_before, .. }) => not_before.as_secs(),
            Some(error @ (Error::BadDer | Error::BadDerTime | Error::InvalidCertValidity)) => {
                return Err(error);
            }
            _ => 0,
        };
        match refusal_at(END_OF_TIME) {
            Some(Error::CertExpired { not_after, .. }) => {
                Ok(Self { not_before, not_after: not_after.as_secs() })
            }
            Some(error) => Err(error),
            None => Ok(Self { not_before, not_after: END_OF_TIME }),
        }
    }
}

/// Returns the host names of a certificate, without those that stand for many.
pub(super) fn host_names(certificate: &CertificateDer<'_>) -> Result<Vec<String>, Error> {
    let certificate = EndEntityCert::try_from(certificate)?;
    let names = certificate.valid_dns_names().filter(|name| !name.starts_with("*."));
    Ok(names.map(str::to_ascii_lowercase).collect())
}
