//! The keyring's text form: one line a key, in a fixed order, and a check at the end.

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::signing_chain::SigningChain;
use super::{KekId, Keyring, KeyringError, LineProblem, MAX_LINE_BYTES, signing_chain};
use crate::limits::{MAX_KEYRING_BYTES, MAX_KEYS};
use crate::{KeyUse, Secret, chain_hasher};

pub(super) const FIRST_LINE: &str = "bitacora-keyring v1";
/// The first line of a keyring of which keys are retired. Programs that know the first version alone refuse it.
pub(super) const SECOND_VERSION: &str = "bitacora-keyring v2";
pub(super) const OFFLINE_FIRST_LINE: &str = "bitacora-offline-keys v1";
const FIRST_WORD: &str = "bitacora-keyring ";

pub(super) const ENCRYPTION: &str = "encryption-key";
const RETIRED: &str = "retired-key";
const BLINDING: &str = "blinding-key";
const DERIVED_STATE: &str = "derived-state-key";
const SEED: &str = "signing-seed";
const CHECK: &str = "check";
const KEYWORDS: [&str; 7] = [ENCRYPTION, RETIRED, BLINDING, DERIVED_STATE, signing_chain::KEY, SEED, CHECK];

const ENCRYPTION_FORM: &str = "encryption-key <16 digits> <64 digits>";
const RETIRED_FORM: &str = "retired-key <16 digits>";
const SECRET_FORM: &str = "<keyword> <64 digits>";

pub(super) fn parse(text: &str) -> Result<Keyring, KeyringError> {
    if Keyring::is_age_file(text.as_bytes()) {
        return Err(KeyringError::AgeFile);
    }
    if text.len() > MAX_KEYRING_BYTES {
        return Err(KeyringError::TooLong { max_bytes: MAX_KEYRING_BYTES });
    }
    let mut lines = KeyringLines::new(text);
    let has_retired = lines.peek() == Some(SECOND_VERSION);
    match lines.peek() {
        Some(FIRST_LINE | SECOND_VERSION) => lines.advance(),
        Some(other) if other.starts_with(FIRST_WORD) => return Err(KeyringError::UnknownVersion),
        _ => return Err(KeyringError::NotAKeyring),
    }
    parse_lines(&mut lines, has_retired)
        .map_err(|problem| KeyringError::Line { line: lines.number(), problem })
}

/// Takes every line after the first; on a problem `lines` stands at the line that has it.
fn parse_lines(lines: &mut KeyringLines<'_>, has_retired: bool) -> Result<Keyring, LineProblem> {
    let mut active_kek = parse_kek(lines.expect_line(ENCRYPTION)?)?;
    lines.advance();
    let mut older_keks: Vec<(KekId, Secret)> = Vec::new();
    while let Some(words) = lines.line_if(ENCRYPTION)? {
        let kek = parse_kek(words)?;
        if active_kek.0 == kek.0 || older_keks.iter().any(|(id, _)| *id == kek.0) {
            return Err(LineProblem::DuplicateId);
        }
        if older_keks.len() + 1 >= MAX_KEYS {
            return Err(LineProblem::TooMany { max: MAX_KEYS });
        }
        older_keks.push(std::mem::replace(&mut active_kek, kek));
        lines.advance();
    }
    let mut retired_ids = Vec::new();
    while has_retired && let Some(digits) = lines.line_if(RETIRED)? {
        let id = parse_kek_id(digits).ok_or(LineProblem::Form { form: RETIRED_FORM })?;
        if active_kek.0 == id || older_keks.iter().any(|(known, _)| *known == id) || retired_ids.contains(&id)
        {
            return Err(LineProblem::DuplicateId);
        }
        if retired_ids.len() + older_keks.len() + 1 >= MAX_KEYS {
            return Err(LineProblem::TooMany { max: MAX_KEYS });
        }
        retired_ids.push(id);
        lines.advance();
    }
    if has_retired && retired_ids.is_empty() {
        return Err(LineProblem::Missing { keyword: RETIRED });
    }
    let blinding = parse_secret_line(lines, BLINDING)?;
    let derived_state = parse_secret_line(lines, DERIVED_STATE)?;
    let signing_chain = SigningChain::parse_lines(lines)?;
    let signing = ed25519_dalek::SigningKey::from_bytes(parse_secret(lines.expect_line(SEED)?)?.expose());
    if signing.verifying_key() != *signing_chain.active() {
        return Err(LineProblem::Seed);
    }
    lines.advance();
    expect_check(lines)?;
    Ok(Keyring { retired_ids, older_keks, active_kek, blinding, derived_state, signing, signing_chain })
}

/// Takes the last line: the check of those before it.
pub(super) fn expect_check(lines: &mut KeyringLines<'_>) -> Result<(), LineProblem> {
    let before = lines.consumed();
    let check = parse_secret(lines.expect_line(CHECK)?)?;
    if !bool::from(check.expose().ct_eq(check_of(before).expose())) {
        return Err(LineProblem::Check);
    }
    lines.advance();
    if lines.at_end() { Ok(()) } else { Err(LineProblem::AfterEnd) }
}

pub(super) fn write_offline(keys: &[(KekId, Secret)]) -> Zeroizing<String> {
    let mut text = room_for(keys.len());
    text.push_str(OFFLINE_FIRST_LINE);
    text.push('\n');
    push_keks(&mut text, keys.iter());
    push_check(&mut text);
    text
}

pub(super) fn write(keyring: &Keyring) -> Zeroizing<String> {
    let keys = keyring.keks().count() + keyring.retired_ids.len();
    let mut text = room_for(keys + keyring.signing_chain.active_index() as usize);
    text.push_str(if keyring.retired_ids.is_empty() { FIRST_LINE } else { SECOND_VERSION });
    text.push('\n');
    push_keks(&mut text, keyring.keks());
    for id in &keyring.retired_ids {
        text.push_str(&format!("{RETIRED} {id}\n"));
    }
    text.push_str(BLINDING);
    push_secret(&mut text, keyring.blinding.expose());
    text.push_str(DERIVED_STATE);
    push_secret(&mut text, keyring.derived_state.expose());
    keyring.signing_chain.write_lines(&mut text);
    text.push_str(SEED);
    push_secret(&mut text, keyring.signing.as_bytes());
    push_check(&mut text);
    text
}

/// Room for a whole text at once: a string that grows leaves copies of the keys behind it.
fn room_for(keys: usize) -> Zeroizing<String> {
    let lines = keys + 6;
    Zeroizing::new(String::with_capacity(lines * (MAX_LINE_BYTES + 1)))
}

fn push_keks<'k>(text: &mut String, keks: impl Iterator<Item = &'k (KekId, Secret)>) {
    for (id, key) in keks {
        text.push_str(ENCRYPTION);
        text.push(' ');
        text.push_str(&id.to_string());
        push_secret(text, key.expose());
    }
}

fn push_check(text: &mut String) {
    let check = check_of(text);
    text.push_str(CHECK);
    push_secret(text, check.expose());
}

fn push_secret(text: &mut String, secret: &[u8; 32]) {
    let mut digits = Zeroizing::new([0; 64]);
    // 32 bytes are 64 digits, and digits are UTF-8: neither step can fail.
    let _ = hex::encode_to_slice(secret, &mut *digits);
    text.push(' ');
    text.push_str(std::str::from_utf8(&*digits).unwrap_or_default());
    text.push('\n');
}

/// Computes the check, which is against rot and slips of an editor; a writer of the file can also write the check.
fn check_of(lines: &str) -> Secret {
    let mut hasher = chain_hasher(KeyUse::KeyringCheck);
    hasher.update(lines.as_bytes());
    crate::kdf::finish(&hasher)
}

pub(super) fn parse_kek(words: &str) -> Result<(KekId, Secret), LineProblem> {
    let form = LineProblem::Form { form: ENCRYPTION_FORM };
    let (id, key) = words.split_once(' ').ok_or(form)?;
    Ok((parse_kek_id(id).ok_or(form)?, parse_secret(key).map_err(|_| form)?))
}

fn parse_kek_id(digits: &str) -> Option<KekId> {
    let mut id = [0; 8];
    decode_hex(digits, &mut id)?;
    Some(KekId(id))
}

fn parse_secret_line(lines: &mut KeyringLines<'_>, keyword: &'static str) -> Result<Secret, LineProblem> {
    let secret = parse_secret(lines.expect_line(keyword)?)?;
    lines.advance();
    Ok(secret)
}

fn parse_secret(digits: &str) -> Result<Secret, LineProblem> {
    let mut bytes = [0; 32];
    let decoded = decode_hex(digits, &mut bytes);
    let secret = Secret::take(&mut bytes);
    decoded.map(|()| secret).ok_or(LineProblem::Form { form: SECRET_FORM })
}

/// Decodes exactly the digits that `bytes` holds; lower case only, so that a keyring has one text.
pub(super) fn decode_hex(digits: &str, bytes: &mut [u8]) -> Option<()> {
    let lower = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    (lower && hex::decode_to_slice(digits, bytes).is_ok()).then_some(())
}

/// A text taken line by line, each ended by a newline.
pub(super) struct KeyringLines<'a> {
    text: &'a str,
    /// The offset of the current line.
    start: usize,
    number: usize,
}

impl<'a> KeyringLines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, start: 0, number: 1 }
    }

    /// The number of the current line, from 1.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn at_end(&self) -> bool {
        self.rest().is_empty()
    }

    /// The current line without its newline; `None` if it has none.
    pub(super) fn peek(&self) -> Option<&'a str> {
        self.rest().split_once('\n').map(|(line, _)| line)
    }

    pub(super) fn advance(&mut self) {
        if let Some(line) = self.peek() {
            self.start += line.len() + 1;
            self.number += 1;
        }
    }

    /// Returns the words after `keyword` on the current line, or the reason why this line is not that one.
    pub(super) fn expect_line(&self, keyword: &'static str) -> Result<&'a str, LineProblem> {
        if let Some(words) = self.line_if(keyword)? {
            return Ok(words);
        }
        let word = self.peek().map(|line| line.split(' ').next().unwrap_or_default());
        match word {
            Some(word) if !KEYWORDS.contains(&word) => Err(LineProblem::Unknown),
            _ => Err(LineProblem::Missing { keyword }),
        }
    }

    /// Returns the words after `keyword` on the current line; `None` if it begins with another word or the text has ended.
    pub(super) fn line_if(&self, keyword: &str) -> Result<Option<&'a str>, LineProblem> {
        if self.at_end() {
            return Ok(None);
        }
        let line = self.peek().ok_or(LineProblem::Unterminated)?;
        if line.len() > MAX_LINE_BYTES {
            return Err(LineProblem::TooLong { max_bytes: MAX_LINE_BYTES });
        }
        Ok(line.strip_prefix(keyword).and_then(|words| words.strip_prefix(' ')))
    }

    /// The lines before the current one.
    fn consumed(&self) -> &'a str {
        self.text.get(..self.start).unwrap_or_default()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.start..).unwrap_or_default()
    }
}
