//! The event at position 1, which names the ledger and its first signing key.

use bitacora_formats::{LedgerId, Record, RecordData, SigningChain};
use serde::Deserialize;

use super::fault::FaultKind;

/// The folder's claims about the ledger, to be compared with its first event.
#[derive(Clone, Copy)]
pub(super) struct Genesis<'a> {
    pub(super) ledger: LedgerId,
    /// The public key that certified the first segment.
    pub(super) signing_key: &'a [u8; 32],
    pub(super) signers: &'a SigningChain,
    pub(super) name: Option<&'a str>,
}

impl Genesis<'_> {
    /// Returns `true` if the first segment is certified by this key or by a successor: a restored ledger is certified
    /// by the key in use at its restoration.
    fn is_signed_under(&self, made_by: &str) -> bool {
        let number = |is_meant: &dyn Fn(&[u8; 32]) -> bool| {
            let mut numbers = 1..=self.signers.active_index();
            numbers.find(|number| self.signers.key(*number).is_some_and(|key| is_meant(key.as_bytes())))
        };
        let made_by = number(&|key| hex::encode(key) == made_by);
        made_by.is_some_and(|made_by| number(&|key| key == self.signing_key) >= Some(made_by))
    }
}

/// The compared members of `ledger.created`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LedgerCreatedData {
    ledger: String,
    name: String,
    signing_key: String,
}

/// Checks that the event at position 1 is the creation of this ledger.
pub(super) fn check_genesis(record: &Record<'_>, genesis: Genesis<'_>) -> Result<(), FaultKind> {
    let same = |what, expected: &str, found: &str| {
        let (expected, found_text) = (expected.to_owned(), found.escape_debug().to_string());
        if expected == found { Ok(()) } else { Err(FaultKind::Genesis { what, expected, found: found_text }) }
    };
    same("type", "ledger.created", &record.kind)?;
    same("source", &format!("urn:bitacora:ledger:{}", genesis.ledger), &record.source)?;
    let data = match &record.data {
        RecordData::Json(json) => serde_json::from_slice(json).ok(),
        _ => None,
    };
    let Some(LedgerCreatedData { ledger, name, signing_key }) = data else {
        return same("data", "that names ledger, name and signingKey", "other data");
    };
    same("ledger", &genesis.ledger.to_string(), &ledger)?;
    if !genesis.is_signed_under(&signing_key) {
        same("signingKey", &hex::encode(genesis.signing_key), &signing_key)?;
    }
    genesis.name.map_or(Ok(()), |expected| same("name", expected, &name))
}
