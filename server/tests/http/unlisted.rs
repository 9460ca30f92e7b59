//! An anchor that does not list its ledgers at the start is asked again; missing ones are named then.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bitacora_formats::{Generation, Keyring, LedgerId, LedgerName, LedgerOrigin, TreeHash, TreeHead};
use bitacora_ledger::{Anchor, AnchorError, FolderAnchor, HeadOptions, RealDisk};
use bitacora_server::{ServerLimits, UnlistedAnchor};

use crate::service::{TestService, config, new_keyring, wait_until};

const UNSAID: &str = "the anchor has not said which ledgers it remembers";

/// An anchor that can be out of reach.
#[derive(Debug)]
struct Far {
    anchor: FolderAnchor,
    is_silent: AtomicBool,
}

impl Far {
    fn reach(&self) -> Result<(), AnchorError> {
        let silence =
            || AnchorError::Unreachable { anchor: "far".into(), source: io::Error::other("no answer") };
        if self.is_silent.load(Ordering::SeqCst) { Err(silence()) } else { Ok(()) }
    }
}

impl Anchor for Far {
    fn load(&self, ledger: &LedgerName) -> Result<Option<String>, AnchorError> {
        self.reach().and_then(|()| self.anchor.load(ledger))
    }

    fn swap(&self, ledger: &LedgerName, expected: Option<&str>, head: &str) -> Result<(), AnchorError> {
        self.reach().and_then(|()| self.anchor.swap(ledger, expected, head))
    }

    fn ledgers(&self) -> Result<Vec<LedgerName>, AnchorError> {
        self.reach().and_then(|()| self.anchor.ledgers())
    }

    fn remember_erased(&self, ledger: &LedgerName, name: &str) -> Result<(), AnchorError> {
        self.reach().and_then(|()| self.anchor.remember_erased(ledger, name))
    }

    fn erased(&self, ledger: &LedgerName) -> Result<Vec<String>, AnchorError> {
        self.reach().and_then(|()| self.anchor.erased(ledger))
    }
}

/// An anchor in this folder that remembers a head of each name, by its keyring.
fn far(folder: &Path, anchored: &[(&str, &Keyring)]) -> Arc<Far> {
    let anchor = FolderAnchor::new(Arc::new(RealDisk), &folder.join("anchors"));
    for (name, keyring) in anchored {
        let name: LedgerName = name.parse().unwrap();
        let origin =
            LedgerOrigin { name: name.clone(), ledger: LedgerId([1; 16]), generation: Generation::FIRST };
        let note = TreeHead { origin, size: 1, root: TreeHash([2; 32]) }.sign(keyring).to_string();
        anchor.swap(&name, None, &note).unwrap();
    }
    Arc::new(Far { anchor, is_silent: AtomicBool::new(true) })
}

/// The owner has given the ledger `elsewhere` up.
fn start(anchored: &[&str], is_required: bool) -> (TestService, Arc<Far>) {
    let (folder, keyring) = (tempfile::tempdir().unwrap(), new_keyring());
    let foreign = new_keyring();
    let mut all: Vec<(&str, &Keyring)> = anchored.iter().map(|name| (*name, &*keyring)).collect();
    all.push(("foreign", &foreign));
    let far = far(folder.path(), &all);
    let mut config = config(folder.path(), &keyring, ServerLimits::default());
    let anchor = Some(Arc::clone(&far) as Arc<dyn Anchor>);
    config.ledgers.options.heads =
        Some(HeadOptions { anchor, anchor_required: is_required, ..HeadOptions::default() });
    config.unlisted = Some(UnlistedAnchor {
        answer: "no answer at the start".into(),
        given_up: vec!["elsewhere".parse().unwrap()],
    });
    (TestService::of(config, folder, keyring), far)
}

#[test]
fn a_ledger_that_the_anchor_remembers_is_named_once_the_anchor_answers() {
    let (service, far) = start(&["gone"], true);
    let problem = service.get("/readyz").expect_problem(503, "not-ready");
    assert!(problem["detail"].as_str().unwrap().contains(UNSAID), "{problem}");
    far.is_silent.store(false, Ordering::SeqCst);
    wait_until(|| service.get("/readyz").expect(503).json()["errors"][0]["ledger"] == "gone");
    let problem = service.get("/readyz").expect_problem(503, "not-ready");
    assert!(!problem["detail"].as_str().unwrap().contains(UNSAID), "{problem}");
    assert!(problem["errors"].as_array().unwrap().len() == 1, "{problem}");
    let gone = service.get("/v1/ledgers/gone").expect(200).json();
    assert!(gone["state"] == "failed" && gone["why"].as_str().unwrap().contains("missing"), "{gone}");
    service.get("/v1/ledgers/gone/events").expect_problem(503, "ledger-unavailable");
}

#[test]
fn the_service_is_ready_once_the_anchor_remembers_nothing_that_is_missing() {
    let (service, far) = start(&["elsewhere"], true);
    service.get("/readyz").expect_problem(503, "not-ready");
    far.is_silent.store(false, Ordering::SeqCst);
    wait_until(|| service.get("/readyz").status == 200);
    assert_eq!(service.get("/readyz").text(), "ready\n");
}

#[test]
fn an_anchor_that_may_be_out_of_reach_is_named_beside_the_readiness() {
    let (service, _far) = start(&["gone"], false);
    let ready = service.get("/readyz").expect(200);
    assert!(ready.text().starts_with(&format!("ready\n{UNSAID}")), "{}", ready.text());
}

#[test]
fn a_damaged_head_hides_no_ledger_and_the_anchor_is_asked_on() {
    let (service, far) = start(&["gone"], true);
    std::fs::write(service.folder.path().join("anchors/a.head"), [0xff]).unwrap();
    far.is_silent.store(false, Ordering::SeqCst);
    wait_until(|| service.get("/readyz").expect(503).json()["errors"][0]["ledger"] == "gone");
    let problem = service.get("/readyz").expect_problem(503, "not-ready");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains(UNSAID) && detail.contains("a.head"), "{problem}");
}
