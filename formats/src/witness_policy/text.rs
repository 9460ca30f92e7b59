//! The parser of a policy's text.
//!
//! Each line may name only lines before it.

use super::{PolicyLog, PolicyMember, PolicyWitness, WitnessGroup, WitnessPolicy, WitnessPolicyError};
use crate::limits::{MAX_POLICY_BYTES, MAX_POLICY_LINES};
use crate::note::VerifierKeyError;

const LOG_FORM: &str = "log <vkey> [<url>]";
const WITNESS_FORM: &str = "witness <name> <vkey> [<url>]";
const GROUP_FORM: &str = "group <name> <k|all|any> <member>...";
const QUORUM_FORM: &str = "quorum <name|none>";
/// The name that no line can have.
const NONE: &[u8] = b"none";

/// A name that a line gave, and the witness or group it stands for; `is_member` if a group counts it.
struct Name<'a> {
    name: &'a [u8],
    counted: PolicyMember,
    is_member: bool,
}

struct PolicyReader<'a> {
    policy: WitnessPolicy,
    names: Vec<Name<'a>>,
    has_quorum: bool,
    /// The line that is read, from 1.
    line: usize,
}

pub(super) fn parse(policy: &[u8]) -> Result<WitnessPolicy, WitnessPolicyError> {
    if policy.len() > MAX_POLICY_BYTES {
        return Err(WitnessPolicyError::TooLong { bytes: policy.len() });
    }
    let empty = WitnessPolicy { logs: Vec::new(), witnesses: Vec::new(), groups: Vec::new(), quorum: None };
    let mut reader = PolicyReader { policy: empty, names: Vec::new(), has_quorum: false, line: 0 };
    for line in policy.split_inclusive(|byte| *byte == b'\n') {
        reader.line += 1;
        let line = line.strip_suffix(b"\n").ok_or(WitnessPolicyError::Unended)?;
        reader.read(line)?;
    }
    if reader.has_quorum { Ok(reader.policy) } else { Err(WitnessPolicyError::NoQuorum) }
}

impl<'a> PolicyReader<'a> {
    fn read(&mut self, text: &'a [u8]) -> Result<(), WitnessPolicyError> {
        let line = self.line;
        if text.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            return Err(WitnessPolicyError::ControlCharacter { line });
        }
        let words: Vec<&[u8]> =
            text.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty()).collect();
        let Some((keyword, words)) = words.split_first() else { return Ok(()) };
        match *keyword {
            comment if comment.starts_with(b"#") => Ok(()),
            b"log" => self.log(words),
            b"witness" => self.witness(words),
            b"group" => self.group(words),
            b"quorum" => self.quorum(words),
            _ => Err(WitnessPolicyError::Keyword { line }),
        }
    }

    fn log(&mut self, words: &[&[u8]]) -> Result<(), WitnessPolicyError> {
        let line = self.line;
        let (key, url) = key_and_url(words).ok_or(WitnessPolicyError::Form { line, form: LOG_FORM })?;
        let key = std::str::from_utf8(key).map_err(|_| VerifierKeyError::Form).and_then(str::parse);
        let log = PolicyLog { key: key.map_err(|error| WitnessPolicyError::LogKey { line, error })?, url };
        if self.policy.logs.iter().any(|other| other.key.public() == log.key.public()) {
            return Err(WitnessPolicyError::SameKey { line });
        }
        self.check_room(self.policy.logs.len())?;
        self.policy.logs.push(log);
        Ok(())
    }

    fn witness(&mut self, words: &[&'a [u8]]) -> Result<(), WitnessPolicyError> {
        let line = self.line;
        let form = WitnessPolicyError::Form { line, form: WITNESS_FORM };
        let Some((name, words)) = words.split_first() else { return Err(form) };
        let (key, url) = key_and_url(words).ok_or(form)?;
        let key = std::str::from_utf8(key).map_err(|_| VerifierKeyError::Form.into()).and_then(str::parse);
        let key = key.map_err(|error| WitnessPolicyError::WitnessKey { line, error })?;
        let witness = PolicyWitness { name: shown(name), key, url };
        if self.policy.witnesses.iter().any(|other| other.key.public() == witness.key.public()) {
            return Err(WitnessPolicyError::SameKey { line });
        }
        self.check_room(self.policy.witnesses.len())?;
        self.define(name, PolicyMember::Witness(self.policy.witnesses.len()))?;
        self.policy.witnesses.push(witness);
        Ok(())
    }

    fn group(&mut self, words: &[&'a [u8]]) -> Result<(), WitnessPolicyError> {
        let line = self.line;
        let [name, threshold, names @ ..] = words else {
            return Err(WitnessPolicyError::Form { line, form: GROUP_FORM });
        };
        if names.is_empty() {
            return Err(WitnessPolicyError::Form { line, form: GROUP_FORM });
        }
        let mut members = Vec::with_capacity(names.len());
        for name in names {
            let known = self.known(name)?;
            if std::mem::replace(&mut known.is_member, true) {
                return Err(WitnessPolicyError::Counted { line, name: shown(name) });
            }
            members.push(known.counted);
        }
        let threshold = match *threshold {
            b"all" => members.len(),
            b"any" => 1,
            number => plain_number(number)
                .filter(|number| (1..=members.len()).contains(number))
                .ok_or(WitnessPolicyError::Threshold { line, members: members.len() })?,
        };
        self.check_room(self.policy.groups.len())?;
        self.define(name, PolicyMember::Group(self.policy.groups.len()))?;
        self.policy.groups.push(WitnessGroup { threshold, members });
        Ok(())
    }

    fn quorum(&mut self, words: &[&[u8]]) -> Result<(), WitnessPolicyError> {
        let line = self.line;
        let [name] = words else { return Err(WitnessPolicyError::Form { line, form: QUORUM_FORM }) };
        if self.has_quorum {
            return Err(WitnessPolicyError::SecondQuorum { line });
        }
        self.has_quorum = true;
        if *name != NONE {
            self.policy.quorum = Some(self.known(name)?.counted);
        }
        Ok(())
    }

    fn define(&mut self, name: &'a [u8], counted: PolicyMember) -> Result<(), WitnessPolicyError> {
        let line = self.line;
        if name == NONE {
            return Err(WitnessPolicyError::None { line });
        }
        if self.names.iter().any(|other| other.name == name) {
            return Err(WitnessPolicyError::SameName { line, name: shown(name) });
        }
        self.names.push(Name { name, counted, is_member: false });
        Ok(())
    }

    fn known(&mut self, name: &[u8]) -> Result<&mut Name<'a>, WitnessPolicyError> {
        let line = self.line;
        if name == NONE {
            return Err(WitnessPolicyError::None { line });
        }
        let known = self.names.iter_mut().find(|known| known.name == name);
        known.ok_or_else(|| WitnessPolicyError::Unknown { line, name: shown(name) })
    }

    fn check_room(&self, there: usize) -> Result<(), WitnessPolicyError> {
        if there < MAX_POLICY_LINES { Ok(()) } else { Err(WitnessPolicyError::TooMany { line: self.line }) }
    }
}

fn key_and_url<'a>(words: &[&'a [u8]]) -> Option<(&'a [u8], Option<String>)> {
    match words {
        [key] => Some((*key, None)),
        [key, url] => Some((*key, Some(shown(url)))),
        _ => None,
    }
}

/// Shows a name or address as text; bytes that are no text show as such.
fn shown(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}

/// A decimal number without a sign or leading zeros.
fn plain_number(word: &[u8]) -> Option<usize> {
    crate::tree_head::plain_number(std::str::from_utf8(word).ok()?)
}
