//! Both verifiers before one folder: their answers have to agree, and have to be right.

use std::fs;
use std::num::NonZero;
use std::path::Path;

use bitacora_verify::{LeafCheck, Report, TailRetries, Verdict, VerifyOptions, verify_ledger};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::case::{Case, CaseEntry, ExpectedFinding, Files, NOTE, verdict_name};
use crate::second::SecondVerifier;

/// The place of a case's ledger in its folder, as in a data folder.
const LEDGER: &str = "ledgers/main";
/// The place of its archives, from the ledger's folder: both verifiers look there unless told otherwise.
pub(crate) const ARCHIVES: &str = "../../archives";

/// Both verifiers, and what they disagreed on so far.
pub(crate) struct Judge {
    second: SecondVerifier,
    folder: TempDir,
    judged: usize,
    problems: Vec<String>,
}

impl Judge {
    /// None where the second verifier cannot be run here.
    pub(crate) fn new() -> Option<Self> {
        let folder = TempDir::new().unwrap();
        SecondVerifier::start(&[]).map(|second| Self { second, folder, judged: 0, problems: Vec::new() })
    }

    /// Lets both look at a case of its own.
    pub(crate) fn case(&mut self, case: &Case) {
        let case_folder = self.folder.path().join(format!("case-{}", self.judged));
        let folder = case_folder.join(LEDGER);
        case.files.write(&folder);
        self.compare(&folder, &case.name, &case.expected, None);
        fs::remove_dir_all(case_folder).unwrap();
    }

    /// Lets both look at a folder in which one file is changed in many ways: each with a name, the file's bytes, and where
    /// they begin to differ.
    pub(crate) fn changes<'a>(
        &mut self,
        files: &Files,
        name: &str,
        changes: impl Iterator<Item = (String, Vec<u8>, u64, &'a ExpectedFinding)>,
    ) {
        let case_folder = self.folder.path().join(format!("changes-{}", self.judged));
        let folder = case_folder.join(LEDGER);
        files.write(&folder);
        for (what, bytes, at, expected) in changes {
            fs::write(folder.join(name), bytes).unwrap();
            self.compare(&folder, &format!("{name}: {what}"), expected, Some(at).filter(|_| name != NOTE));
        }
        fs::remove_dir_all(case_folder).unwrap();
    }

    /// Lets both look at a folder in which one file is changed in many ways, of which nothing is known beforehand: they say the
    /// same, by verdict and by file. `may_pass` says which of the changes, by name, may leave a ledger that verifies.
    pub(crate) fn alike(
        &mut self,
        files: &Files,
        name: &str,
        changes: impl Iterator<Item = (String, Vec<u8>)>,
        may_pass: impl Fn(&str, &[u8]) -> bool,
    ) {
        let case_folder = self.folder.path().join(format!("alike-{}", self.judged));
        let folder = case_folder.join(LEDGER);
        files.write(&folder);
        for (what, bytes) in changes {
            fs::write(folder.join(name), &bytes).unwrap();
            let (first, second) = (report(&folder), self.second.judge(&folder));
            self.judged += 1;
            let mut problems = Vec::new();
            if second["verdict"] != verdict_name(first.verdict()) {
                problems.push("they come to different verdicts");
            }
            let file = first.fault.as_ref().map(|fault| fault.file.as_str());
            if first.verdict() == Verdict::Invalid && second["file"].as_str() != file {
                problems.push("they name different files");
            }
            if first.verdict() < Verdict::Incomplete && !may_pass(&what, &bytes) {
                problems.push("nobody sees the change");
            }
            for problem in problems {
                self.problems
                    .push(format!("{name}: {what}: {problem}; {}; the second: {second}", told(&first)));
            }
        }
        fs::remove_dir_all(case_folder).unwrap();
    }

    /// In a note a change may show in a line behind it, or in the first segment: then no place is asked for.
    fn compare(&mut self, folder: &Path, what: &str, expected: &ExpectedFinding, at: Option<u64>) {
        let (first, second) = (report(folder), self.second.judge(folder));
        self.judged += 1;
        for problem in problems(&first, &second, expected, at) {
            self.problems.push(format!("{what}: {problem}; {}; the second: {second}", told(&first)));
        }
    }

    /// Fails with everything that was not as it must be.
    pub(crate) fn end(self, at_least: usize) {
        let (judged, found) = (self.judged, self.problems.len());
        let shown = self.problems.iter().take(40).map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(found == 0, "{found} of {judged} cases:\n{shown}");
        assert!(judged >= at_least, "{at_least} cases and more expected, {judged} judged");
        eprintln!("{judged} cases judged alike");
    }
}

/// Returns the first verifier's report, every signature checked.
fn report(folder: &Path) -> Report {
    let archives = folder.join(ARCHIVES);
    let options = VerifyOptions {
        every_signature: true,
        leaves: LeafCheck::WhereThere,
        threads: NonZero::new(2),
        patience: TailRetries::NONE,
        archives: Some(&archives),
        ..Default::default()
    };
    verify_ledger(folder, &options)
}

fn told(report: &Report) -> String {
    let fault = report.fault.as_ref().map(ToString::to_string);
    format!("the first: {:?}, {fault:?}, {:?}", report.verdict(), report.gaps)
}

/// Returns the differences of two answers from the expected one.
fn problems(first: &Report, second: &Value, expected: &ExpectedFinding, at: Option<u64>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut require = |holds: bool, what: &str| {
        if !holds {
            problems.push(what.to_owned());
        }
    };
    require(first.verdict() == expected.verdict, "the first verdict is wrong");
    require(second["verdict"] == verdict_name(expected.verdict), "the second verdict is wrong");
    if let Some(file) = &expected.file {
        require(
            first.fault.as_ref().is_some_and(|fault| fault.file == *file),
            "the first names another file",
        );
        require(second["file"] == **file, "the second names another file");
    }
    if let Some(kind) = expected.kind {
        require(second["kind"] == kind, &format!("the second's kind is not {kind}"));
    }
    if let (Some(at), Verdict::Invalid) = (at, expected.verdict) {
        let behind = |offset: Option<u64>| offset.is_none_or(|offset| offset > at);
        require(!behind(first.fault.as_ref().map(|fault| fault.offset)), "the first names a place behind it");
        require(!behind(second["offset"].as_u64()), "the second names a place behind it");
    }
    if first.verdict() == Verdict::Alone
        && let Some(head) = &first.head
    {
        let same = second["head"]["position"] == head.position
            && second["head"]["hash"] == head.hash.to_string()
            && second["head"]["treeRoot"] == head.tree_root.to_string()
            && second["frames"] == first.frames
            && second["segments"] == first.segments
            && second["signatures"] == first.signatures;
        require(same, "they come to different heads");
        let begun = first.generations.iter();
        let begun = begun
            .map(|begun| json!({"generation": begun.generation.0, "firstPosition": begun.first_position}));
        require(second["generations"] == Value::from_iter(begun), "they tell of different generations");
    }
    problems
}

/// Every byte of a file, changed.
pub(crate) fn flips(bytes: &[u8]) -> impl Iterator<Item = (String, Vec<u8>, u64)> {
    (0..bytes.len()).map(|at| {
        let bit = 1 << (at % 8);
        let mut changed = bytes.to_vec();
        changed[at] ^= bit;
        (format!("byte {at} ^ {bit:02x}"), changed, at as u64)
    })
}

/// The files of a folder that hold bytes.
pub(crate) fn files_with_bytes(files: &Files) -> Vec<String> {
    let with_bytes = files.0.iter().filter(|(_, entry)| matches!(entry, CaseEntry::Bytes(_)));
    with_bytes.map(|(name, _)| name.clone()).collect()
}
