//! Certificates of a CA that nobody trusts, for tests of TLS.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};

/// A CA of a test's own.
pub struct TestCa {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub struct TestCertificate {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// The time in which a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateLife {
    /// Now and for long.
    Now,
    /// Only in 2020.
    Past,
    /// Only from the year 2500 on.
    Future,
}

impl TestCa {
    /// A CA with a key of its own.
    ///
    /// # Panics
    /// There is no randomness for the key.
    #[must_use]
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "A CA of a test");
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// Its own certificate.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate for these hosts, which servers and clients may show.
    ///
    /// # Panics
    /// A host is none.
    #[must_use]
    pub fn issue(&self, hosts: &[&str], life: CertificateLife) -> TestCertificate {
        let hosts: Vec<_> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        (params.not_before, params.not_after) = match life {
            CertificateLife::Now => (date_time_ymd(2020, 1, 1), date_time_ymd(2500, 1, 1)),
            CertificateLife::Past => (date_time_ymd(2020, 1, 1), date_time_ymd(2020, 12, 31)),
            CertificateLife::Future => (date_time_ymd(2500, 1, 1), date_time_ymd(2501, 1, 1)),
        };
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        TestCertificate { certificate, key: key.serialize_pem() }
    }
}

impl Default for TestCa {
    fn default() -> Self {
        Self::new()
    }
}
