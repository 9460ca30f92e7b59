//! Redaction: replaces secrets that slipped into an event before anything is committed to.
//! Secrets that the log never held need not be erased from it.
//!
//! A secret is found only by its own form or by the words around it, and only inside strings of `data` that are values. Names of members
//! are left alone. All other bytes stay as the client sent them. A secret whose tell-tale beginning is itself written in `\u` escapes is
//! not found: this guards against accidents, not against a client that wants to write one down.
//!
//! Redacting is a function of the bytes alone, and doing it twice changes nothing more: no pattern can take part of a
//! replacement in, and no rejected match becomes acceptable beside one (see `redaction/src/secrets.rs`). So a retry of the same event
//! commits to the same record.

mod characters;
mod secrets;
#[cfg(test)]
mod tests;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use bitacora_formats::{Data, Event, Json};

use self::characters::StringEnd;
use self::secrets::{LITERALS, Secret};

/// Kept in place of data that a replacement would have broken, which none does.
const ALL_REDACTED: &[u8] = b"\"[redacted]\"";

/// Finds and replaces secrets. Made once, used by all callers at the same time.
#[derive(Debug)]
pub struct Redactor {
    /// The beginnings of all secrets, or of the words that give them away: most events hold none and are only scanned.
    literals: AhoCorasick,
}

impl Default for Redactor {
    fn default() -> Self {
        Self::new()
    }
}

impl Redactor {
    /// Compiles the list of secrets.
    #[must_use]
    pub fn new() -> Self {
        // Leftmost matches are what the vector search behind this needs.
        let mut builder = AhoCorasick::builder();
        let built =
            builder.match_kind(MatchKind::LeftmostFirst).build(LITERALS.iter().map(|(literal, _)| literal));
        #[expect(
            clippy::expect_used,
            reason = "building fails only for lists far longer than this fixed one"
        )]
        let literals = built.expect("a short list");
        Self { literals }
    }

    /// Replaces recognised secrets in the event's JSON data, and says how many. Without any, the data stays the bytes it
    /// was given as.
    pub fn redact(&self, event: &mut Event<'_>) -> u32 {
        let redacted = match &event.data {
            Data::Json(json) => self.redact_json(json),
            Data::None | Data::Binary(_) => None,
        };
        let Some((json, replaced)) = redacted else { return 0 };
        // Plain characters took the place of plain characters inside a string, so the check holds; if it did not, no
        // secret may be kept for it.
        let json = Json::check(json).or_else(|_| Json::check(ALL_REDACTED));
        event.data = json.map_or(Data::None, Data::Json);
        replaced
    }

    /// Returns `true` if a text holds a secret.
    #[must_use]
    pub fn finds_in(&self, text: &str) -> bool {
        self.literals.is_match(text)
            && serde_json::to_vec(text).is_ok_and(|json| self.redact_json(&json).is_some())
    }

    /// Returns the same JSON with secrets replaced, and their number; `None` where there is none.
    #[must_use]
    pub fn redact_json(&self, json: &[u8]) -> Option<(Vec<u8>, u32)> {
        let mut output = RedactedJson::of(json);
        let mut string = StringEnd::default();
        let mut from = 0;
        while let Some(found) = self.literals.find(Input::new(json).range(from..)) {
            from = found.start() + 1;
            let Some((_, kind)) = LITERALS.get(found.pattern().as_usize()) else { continue };
            if !kind.may_begin(json, found.start(), output.copied) {
                continue;
            }
            let (one, another) = kind.secrets(json, found.range());
            for secret in [one, another].into_iter().flatten() {
                from = from.max(secret.range.end);
                if string.is_value(json, secret.range.end) {
                    output.replace(&secret);
                }
            }
        }
        output.finish()
    }
}

/// The JSON as it will be kept, up to what was copied.
struct RedactedJson<'j> {
    json: &'j [u8],
    bytes: Vec<u8>,
    /// The end of the copied part of `json`: 0, or the end of the last secret.
    copied: usize,
    replaced: u32,
}

impl<'j> RedactedJson<'j> {
    fn of(json: &'j [u8]) -> Self {
        Self { json, bytes: Vec::new(), copied: 0, replaced: 0 }
    }

    fn replace(&mut self, secret: &Secret) {
        let before = self.json.get(self.copied..secret.range.start).unwrap_or_default();
        self.bytes.extend_from_slice(before);
        self.bytes.extend_from_slice(secret.replacement.as_bytes());
        self.copied = secret.range.end;
        self.replaced = self.replaced.saturating_add(1);
    }

    fn finish(mut self) -> Option<(Vec<u8>, u32)> {
        if self.replaced == 0 {
            return None;
        }
        self.bytes.extend_from_slice(self.json.get(self.copied..).unwrap_or_default());
        Some((self.bytes, self.replaced))
    }
}
