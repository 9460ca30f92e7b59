//! `keys`: the keyring's file: creation, rotation, retirement and locking.

mod retiring;

use std::path::{Path, PathBuf};

use bitacora_formats::{KekId, KeyringError, LedgerName};
use clap::Subcommand;
use serde_json::{Value, json};

use self::retiring::{RetireFailure, kek_id};
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::keys::key_generation::{self, KeyGenerationError, with_random};
use crate::keys::keyring_file::{self, KeyringFileError, LoadedKeyring};
use crate::keys::passphrase::{Passphrase, PassphraseSource};
use crate::options::global::Global;
use crate::terminal::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Create a keyring, readable by its owner alone.
    New {
        /// Encrypt it under a passphrase, from BITACORA_PASSPHRASE or a prompt.
        #[arg(long)]
        lock: bool,
    },
    /// Show the keyring's keys; secrets stay in it.
    Show,
    /// Add a key, used from the next opening of a ledger on; data under the old one stays readable.
    Rotate {
        /// Rotate the key that signs segments instead of the one that encrypts them.
        #[arg(long)]
        signing: bool,
    },
    /// Move old encryption keys into an offline keyring, so that this one does not open all of history; stop the service first.
    Retire {
        /// The offline keyring: a new file, never overwritten.
        #[arg(long, value_name = "FILE")]
        into: PathBuf,
        /// The id of a key that no ledger of the data folder needs; repeatable. [default: every such key but the one in use]
        #[arg(long, value_name = "ID", value_parser = kek_id)]
        key: Vec<KekId>,
        /// Retire keys without asking this missing ledger, which is given up or in another data folder; repeatable.
        #[arg(long, value_name = "NAME")]
        without_ledger: Vec<LedgerName>,
    },
    /// Copy the keys of an offline keyring back into the keyring.
    Restore {
        /// The offline keyring.
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
    },
    /// Encrypt the keyring's file under a passphrase, from BITACORA_PASSPHRASE or a prompt.
    Lock,
    /// Decrypt the keyring's file.
    Unlock,
}

/// The reason why there are no new keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeysError {
    #[error(transparent)]
    Generation(#[from] KeyGenerationError),
    #[error(transparent)]
    Full(#[from] KeyringError),
    #[error(transparent)]
    Retire(Box<RetireFailure>),
}

impl CommandFailure for KeysError {}

impl From<RetireFailure> for KeysError {
    fn from(failure: RetireFailure) -> Self {
        Self::Retire(Box::new(failure))
    }
}

pub(crate) fn run(command: &KeysCommand, global: &Global, output: &mut Output) -> Result<Exit, CommandError> {
    let path = global.keyring()?;
    let keys = Keys { path: &path, data: global.data.as_deref(), passphrase: PassphraseSource::User };
    let shown = match command {
        KeysCommand::New { lock } => keys.make(*lock)?,
        KeysCommand::Show => keys.show()?,
        KeysCommand::Rotate { signing } => keys.rotate(*signing)?,
        KeysCommand::Retire { into, key, without_ledger } => {
            keys.retire(global, into, key, without_ledger)?
        }
        KeysCommand::Restore { from } => keys.restore(from)?,
        KeysCommand::Lock => keys.lock()?,
        KeysCommand::Unlock => keys.unlock()?,
    };
    if global.json {
        output.json(&shown.to_json())?;
    } else {
        shown.lines().iter().try_for_each(|line| output.line(line))?;
    }
    Ok(Exit::Done)
}

/// A keyring file that is worked on.
struct Keys<'a> {
    path: &'a Path,
    data: Option<&'a Path>,
    passphrase: PassphraseSource,
}

/// The part of a keyring that may be shown.
struct KeyringView {
    path: PathBuf,
    locked: bool,
    encryption_key: String,
    older_keys: Vec<String>,
    retired_keys: Vec<String>,
    signing_keys: Vec<String>,
}

impl Keys<'_> {
    fn make(&self, lock: bool) -> Result<KeyringView, CommandError> {
        let passphrase = if lock { Some(self.new_passphrase()?) } else { None };
        let keyring = key_generation::generate()?;
        keyring_file::create(self.path, self.data, &keyring, passphrase.as_ref())?;
        Ok(self.shown(&LoadedKeyring { keyring, passphrase }))
    }

    fn show(&self) -> Result<KeyringView, CommandError> {
        let loaded = keyring_file::load(self.path, self.data, self.passphrase)?;
        Ok(self.shown(&loaded))
    }

    fn rotate(&self, signing: bool) -> Result<KeyringView, CommandError> {
        self.change(|loaded| {
            let rotated = with_random(|random| {
                if signing {
                    loaded.keyring.rotate_signing(random).map(drop)
                } else {
                    loaded.keyring.rotate_encryption(random).map(drop)
                }
            });
            rotated?.map_err(KeysError::from)?;
            Ok(())
        })
    }

    fn lock(&self) -> Result<KeyringView, CommandError> {
        self.change(|loaded| {
            if loaded.passphrase.is_some() {
                return Err(KeyringFileError::LockedAlready(self.path.to_owned()).into());
            }
            loaded.passphrase = Some(self.new_passphrase()?);
            Ok(())
        })
    }

    fn unlock(&self) -> Result<KeyringView, CommandError> {
        self.change(|loaded| match loaded.passphrase.take() {
            Some(_) => Ok(()),
            None => Err(KeyringFileError::NotLocked(self.path.to_owned()).into()),
        })
    }

    fn change(
        &self,
        change: impl FnOnce(&mut LoadedKeyring) -> Result<(), CommandError>,
    ) -> Result<KeyringView, CommandError> {
        keyring_file::change(self.path, self.data, self.passphrase, |loaded| {
            change(loaded)?;
            Ok(self.shown(loaded))
        })
    }

    fn new_passphrase(&self) -> Result<Passphrase, KeyringFileError> {
        let path = self.path.to_owned();
        self.passphrase.new_one().map_err(|source| KeyringFileError::Passphrase { path, source })
    }

    fn shown(&self, loaded: &LoadedKeyring) -> KeyringView {
        let chain = loaded.keyring.signing_chain();
        let signing_keys =
            (1..=chain.active_index()).filter_map(|index| Some(hex::encode(chain.key(index)?.as_bytes())));
        let active = loaded.keyring.active_kek().0;
        let older = loaded.keyring.kek_ids().filter(|id| *id != active);
        KeyringView {
            path: self.path.to_owned(),
            locked: loaded.passphrase.is_some(),
            encryption_key: active.to_string(),
            older_keys: older.map(|id| id.to_string()).collect(),
            retired_keys: loaded.keyring.retired_ids().iter().map(ToString::to_string).collect(),
            signing_keys: signing_keys.collect(),
        }
    }
}

impl KeyringView {
    fn to_json(&self) -> Value {
        let signing_keys = (1..).zip(&self.signing_keys);
        let signing_keys: Vec<_> =
            signing_keys.map(|(number, key): (u32, _)| json!({"number": number, "publicKey": key})).collect();
        json!({
            "keyring": self.path.display().to_string(),
            "locked": self.locked,
            "encryptionKey": self.encryption_key,
            "olderKeys": self.older_keys,
            "retiredKeys": self.retired_keys,
            "signingKeys": signing_keys,
        })
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("keyring         {}", self.path.display()),
            format!("locked          {}", if self.locked { "yes" } else { "no" }),
            format!("encryption key  {}", self.encryption_key),
        ];
        lines.extend(self.older_keys.iter().map(|id| format!("older key       {id}")));
        lines.extend(self.retired_keys.iter().map(|id| format!("retired key     {id}")));
        lines.extend(
            (1..).zip(&self.signing_keys).map(|(n, key): (u32, _)| format!("signing key {n:<3} {key}")),
        );
        lines
    }
}
