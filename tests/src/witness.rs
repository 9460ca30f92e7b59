//! A witness that follows c2sp.org/tlog-witness to the letter, and remembers in memory alone.
//! It stands in for one over HTTP ([`crate::witness_service`]), and for the trait that the ledger asks.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bitacora_formats::{
    AddCheckpoint, NoteSignature, SIZE_CONTENT_TYPE, TreeHash, UnverifiedTreeHead, VerifierKey, WitnessKey,
    cosign, parse_added_cosignatures, parse_known_size, verify_consistency,
};
use bitacora_ledger::{Witness, WitnessError};
use ed25519_dalek::SigningKey;

/// The second at which everything is cosigned.
pub const COSIGNED_AT: u64 = 1_767_225_600;

/// One witness; clones are the same one.
#[derive(Debug, Clone)]
pub struct TestWitness {
    name: String,
    signing: Arc<SigningKey>,
    key: WitnessKey,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    logs: Vec<VerifierKey>,
    /// Each origin's last cosigned size and root.
    cosigned: BTreeMap<String, (u64, TreeHash)>,
    behavior: WitnessBehavior,
    asked: u64,
}

/// The manner in which a witness answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WitnessBehavior {
    /// As it should.
    #[default]
    Honest,
    /// Not at all.
    Unreachable,
    /// After cosigning, but the answer gets lost.
    Forgetful,
    /// With a signature by its name and key id of something else.
    FalseSignature,
    /// With a right line of another witness, and none of its own.
    ForeignLine,
    /// With a text that is no signature.
    Garbage,
    /// With more than any answer has.
    Huge,
    /// With a conflict whose body is no size.
    NonsenseConflict,
    /// That it has failed.
    Failing,
    /// So slowly that nobody waits for it.
    Slow,
}

/// An HTTP answer of the witness.
#[derive(Debug, Clone)]
pub struct WitnessAnswer {
    /// The status code.
    pub status: u16,
    /// The content type.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

impl WitnessAnswer {
    fn text(status: u16, body: impl Into<String>) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", body: body.into() }
    }

    fn conflict(size: u64) -> Self {
        Self { status: 409, content_type: SIZE_CONTENT_TYPE, body: format!("{size}\n") }
    }
}

impl TestWitness {
    /// A witness with a name and a key of this seed, which knows no log yet.
    pub fn new(name: &str, seed: u8) -> io::Result<Self> {
        let signing = SigningKey::from_bytes(&[seed; 32]);
        let key = WitnessKey::new(name, signing.verifying_key()).map_err(io::Error::other)?;
        Ok(Self { name: name.to_owned(), signing: Arc::new(signing), key, state: Arc::default() })
    }

    /// The key that it cosigns with.
    #[must_use]
    pub fn witness_key(&self) -> &WitnessKey {
        &self.key
    }

    /// From now on it cosigns for this log.
    pub fn trust(&self, log: VerifierKey) {
        self.lock().logs.push(log);
    }

    /// From now on it answers so.
    pub fn set_behavior(&self, behavior: WitnessBehavior) {
        self.lock().behavior = behavior;
    }

    /// Returns its present behavior.
    #[must_use]
    pub fn behavior(&self) -> WitnessBehavior {
        self.lock().behavior
    }

    /// Returns the number of questions it got.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.lock().asked
    }

    /// The size that it has cosigned last, of whichever log; 0 if none.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.lock().cosigned.values().map(|(size, _)| *size).max().unwrap_or(0)
    }

    /// Forgets what it has cosigned, as one that lost its disk.
    pub fn forget(&self) {
        self.lock().cosigned.clear();
    }

    /// Answers what it is asked, as its behavior says.
    #[must_use]
    pub fn answer(&self, body: &str) -> WitnessAnswer {
        let behavior = {
            let mut state = self.lock();
            state.asked += 1;
            state.behavior
        };
        match behavior {
            WitnessBehavior::Honest
            | WitnessBehavior::Unreachable
            | WitnessBehavior::Forgetful
            | WitnessBehavior::Slow => self.add_checkpoint(body),
            WitnessBehavior::FalseSignature => self.line_over("something else\n"),
            WitnessBehavior::ForeignLine => self.foreign_line(body),
            WitnessBehavior::Garbage => WitnessAnswer::text(200, "<html>a page</html>\n"),
            WitnessBehavior::Huge => WitnessAnswer::text(200, "x".repeat(4 * 1024 * 1024)),
            WitnessBehavior::NonsenseConflict => {
                WitnessAnswer { body: "many\n".to_owned(), ..WitnessAnswer::conflict(0) }
            }
            WitnessBehavior::Failing => WitnessAnswer::text(503, "later\n"),
        }
    }

    /// As c2sp.org/tlog-witness says, in its order.
    fn add_checkpoint(&self, body: &str) -> WitnessAnswer {
        let Ok(asked) = AddCheckpoint::parse(body) else { return WitnessAnswer::text(400, "no request\n") };
        let Ok(head) = UnverifiedTreeHead::parse(asked.checkpoint()) else {
            return WitnessAnswer::text(400, "no checkpoint\n");
        };
        let mut state = self.lock();
        let origin = head.origin().to_string();
        let keys: Vec<VerifierKey> = state.logs.iter().filter(|log| log.name() == origin).cloned().collect();
        if keys.is_empty() {
            return WitnessAnswer::text(404, "not a log of this witness\n");
        }
        let Ok(head) = head.verify(&keys) else { return WitnessAnswer::text(403, "no trusted signature\n") };
        let (size, root) = (head.head().size, head.head().root);
        if asked.old() > size {
            return WitnessAnswer::text(400, "the old size is larger\n");
        }
        let known = state.cosigned.get(&origin).copied();
        let last = known.map_or(0, |(size, _)| size);
        if asked.old() != last {
            return WitnessAnswer::conflict(last);
        }
        if let Some((known_size, known_root)) = known {
            if known_size == size && known_root != root {
                return WitnessAnswer::conflict(last);
            }
            if verify_consistency(last, size, asked.proof(), &known_root, &root).is_err() {
                return WitnessAnswer::text(422, "not consistent\n");
            }
        }
        state.cosigned.insert(origin, (size, root));
        drop(state);
        self.line_over(&head.head().text())
    }

    fn line_over(&self, text: &str) -> WitnessAnswer {
        match cosign(text, &self.name, &self.signing, COSIGNED_AT) {
            Ok(line) => WitnessAnswer::text(200, format!("{line}\n")),
            Err(error) => WitnessAnswer::text(500, error.to_string()),
        }
    }

    fn foreign_line(&self, body: &str) -> WitnessAnswer {
        let other = SigningKey::from_bytes(&[0xee; 32]);
        let text = AddCheckpoint::parse(body).ok().and_then(|asked| {
            let head = UnverifiedTreeHead::parse(asked.checkpoint()).ok()?;
            let head = head.verify(&self.lock().logs).ok()?;
            Some(head.head().text())
        });
        let line = text.and_then(|text| cosign(&text, "witness.example/other", &other, COSIGNED_AT).ok());
        line.map_or_else(
            || WitnessAnswer::text(403, "no trusted signature\n"),
            |line| WitnessAnswer::text(200, format!("{line}\n")),
        )
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unreachable(&self, why: &str) -> WitnessError {
        WitnessError::Unreachable { witness: self.name.clone(), source: io::Error::other(why.to_owned()) }
    }
}

impl Witness for TestWitness {
    fn key(&self) -> &WitnessKey {
        &self.key
    }

    fn add(&self, old: u64, proof: &[TreeHash], note: &str) -> Result<Vec<NoteSignature>, WitnessError> {
        let witness = self.name.clone();
        let asked = AddCheckpoint::new(old, proof, note)
            .map_err(|error| WitnessError::Refused { witness: witness.clone(), what: error.to_string() })?;
        if self.behavior() == WitnessBehavior::Unreachable {
            return Err(self.unreachable("no route"));
        }
        let answer = self.answer(&asked.to_string());
        match answer.status {
            _ if self.behavior() == WitnessBehavior::Forgetful => {
                Err(self.unreachable("the answer was lost"))
            }
            _ if self.behavior() == WitnessBehavior::Slow => {
                std::thread::sleep(std::time::Duration::from_secs(20));
                Err(self.unreachable("too slow"))
            }
            200 => {
                parse_added_cosignatures(&answer.body).map_err(|error| self.unreachable(&error.to_string()))
            }
            409 => match parse_known_size(&answer.body) {
                Ok(size) => Err(WitnessError::Conflict { witness, size }),
                Err(error) => Err(self.unreachable(&error.to_string())),
            },
            422 => Err(WitnessError::Inconsistent { witness }),
            400 | 403 | 404 => Err(WitnessError::Refused { witness, what: answer.body }),
            status => Err(self.unreachable(&format!("status {status}"))),
        }
    }
}
