//! A machine's data folder, and what belongs to it outside: keyring, admin token, anchor, archives, witnesses.
//!
//! It knows which file lies where and who may read it, makes a first start, and refuses a start without a ledger that
//! was there. It may not know the command line: errors are types, and a passphrase is asked for by a function that the
//! caller gives.

pub mod durable_file;

mod anchor;
mod archives;
mod keys;
mod known_ledgers;
mod ledger_setup;
mod link_page;
mod locked_folder;
mod notices;
mod recovery;
mod tokens;
mod witnesses;

pub use anchor::{AnchorPlace, AnchorTrust, AnchoredHeadError, anchor_was_used, options_with_anchor_beside};
pub use archives::{archive_store, archives_beside, environment_with_archives, readable_archives};
pub use keys::generation::KeyGenerationError;
pub use keys::keyring_file::location::{lies_in_data, refuse_in_data};
pub use keys::keyring_file::{KeyringFile, KeyringFileError, LoadedKeyring, RotatedKey};
pub use keys::passphrase::{PassphraseError, PassphrasePrompt, PassphraseQuestion, PassphraseSource};
pub use keys::retirement::{KeyNeed, KeyRetirement, KeyRetirementError};
pub use known_ledgers::{KnownLedgers, KnownLedgersError};
pub use ledger_setup::{LedgerSetup, PreparedFolder, SetupError};
pub use link_page::write_link_page;
pub use locked_folder::LockedFolder;
pub use notices::{NoticeFailure, notice_target};
pub use recovery::archived::{ArchiveRecoveryError, RestoredLedger, lost_folders};
pub use recovery::{LedgerRecovery, RecoveryError};
pub use tokens::admin_token::{AdminTokenFile, admin_token_path, read_admin_token};
pub use tokens::named_token::NamedToken;
pub use tokens::token::{TokenError, generate_token, token_hash};
pub use witnesses::{WitnessFailure, add_witnesses};
