//! A small ledger of several segments in a folder, and the program run on it.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use bitacora_formats::{Data, Event, Json, Keyring};
use bitacora_ledger::{
    AppendRequest, Entropy, Environment, HeadOptions, Ledger, OpenError, Options, SystemEntropy,
};
use bitacora_tests::variables::remove_variables;
use bitacora_verify::{LeafCheck, Report, TailRetries, VerifyOptions, verify_ledger};
use serde_json::Value;
use tempfile::TempDir;

use crate::PROGRAM;

/// A data folder with the ledger `main`, and its keyring.
pub(crate) struct Sample {
    pub(crate) folder: TempDir,
    pub(crate) keyring: Arc<Keyring>,
}

impl Sample {
    /// Segment 1 holds the creation; each opening after it one segment of a few frames, closed.
    pub(crate) fn new(openings: u64) -> Self {
        Self::made(openings, &Options::small())
    }

    /// The same, with one signed tree head for each opening, made when it ends.
    pub(crate) fn with_heads(openings: u64) -> Self {
        Self::made(openings, &Self::options_with_heads())
    }

    /// Heads at the end alone.
    pub(crate) fn options_with_heads() -> Options {
        let heads = HeadOptions { every: Duration::from_secs(3_600), ..HeadOptions::default() };
        Options { heads: Some(heads), ..Options::small() }
    }

    /// A ledger that was created in this environment, closed.
    pub(crate) fn created_in(environment: &Environment) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
        let sample = Self { folder, keyring };
        fs::create_dir_all(sample.data().join("ledgers")).unwrap();
        fs::write(sample.data().join("FORMAT"), "bitacora-data v1\n").unwrap();
        write_keyring(&sample.keyring_file(), &sample.keyring);
        let (name, options) = ("main".parse().unwrap(), Self::options_with_heads());
        Ledger::create(environment, &sample.ledger(), &name, &sample.keyring, &options).unwrap();
        sample
    }

    fn made(openings: u64, options: &Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
        let sample = Self { folder, keyring };
        fs::create_dir_all(sample.data().join("ledgers")).unwrap();
        fs::write(sample.data().join("FORMAT"), "bitacora-data v1\n").unwrap();
        write_keyring(&sample.keyring_file(), &sample.keyring);
        let (environment, name) = (Environment::real(), "main".parse().unwrap());
        Ledger::create(&environment, &sample.ledger(), &name, &sample.keyring, options).unwrap();
        for opening in 0..openings {
            let ledger = sample.open_with(options);
            for number in 0..3 {
                let one = event(&format!("e{opening}.{number}"), "s");
                let mut other = event(&format!("p{opening}.{number}"), "t");
                other.datasubject = Some("person/9".into());
                ledger.append(AppendRequest::of(vec![one, other])).unwrap().wait().unwrap();
            }
            ledger.close().unwrap();
        }
        sample
    }

    pub(crate) fn open(&self) -> Ledger {
        self.open_with(&Options::small())
    }

    pub(crate) fn open_with(&self, options: &Options) -> Ledger {
        let open = || {
            let (keyring, options) = (Arc::clone(&self.keyring), options.clone());
            Ledger::open(&Environment::real(), &self.ledger(), keyring, options)
        };
        // A process that another test starts has our files, the lock too, until it becomes another program.
        let mut opened = open();
        for _ in 0..100 {
            if !matches!(opened, Err(OpenError::Locked(_))) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
            opened = open();
        }
        opened.unwrap()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.data().join("ledgers/main")
    }

    pub(crate) fn keyring_file(&self) -> PathBuf {
        self.folder.path().join("keyring")
    }

    pub(crate) fn segment(&self, number: u32) -> PathBuf {
        self.ledger().join(shown(number))
    }

    pub(crate) fn leaves(&self, number: u32) -> PathBuf {
        self.ledger().join(shown_leaves(number))
    }

    /// The file of a segment's tree heads.
    pub(crate) fn heads(&self, number: u32) -> PathBuf {
        self.ledger().join(shown_heads(number))
    }

    /// The numbers of its segments.
    pub(crate) fn segments(&self) -> Vec<u32> {
        (1..).take_while(|number| self.segment(*number).exists()).collect()
    }

    /// Verifies in this process, and waits for nobody.
    pub(crate) fn verify(&self, with_keys: bool) -> Report {
        self.verify_by(with_keys, 2, LeafCheck::WhereThere)
    }

    /// The same by so many threads. Its duration is left out, so that two reports can be compared.
    pub(crate) fn verify_by(&self, with_keys: bool, threads: usize, leaves: LeafCheck) -> Report {
        let options = VerifyOptions {
            keyring: with_keys.then_some(&*self.keyring),
            name: Some("main"),
            leaves,
            threads: NonZero::new(threads),
            patience: TailRetries::NONE,
            ..Default::default()
        };
        Report { elapsed: Duration::ZERO, ..verify_ledger(&self.ledger(), &options) }
    }

    /// Verifies by one thread and by four, which must find the same.
    pub(crate) fn verify_twice(&self, with_keys: bool, what: &str) -> Report {
        let [one, four] = [1, 4].map(|threads| self.verify_by(with_keys, threads, LeafCheck::WhereThere));
        assert_eq!(one, four, "{what}: by one thread and by four");
        one
    }

    /// Runs the program on this data folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        command(arguments)
            .arg("--data")
            .arg(self.data())
            .arg("--keyring")
            .arg(self.keyring_file())
            .output()
            .unwrap()
    }
}

/// The program without anything from the environment of the tests.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    remove_variables(&mut command);
    // Nor from their configuration: a keyring that lies there has perhaps an admin token beside it.
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command.args(arguments);
    command
}

pub(crate) fn write_keyring(path: &Path, keyring: &Keyring) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, keyring.to_text().as_bytes()).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Returns a segment's name in findings.
pub(crate) fn shown(number: u32) -> String {
    format!("segments/{number:010}.seg")
}

/// Returns the name of a segment's leaves in findings.
pub(crate) fn shown_leaves(number: u32) -> String {
    format!("tree/{number:010}.leaves")
}

/// Returns the name of a segment's tree heads in findings.
pub(crate) fn shown_heads(number: u32) -> String {
    format!("tree/{number:010}.heads")
}

pub(crate) fn event(id: &str, stream: &str) -> Event<'static> {
    let mut event = Event::new(id.to_owned(), "urn:test", "x.noted", stream.to_owned());
    event.data = Data::Json(Json::check(br#"{"text":"some words"}"#.to_vec()).unwrap());
    event
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// Returns the program's stdout as JSON.
pub(crate) fn told(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The one line on stderr that says why.
pub(crate) fn why(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    let is_told = text.starts_with("bitacora: ") || text.starts_with("{\"code\":");
    assert!(is_told && text.trim_end().lines().count() == 1, "{text}");
    text
}

/// Every file below a folder with its bytes, but for locks.
pub(crate) fn files_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.insert(path.clone(), Vec::new());
            found.extend(files_below(&path));
        } else if path.file_name().is_some_and(|name| name != "lock") {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}
