//! TLS: what `serve` takes and refuses, and what real clients and our own commands make of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bitacora_testkit::{CertificateLife, TestCa, TestCertificate};
use bitacora_tests::service::{ServiceFolder, ServiceProcess};

use crate::sample::{code, why};

/// The exit code of curl where it does not trust the certificate.
const CURL_UNTRUSTED: i32 = 60;

/// A folder with a CA, a certificate for `localhost`, and a service with them.
struct SecuredPlace {
    folder: tempfile::TempDir,
    ca: TestCa,
    place: ServiceFolder,
}

impl SecuredPlace {
    fn new() -> Self {
        Self::of(CertificateLife::Now, &["localhost"])
    }

    fn of(life: CertificateLife, hosts: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ca = TestCa::new();
        let place = ServiceFolder::new(crate::PROGRAM, folder.path());
        let made = Self { folder, ca, place };
        fs::write(made.path("ca.pem"), made.ca.pem()).unwrap();
        made.write("server", &made.ca.issue(hosts, life));
        made
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, pair: &TestCertificate) {
        fs::write(self.path(&format!("{name}.pem")), &pair.certificate).unwrap();
        write_key(&self.path(&format!("{name}.key")), &pair.key);
    }

    fn serve(&self, more: &[&str]) -> ServiceProcess {
        let started = self.place.start_closed_with(|command| {
            command.arg("--tls-certificate").arg(self.path("server.pem"));
            command.arg("--tls-key").arg(self.path("server.key")).args(more);
        });
        started.unwrap()
    }

    /// `serve` that is expected to end by itself.
    fn refused(&self, arguments: &[&str]) -> Output {
        let mut serve = self.place.command("serve");
        serve.args(["--listen", "127.0.0.1:0", "--create", "main", "--keyring"]).arg(self.place.keyring());
        serve.current_dir(self.folder.path()).args(arguments).output().unwrap()
    }

    fn curl(&self, service: &ServiceProcess, arguments: &[&str]) -> Output {
        let url = format!("https://localhost:{}/v1/ledgers/main/head", service.address.port());
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "20", "-w", "\n%{http_code}"]).args(arguments).arg(url);
        curl.current_dir(self.folder.path()).output().unwrap()
    }

    /// Our own command, at this host.
    fn status(&self, service: &ServiceProcess, host: &str, arguments: &[&str]) -> Output {
        let url = format!("https://{host}:{}", service.address.port());
        let mut status = Command::new(crate::PROGRAM);
        status.args(["status", "--url", &url, "--token-file"]).arg(self.place.admin_token());
        status.current_dir(self.folder.path()).args(arguments).output().unwrap()
    }

    fn bearer(&self) -> String {
        let token = fs::read_to_string(self.place.admin_token()).unwrap();
        format!("authorization: Bearer {}", token.trim())
    }
}

fn write_key(path: &Path, key: &str) {
    fs::write(path, key).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn curl_and_our_commands_are_served_over_tls_by_a_service_that_they_trust() {
    let place = SecuredPlace::new();
    let service = place.serve(&[]);
    let answer = place.curl(&service, &["--cacert", "ca.pem", "-H", &place.bearer()]);
    assert!(text(&answer.stdout).ends_with("\n200"), "{answer:?}");
    let without_token = place.curl(&service, &["--cacert", "ca.pem"]);
    assert!(text(&without_token.stdout).ends_with("\n401"), "{without_token:?}");
    let untrusted = place.curl(&service, &["-H", &place.bearer()]);
    assert_eq!(code(&untrusted), CURL_UNTRUSTED, "{untrusted:?}");
    let one = place.curl(&service, &["--http2", "-w", "%{http_version}", "--cacert", "ca.pem"]);
    assert!(text(&one.stdout).ends_with("1.1"), "a client that knows HTTP/2 gets HTTP/1.1: {one:?}");

    let ours = place.status(&service, "localhost", &["--ca-file", "ca.pem"]);
    assert!(code(&ours) == 0 && text(&ours.stdout).contains("main at https://localhost:"), "{ours:?}");
    let ours = place.status(&service, "localhost", &[]);
    assert!(code(&ours) == 1 && why(&ours).contains("--ca-file"), "{}", why(&ours));
    fs::write(place.path("other.pem"), TestCa::new().pem()).unwrap();
    let ours = place.status(&service, "localhost", &["--ca-file", "other.pem"]);
    assert!(code(&ours) == 1 && why(&ours).contains("no issuer that is trusted"), "{}", why(&ours));
    let folder = place.status(&service, "localhost", &["--ca-file", "."]);
    assert!(code(&folder) == 1 && why(&folder).contains("not a file"), "{}", why(&folder));
}

#[test]
fn old_versions_are_refused_and_a_request_without_tls_is_told_so() {
    let place = SecuredPlace::new();
    let service = place.serve(&[]);
    let connect = |version: &str| {
        let address = service.address.to_string();
        let arguments = ["s_client", "-connect", &address, version, "-cipher", "ALL:@SECLEVEL=0", "-brief"];
        let output =
            Command::new("openssl").args(arguments).stdin(std::process::Stdio::null()).output().unwrap();
        text(&output.stderr)
    };
    for version in ["-tls1", "-tls1_1"] {
        let said = connect(version);
        assert!(!said.contains("CONNECTION ESTABLISHED") && said.contains("alert"), "{version}: {said}");
    }
    for (version, name) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        let said = connect(version);
        assert!(said.contains("CONNECTION ESTABLISHED") && said.contains(name), "{version}: {said}");
    }
    let plain = format!("http://localhost:{}/livez", service.address.port());
    let answer = Command::new("curl").args(["-sS", "-w", "\n%{http_code}", &plain]).output().unwrap();
    let said = text(&answer.stdout);
    assert!(said.contains("this port speaks TLS") && said.ends_with("\n400"), "{answer:?}");
    // The Unix socket has none.
    let mut curl = Command::new("curl");
    curl.arg("-sS").arg("--unix-socket").arg(place.place.socket()).arg("http://localhost/livez");
    assert_eq!(text(&curl.output().unwrap().stdout), "ok\n");
}

#[test]
fn certificates_of_another_time_or_name_are_refused_by_our_commands_with_the_reason() {
    let reasons = [
        (CertificateLife::Past, &["localhost"][..], "certificate expired"),
        (CertificateLife::Future, &["localhost"], "valid only in"),
        (CertificateLife::Now, &["ledger.example"], "certificate is for"),
    ];
    for (life, hosts, reason) in reasons {
        let place = SecuredPlace::of(life, hosts);
        let service = place.serve(&[]);
        let ours = place.status(&service, "localhost", &["--ca-file", "ca.pem"]);
        assert!(code(&ours) == 1 && why(&ours).contains(reason), "{life:?}: {}", why(&ours));
        assert!(!why(&ours).contains("\n") || why(&ours).lines().count() == 1, "{}", why(&ours));
        let curl = place.curl(&service, &["--cacert", "ca.pem"]);
        assert_eq!(code(&curl), CURL_UNTRUSTED, "{life:?}: {curl:?}");
        let log = fs::read_to_string(place.path("log")).unwrap();
        match life {
            CertificateLife::Now => assert!(!log.contains("certificate"), "{log}"),
            CertificateLife::Past => assert!(log.contains("the certificate has expired"), "{log}"),
            CertificateLife::Future => assert!(log.contains("not valid yet"), "{log}"),
        }
    }
}

#[test]
fn with_a_ca_of_clients_a_connection_needs_a_certificate_and_a_request_a_token() {
    let place = SecuredPlace::new();
    let clients = TestCa::new();
    fs::write(place.path("clients.pem"), clients.pem()).unwrap();
    place.write("agent", &clients.issue(&["agent"], CertificateLife::Now));
    place.write("old", &clients.issue(&["agent"], CertificateLife::Past));
    place.write("stranger", &TestCa::new().issue(&["agent"], CertificateLife::Now));
    let client_ca = place.path("clients.pem");
    let service = place.serve(&["--tls-client-ca", client_ca.to_str().unwrap()]);
    let bearer = place.bearer();
    let curl = |name: &str, more: &[&str]| {
        let (certificate, key) = (format!("{name}.pem"), format!("{name}.key"));
        let shown = ["--cacert", "ca.pem", "--cert", &certificate, "--key", &key];
        place.curl(&service, &[&shown[..], more].concat())
    };
    let taken = curl("agent", &["-H", &bearer]);
    assert!(text(&taken.stdout).ends_with("\n200"), "{taken:?}");
    let without_token = curl("agent", &[]);
    assert!(text(&without_token.stdout).ends_with("\n401"), "{without_token:?}");
    for name in ["old", "stranger"] {
        let refused = curl(name, &["-H", &bearer]);
        assert!(text(&refused.stdout).ends_with("\n000"), "{name}: {refused:?}");
    }
    let none = place.curl(&service, &["--cacert", "ca.pem", "-H", &bearer]);
    assert!(text(&none.stdout).ends_with("\n000"), "{none:?}");

    let ours = |name: &str| {
        let (certificate, key) = (format!("{name}.pem"), format!("{name}.key"));
        let shown = ["--ca-file", "ca.pem", "--client-certificate", &certificate, "--client-key", &key];
        place.status(&service, "localhost", &shown)
    };
    assert_eq!(code(&ours("agent")), 0, "{}", why(&ours("agent")));
    for refused in
        [ours("old"), ours("stranger"), place.status(&service, "localhost", &["--ca-file", "ca.pem"])]
    {
        assert!(code(&refused) == 1 && why(&refused).contains("--client-certificate"), "{}", why(&refused));
    }
    fs::set_permissions(place.path("agent.key"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(why(&ours("agent")).contains("others may read"), "{}", why(&ours("agent")));
}

#[test]
fn files_that_are_no_certificate_and_its_key_are_refused_before_anything_is_made() {
    let place = SecuredPlace::new();
    place.write("other", &place.ca.issue(&["localhost"], CertificateLife::Now));
    let key = fs::read_to_string(place.path("server.key")).unwrap();
    write_key(&place.path("two.key"), &format!("{key}{key}"));
    write_key(&place.path("none.key"), "nothing\n");
    fs::copy(place.path("server.key"), place.path("exposed.key")).unwrap();
    fs::set_permissions(place.path("exposed.key"), fs::Permissions::from_mode(0o640)).unwrap();
    let certificate = fs::read_to_string(place.path("server.pem")).unwrap();
    fs::write(place.path("cut.pem"), &certificate[..certificate.len() / 2]).unwrap();
    fs::write(place.path("damaged.pem"), certificate.replacen("MII", "AAA", 1)).unwrap();
    fs::write(place.path("large.pem"), "x".repeat(1024 * 1024)).unwrap();
    assert!(Command::new("mkfifo").arg(place.path("pipe")).status().unwrap().success());
    for (certificate, key, reason) in [
        ("missing.pem", "server.key", "No such file"),
        ("server.pem", "missing.key", "No such file"),
        (".", "server.key", "not a file"),
        ("pipe", "server.key", "not a file"),
        ("large.pem", "server.key", "262144 bytes"),
        ("server.key", "server.key", "no certificate"),
        ("cut.pem", "server.key", "cut.pem"),
        ("damaged.pem", "server.key", "damaged.pem"),
        ("server.pem", "other.key", "is not of the first certificate"),
        ("server.pem", "two.key", "2 private keys"),
        ("server.pem", "none.key", "no private key"),
        ("server.pem", "exposed.key", "others may read"),
    ] {
        let refused = place.refused(&["--tls-certificate", certificate, "--tls-key", key]);
        assert!(
            code(&refused) == 1 && text(&refused.stderr).contains(reason),
            "{certificate} {key}: {refused:?}"
        );
    }
    let client_ca =
        ["--tls-certificate", "server.pem", "--tls-key", "server.key", "--tls-client-ca", "server.key"];
    assert!(text(&place.refused(&client_ca).stderr).contains("no certificate"));
    let alone = place.refused(&["--tls-certificate", "server.pem"]);
    assert!(code(&alone) == 2 && text(&alone.stderr).contains("--tls-key"), "{alone:?}");
    assert!(!place.place.data().exists() && !place.place.keyring().exists(), "nothing was made");
}

#[test]
fn an_address_that_other_machines_reach_needs_tls_or_a_word_and_tokens_always() {
    let place = SecuredPlace::new();
    let serve = |arguments: &[&str]| {
        let mut serve = place.place.command("serve");
        serve.args(["--create", "main", "--listen", "0.0.0.0:0", "--keyring"]).arg(place.place.keyring());
        serve.current_dir(place.folder.path()).args(arguments).output().unwrap()
    };
    let plain = serve(&[]);
    let said = text(&plain.stderr);
    assert!(
        code(&plain) == 2
            && ["--tls-certificate", "proxy", "--allow-remote"].iter().all(|way| said.contains(way)),
        "{said}"
    );
    let secured = ["--open", "--tls-certificate", "server.pem", "--tls-key", "server.key"];
    for open in [&["--open"][..], &["--open", "--allow-remote"], &secured] {
        let refused = serve(open);
        assert!(
            code(&refused) == 2 && text(&refused.stderr).contains("not a loopback address"),
            "{refused:?}"
        );
    }
    assert!(!place.place.data().exists(), "nothing was made");
}
