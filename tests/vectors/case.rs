//! A case: a ledger's folder as it lies before a verifier, and the expected finding.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use bitacora_verify::Verdict;
use serde_json::json;

/// The content under a name.
#[derive(Clone)]
pub(crate) enum CaseEntry {
    Bytes(Vec<u8>),
    /// So many zeros, of which the disk holds none.
    Zeros(u64),
    /// These bytes, and zeros that the disk does not hold up to this length.
    Sparse(Vec<u8>, u64),
    Folder,
    Pipe,
    /// The same file as under this name of the folder.
    HardLink(String),
    /// A symbolic link, resolved from where it lies.
    Link(String),
}

/// A ledger's folder: what lies under which name.
#[derive(Clone, Default)]
pub(crate) struct Files(pub(crate) BTreeMap<String, CaseEntry>);

impl Files {
    /// Reads what of a ledger's folder is evidence.
    pub(crate) fn read(ledger: &Path) -> Self {
        let mut files = Self::default();
        for folder in ["", "segments", "tree"] {
            for entry in fs::read_dir(ledger.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(ledger).unwrap().to_str().unwrap().to_owned();
                // What is erased spares an opening a read of the log, and is nobody's evidence.
                if path.is_file() && name != "lock" && name != "erased-keys" {
                    files.set(&name, fs::read(&path).unwrap());
                }
            }
        }
        files
    }

    pub(crate) fn bytes(&self, name: &str) -> &[u8] {
        match self.0.get(name) {
            Some(CaseEntry::Bytes(bytes)) => bytes,
            _ => panic!("{name}: a file with bytes expected"),
        }
    }

    pub(crate) fn set(&mut self, name: &str, bytes: Vec<u8>) {
        self.put(name, CaseEntry::Bytes(bytes));
    }

    pub(crate) fn put(&mut self, name: &str, entry: CaseEntry) {
        self.0.insert(name.to_owned(), entry);
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.remove(name).unwrap();
    }

    /// Changes a file's bytes.
    pub(crate) fn change(&mut self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        match self.0.get_mut(name) {
            Some(CaseEntry::Bytes(bytes)) => change(bytes),
            _ => panic!("{name}: a file with bytes expected"),
        }
    }

    /// The last segment's number.
    pub(crate) fn last(&self) -> u32 {
        (1..).take_while(|number| self.0.contains_key(&segment(*number))).last().unwrap()
    }

    /// The number of the last segment, where the first ones were let go too.
    pub(crate) fn last_number(&self) -> u32 {
        let mut names = self.0.keys().filter(|name| name.starts_with("segments/") && name.ends_with(".seg"));
        names.next_back().and_then(|name| name[9..19].parse().ok()).unwrap()
    }

    /// Writes the folder, which must not be there. The target of a link is written before it.
    pub(crate) fn write(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        let is_link = |entry: &CaseEntry| matches!(entry, CaseEntry::HardLink(_) | CaseEntry::Link(_));
        let (links, others): (Vec<_>, Vec<_>) = self.0.iter().partition(|(_, entry)| is_link(entry));
        for (name, entry) in others.into_iter().chain(links) {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match entry {
                CaseEntry::Bytes(bytes) => fs::write(path, bytes).unwrap(),
                CaseEntry::Zeros(length) => fs::File::create(path).unwrap().set_len(*length).unwrap(),
                CaseEntry::Sparse(bytes, length) => {
                    fs::write(&path, bytes).unwrap();
                    fs::File::options().write(true).open(path).unwrap().set_len(*length).unwrap();
                }
                CaseEntry::Folder => fs::create_dir(path).unwrap(),
                CaseEntry::Pipe => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
                CaseEntry::HardLink(other) => fs::hard_link(folder.join(other), path).unwrap(),
                CaseEntry::Link(target) => symlink(target, path).unwrap(),
            }
        }
    }
}

/// The expected finding for a folder.
#[derive(Clone)]
pub(crate) struct ExpectedFinding {
    pub(crate) verdict: Verdict,
    /// The file that is named, where it is one.
    pub(crate) file: Option<String>,
    /// The kind of fault, as the second verifier calls it.
    pub(crate) kind: Option<&'static str>,
}

impl ExpectedFinding {
    pub(crate) fn alone() -> Self {
        Self { verdict: Verdict::Alone, file: None, kind: None }
    }

    pub(crate) fn incomplete() -> Self {
        Self { verdict: Verdict::Incomplete, file: None, kind: Some("gap") }
    }

    /// Of a changed file, which is named itself.
    pub(crate) fn found_in(file: &str) -> Self {
        Self { verdict: Verdict::Invalid, file: Some(file.to_owned()), kind: None }
    }

    pub(crate) fn invalid(file: &str, kind: &'static str) -> Self {
        Self { verdict: Verdict::Invalid, file: Some(file.to_owned()), kind: Some(kind) }
    }
}

/// A folder by what is wrong with it, or right.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) files: Files,
    pub(crate) expected: ExpectedFinding,
}

impl Case {
    pub(crate) fn new(name: impl Into<String>, files: Files, expected: ExpectedFinding) -> Self {
        Self { name: name.into(), files, expected }
    }

    /// Writes the ledger's folder and, beside it, what has to be said of it.
    pub(crate) fn keep(&self, folder: &Path) {
        let ExpectedFinding { verdict, file, kind } = &self.expected;
        let manifest = json!({ "verdict": verdict_name(*verdict), "file": file, "kind": kind });
        self.files.write(&folder.join(&self.name).join("ledgers/main"));
        fs::write(folder.join(&self.name).join("expected.json"), format!("{manifest:#}\n")).unwrap();
    }
}

/// A verdict as both verifiers write it in JSON.
pub(crate) fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Confirmed => "verified",
        Verdict::Alone => "alone",
        Verdict::Diverged => "another",
        Verdict::Incomplete => "incomplete",
        Verdict::Invalid => "invalid",
    }
}

pub(crate) fn segment(number: u32) -> String {
    format!("segments/{number:010}.seg")
}

pub(crate) fn leaves(number: u32) -> String {
    format!("tree/{number:010}.leaves")
}

pub(crate) const NOTE: &str = "signing-keys.note";
pub(crate) const LEVEL: &str = "tree/level-1";
