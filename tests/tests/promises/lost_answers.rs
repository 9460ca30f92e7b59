//! An anchor that loses its answers: the ledger's own heads are not taken for another copy's.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bitacora_formats::LedgerName;
use bitacora_ledger::{
    Anchor, AnchorError, Environment, FolderAnchor, HeadOptions, Ledger, Options, WriterState,
};

use crate::p7_no_rollback::{AnchorFixture, append};
use crate::workload::{keyring, options as without_heads};

/// The fate of a swap that would succeed.
#[derive(Debug, Clone, Copy)]
enum LostAnswer {
    WithEffect,
    WithoutEffect,
}

/// Loses answers in this order, then none.
#[derive(Debug)]
struct ForgetfulAnchor {
    inner: FolderAnchor,
    losses: Mutex<VecDeque<LostAnswer>>,
}

impl Anchor for ForgetfulAnchor {
    fn load(&self, ledger: &LedgerName) -> Result<Option<String>, AnchorError> {
        self.inner.load(ledger)
    }

    fn swap(&self, ledger: &LedgerName, expected: Option<&str>, head: &str) -> Result<(), AnchorError> {
        let holds = self.inner.load(ledger)?.as_deref() == expected;
        let lost = if holds { self.losses.lock().unwrap().pop_front() } else { None };
        if !matches!(lost, Some(LostAnswer::WithoutEffect)) {
            self.inner.swap(ledger, expected, head)?;
        }
        match lost {
            None => Ok(()),
            Some(_) => Err(AnchorError::Unreachable {
                anchor: "forgetful".to_owned(),
                source: io::ErrorKind::TimedOut.into(),
            }),
        }
    }

    fn ledgers(&self) -> Result<Vec<LedgerName>, AnchorError> {
        self.inner.ledgers()
    }

    fn remember_erased(&self, ledger: &LedgerName, name: &str) -> Result<(), AnchorError> {
        self.inner.remember_erased(ledger, name)
    }

    fn erased(&self, ledger: &LedgerName) -> Result<Vec<String>, AnchorError> {
        self.inner.erased(ledger)
    }
}

#[test]
fn heads_whose_answers_were_lost_are_the_ledgers_own_whichever_took_effect() {
    for losses in [
        &[LostAnswer::WithEffect][..],
        &[LostAnswer::WithEffect, LostAnswer::WithoutEffect],
        &[
            LostAnswer::WithoutEffect,
            LostAnswer::WithEffect,
            LostAnswer::WithoutEffect,
            LostAnswer::WithoutEffect,
        ],
    ] {
        let fixture = AnchorFixture::new();
        let anchor =
            ForgetfulAnchor { inner: fixture.anchor(), losses: Mutex::new(losses.iter().copied().collect()) };
        let anchor = Arc::new(anchor);
        let every = Duration::from_millis(20);
        let heads = HeadOptions { every, anchor: Some(anchor.clone()), ..HeadOptions::default() };
        let options = Options { heads: Some(heads), ..without_heads() };
        let ledger = Ledger::open(&Environment::real(), &fixture.ledger(), keyring(), options).unwrap();
        for number in 0..200 {
            append(&ledger, number).unwrap();
            thread::sleep(Duration::from_millis(25));
            let status = ledger.status();
            assert!(matches!(status.writer, WriterState::Ready), "{losses:?}: {:?}", status.writer);
            if anchor.losses.lock().unwrap().is_empty() && status.heads.unanchored_for.is_none() {
                break;
            }
        }
        assert!(anchor.losses.lock().unwrap().is_empty(), "{losses:?}");
        ledger.close().unwrap();
        let anchored = anchor.load(&"main".parse().unwrap()).unwrap();
        assert_eq!(anchored, Some(ledger.tree_head().unwrap().note.clone()), "{losses:?}");
    }
}
