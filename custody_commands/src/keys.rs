//! `keys`: the keyring's file: creation, rotation, retirement and locking.

use std::path::{Path, PathBuf};

use bitacora_connect::key_fingerprint;
use bitacora_data_folder::{
    AnchorTrust, KeyRetirement, KeyringFile, LoadedKeyring, RotatedKey, archive_store, refuse_in_data,
};
use bitacora_formats::{KekId, LedgerName};
use clap::Subcommand;
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::access::{AccessError, OpenFolder, environment_of};
use crate::options::global::Global;
use crate::terminal::output::Output;
use crate::terminal::passphrase::keyring_file;

/// The subcommands of `keys`.
#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Create a keyring, readable by its owner alone.
    New {
        /// Encrypt it under a passphrase, from BITACORA_PASSPHRASE or a prompt.
        #[arg(long)]
        lock: bool,
    },
    /// Show the keyring's keys; secrets stay in it. With --data also the key that the ledger signs its answers with.
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

/// Parses the id of a key, as a command line names it.
fn kek_id(text: &str) -> Result<KekId, String> {
    let mut id = [0; 8];
    match hex::decode_to_slice(text, &mut id) {
        Ok(()) => Ok(KekId(id)),
        Err(_) => Err("16 hexadecimal digits expected, as `keys show` prints them".to_owned()),
    }
}

/// Runs `keys`.
pub fn run(command: &KeysCommand, global: &Global, output: &mut Output) -> Result<Exit, CommandError> {
    let path = global.keyring()?;
    let file = keyring_file(&path, global.data.as_deref());
    let loaded = match command {
        KeysCommand::New { lock } => file.generate(*lock)?,
        KeysCommand::Show => file.load()?,
        KeysCommand::Rotate { signing: true } => file.rotate(RotatedKey::Signing)?,
        KeysCommand::Rotate { signing: false } => file.rotate(RotatedKey::Encryption)?,
        KeysCommand::Retire { into, key, without_ledger } => {
            retire(&file, global, into, (key, without_ledger))?
        }
        KeysCommand::Restore { from } => file.restore(from)?,
        KeysCommand::Lock => file.lock()?,
        KeysCommand::Unlock => file.unlock()?,
    };
    let mut shown = KeyringView::new(&path, &loaded);
    if let (KeysCommand::Show, Some(data)) = (command, global.data.as_deref()) {
        shown.answer_key =
            Some(answer_key(global, data).unwrap_or_else(|error| format!("not known: {error}")));
    }
    if global.json {
        output.json(&shown.to_json())?;
    } else {
        shown.lines().iter().try_for_each(|line| output.line(line))?;
    }
    Ok(Exit::Done)
}

/// Returns the fingerprint of the key that the ledger signs its answers with, from its folder: no program can answer for it.
fn answer_key(global: &Global, data: &Path) -> Result<String, AccessError> {
    let ledger = OpenFolder::open_for_reading(global, data)?.ledger;
    Ok(key_fingerprint(&ledger.answer_signer().key_id()).unwrap_or_default())
}

/// Retires keys. The anchor has to answer: it may remember a ledger that needs them.
fn retire(
    file: &KeyringFile,
    global: &Global,
    into: &Path,
    (named, without): (&[KekId], &[LedgerName]),
) -> Result<LoadedKeyring, CommandError> {
    let data = global.data()?;
    refuse_in_data(into, Some(data))?;
    let environment = environment_of(global, data)?;
    let folder = KeyRetirement::lock(&environment, data)?;
    let trust = AnchorTrust { required: true, is_new: false };
    let heads = global.anchor()?.options(&environment, trust)?.heads;
    let anchor = heads.as_ref().and_then(|heads| heads.anchor.as_deref());
    let archives = archive_store(global.archive_place(data));
    let retirement = KeyRetirement { folder: &folder, archives: &archives, anchor, without };
    Ok(retirement.run(file, into, named)?)
}

/// The part of a keyring that may be shown.
struct KeyringView {
    path: PathBuf,
    locked: bool,
    encryption_key: String,
    older_keys: Vec<String>,
    retired_keys: Vec<String>,
    signing_keys: Vec<String>,
    /// The fingerprint of the key that answers are signed with, where it was asked for.
    answer_key: Option<String>,
}

impl KeyringView {
    fn new(path: &Path, loaded: &LoadedKeyring) -> Self {
        let chain = loaded.keyring.signing_chain();
        let signing_keys =
            (1..=chain.active_index()).filter_map(|index| Some(hex::encode(chain.key(index)?.as_bytes())));
        let active = loaded.keyring.active_kek().0;
        let older = loaded.keyring.kek_ids().filter(|id| *id != active);
        Self {
            path: path.to_owned(),
            locked: loaded.is_locked(),
            encryption_key: active.to_string(),
            older_keys: older.map(|id| id.to_string()).collect(),
            retired_keys: loaded.keyring.retired_ids().iter().map(ToString::to_string).collect(),
            signing_keys: signing_keys.collect(),
            answer_key: None,
        }
    }

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
            "answerKeyFingerprint": self.answer_key,
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
        lines.extend(self.answer_key.iter().map(|key| format!("answer key      {key}")));
        lines
    }
}
