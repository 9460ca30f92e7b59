//! The check against rollback: an older copy, a lost end, or a new ledger in the old one's place.

use bitacora_formats::{Generation, LedgerId, LedgerName, LedgerOrigin, TreeHash, TreeHeadError};

/// A difference between a ledger and the memory of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rollback {
    /// Another ledger stands under its name.
    #[error(
        "this ledger was made under the name {found}, not {expected}; bring the right one back to each name"
    )]
    OtherName {
        /// The name that it stands under.
        expected: LedgerName,
        /// The one that its first event says.
        found: LedgerName,
    },
    /// Another ledger has its name.
    #[error(
        "this is ledger {found}, the one remembered under the name {} is {}; bring that one back, or give this one an anchor of its own",
        known.name, known.ledger
    )]
    OtherLedger {
        /// The origin that is known.
        known: LedgerOrigin,
        /// The ledger that is there.
        found: LedgerId,
    },
    /// Another ledger has its name and its identity: it was made with another keyring.
    #[error(
        "this ledger is not signed by the keyring that signed what is remembered under the name {0}; it is another one in its place: bring that one back, and find out who put this one here"
    )]
    OtherSigner(LedgerName),
    /// It is of another generation: a copy from before a declared loss, or one after it that was not declared to its end.
    #[error(
        "generation {} with {size} events is remembered, this is generation {found}; bring the newer copy back, or declare the loss with `bitacora recover --declare-loss`", known.0
    )]
    Generation {
        /// The generation that is known.
        known: Generation,
        /// Its events.
        size: u64,
        /// The root over them.
        root: TreeHash,
        /// The one that is there.
        found: u32,
    },
    /// It has fewer events than it had.
    #[error(
        "{known} events with the root {root} are remembered, this ledger has {found}; it is an older copy or lost its end, or a copy that was written to with the same keyring has moved the anchor: bring the one back that has those events, or declare the loss with `bitacora recover --declare-loss`"
    )]
    Shorter {
        /// The size that is known.
        known: u64,
        /// The root that is known.
        root: TreeHash,
        /// The number of events that are there.
        found: u64,
    },
    /// Its first events are others.
    #[error(
        "the first {size} events had the root {known}, here they have {}; it is another history, or a copy that was written to with the same keyring has moved the anchor: bring the right one back",
        found.map_or_else(|| "none".to_owned(), |root| root.to_string())
    )]
    OtherRoot {
        /// The size that is known.
        size: u64,
        /// The root that is known.
        known: TreeHash,
        /// The root of as many events here; `None` where no frame ends there.
        found: Option<TreeHash>,
    },
    /// A witness has cosigned more events than it has.
    #[error(
        "witness {witness} has cosigned {known} events of it, this ledger has {found}; it is an older copy or lost its end: bring the newer one back, or declare the loss with `bitacora recover --declare-loss`"
    )]
    Witnessed {
        /// The name of the witness.
        witness: String,
        /// The number of events that its last head covers.
        known: u64,
        /// The number of events that are there.
        found: u64,
    },
    /// A witness has cosigned other events.
    #[error(
        "witness {witness} has cosigned another tree of the first {size} events; it is another history: bring the right one back"
    )]
    WitnessedHistory {
        /// The name of the witness.
        witness: String,
        /// The size at which, or before which, the two differ.
        size: u64,
    },
    /// The known head was not signed by this ledger.
    #[error(
        "what is remembered of it shows nothing: {0}; find out who wrote it before anything else, then begin anew with --new-anchor"
    )]
    Untrusted(TreeHeadError),
    /// The bytes at the anchor cannot be a tree head.
    #[error("{0}")]
    Damaged(String),
    /// The anchor remembers nothing of a ledger that has signed tree heads.
    #[error(
        "the anchor remembers nothing of it, and {size} of its events are under a tree head; if the anchor's disk is not mounted, mount it; if it is a new anchor, say so with --new-anchor"
    )]
    Forgotten {
        /// The size of the last head beside its segments.
        size: u64,
    },
}
