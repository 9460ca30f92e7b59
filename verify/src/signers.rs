//! The keys that may certify a ledger's segments: those of the clear note, in rising order.
//! A keyring must agree with the note, and no key may be used after a later one.

use std::collections::BTreeMap;
use std::io;

use bitacora_formats::{
    Keyring, ReleasedError, ReleasedSegment, SegmentHeader, SigningChain, SigningChainError,
    parse_signing_chain,
};

use super::fault::{Fault, FaultKind, Gap};
use super::folder::{LedgerFolder, NOTE};

/// The ledger's signing keys, and those met so far.
pub(super) struct Signers {
    chain: Option<SigningChain>,
    met: BTreeMap<u32, [u8; 32]>,
    /// The note, while nothing else confirms that its keys are the ledger's.
    unvouched_note: Option<String>,
}

impl Signers {
    /// Reads the note. Without one the keyring's own keys count. Without either, the segments are compared only with
    /// each other, and the gap is reported.
    pub(super) fn read(
        folder: &LedgerFolder<'_>,
        keyring: Option<&Keyring>,
    ) -> Result<(Self, Option<Gap>), Fault> {
        let own = keyring.map(Keyring::signing_chain);
        let met = BTreeMap::new();
        let note = match folder.note() {
            Ok(note) => note,
            Err(error) => {
                let gap = own.is_none().then(|| gap(&error));
                return Ok((Self { chain: own.cloned(), met, unvouched_note: None }, gap));
            }
        };
        // A note ends at the first byte that is no text.
        let text = String::from_utf8_lossy(&note);
        let chain = parse_signing_chain(&text).map_err(|error| note_fault(&text, error.into()))?;
        if let Some(own) = own {
            agree(own, &chain).map_err(|kind| note_fault(&text, kind))?;
        }
        let unvouched_note = own.is_none().then(|| text.into_owned());
        Ok((Self { chain: Some(chain), met, unvouched_note }, None))
    }

    /// Notes that a key that the verifier brought is in the note.
    pub(super) fn vouch_for_note(&mut self) {
        self.unvouched_note = None;
    }

    /// Returns the ledger's keys, where they are known.
    pub(super) fn chain(&self) -> Option<&SigningChain> {
        self.chain.as_ref()
    }

    /// Returns the number of the key that certified the last segment met.
    pub(super) fn last(&self) -> Option<u32> {
        self.met.last_key_value().map(|(number, _)| *number)
    }

    /// Checks the certificate of a segment, in the file of this name.
    ///
    /// The first segment may be certified by another key than the one in the note. Then the note is at fault, because it has no
    /// checksum, unless more than the note confirms the ledger's keys.
    pub(super) fn check(&mut self, file: String, header: &SegmentHeader) -> Result<(), Fault> {
        let first = header.first_position;
        self.check_key(header).map_err(|kind| match (kind, self.unvouched_note.take()) {
            (FaultKind::Signer { number, expected, found }, Some(note)) => {
                note_fault(&note, FaultKind::NoteKey { number, expected: found, found: expected, file })
            }
            (kind, _) => Fault::at(file, 0, first, None, kind),
        })?;
        self.unvouched_note = None;
        Ok(())
    }

    /// Checks the signature of a released segment's file. Nothing is known of a key that nobody names; the missing note was reported.
    pub(super) fn check_released(&self, released: &ReleasedSegment) -> Result<(), ReleasedError> {
        let met = |key| self.met.get(&key);
        match (&self.chain, released.signed.and_then(|signed| met(signed.key))) {
            (Some(chain), _) => released.check_signature(chain),
            (None, Some(key)) => released.check_signature_by(key),
            (None, None) => Ok(()),
        }
    }

    fn check_key(&mut self, header: &SegmentHeader) -> Result<(), FaultKind> {
        let (number, found) = (header.signing_key_index, header.signing_public);
        if let Some((last, _)) = self.met.last_key_value().filter(|(last, _)| **last > number) {
            return Err(FaultKind::RetiredSigner { expected: *last, found: number });
        }
        let expected = match &self.chain {
            Some(chain) => {
                let unknown = FaultKind::UnknownSigner { known: chain.active_index(), found: number };
                Some(*chain.key(number).ok_or(unknown)?.as_bytes())
            }
            None => self.met.get(&number).copied(),
        };
        self.met.insert(number, found);
        expected.map_or(Ok(()), |expected| same_key(number, &expected, &found))
    }
}

/// Checks that a note and a keyring agree. A keyring confirms the ledger's keys; the note may be older or newer, but
/// must have the same keys.
fn agree(own: &SigningChain, note: &SigningChain) -> Result<(), FaultKind> {
    for number in 1..=own.active_index().min(note.active_index()) {
        if let (Some(own), Some(note)) = (own.key(number), note.key(number)) {
            same_key(number, own.as_bytes(), note.as_bytes())?;
        }
    }
    Ok(())
}

fn same_key(number: u32, expected: &[u8; 32], found: &[u8; 32]) -> Result<(), FaultKind> {
    if expected == found {
        return Ok(());
    }
    Err(FaultKind::Signer { number, expected: hex::encode(expected), found: hex::encode(found) })
}

fn gap(error: &io::Error) -> Gap {
    let file = NOTE.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => Gap::NoNote { file },
        _ => Gap::Unreadable { path: file, what: error.to_string() },
    }
}

/// Returns a fault of the note, which vouches for every position.
fn note_fault(text: &str, kind: FaultKind) -> Fault {
    let line = match &kind {
        FaultKind::Note(SigningChainError::Line { line, .. }) => *line,
        // The keys stand behind the first line, one a line.
        FaultKind::Signer { number, .. } | FaultKind::NoteKey { number, .. } => *number as usize + 1,
        _ => 1,
    };
    let offset = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>() as u64;
    Fault {
        file: NOTE.to_owned(),
        offset,
        first_position: 1,
        last_position: None,
        kind: Box::new(kind),
        torn: false,
    }
}

#[cfg(test)]
mod tests {
    use bitacora_formats::LineProblem;

    use super::*;

    #[test]
    fn a_fault_of_the_note_is_told_at_the_line_that_it_is_in() {
        let text = "title\nfirst key\nsecond key\n";
        let line = |line| FaultKind::Note(SigningChainError::Line { line, problem: LineProblem::Unknown });
        let signer = |number| FaultKind::Signer { number, expected: String::new(), found: String::new() };
        for (kind, offset) in [
            (FaultKind::Note(SigningChainError::NotANote), 0),
            (line(1), 0),
            (line(2), 6),
            (line(3), 16),
            (line(4), 27),
            (signer(1), 6),
            (signer(2), 16),
        ] {
            let fault = note_fault(text, kind);
            assert_eq!((fault.file.as_str(), fault.offset), (NOTE, offset), "{fault}");
            assert_eq!((fault.first_position, fault.last_position), (1, None), "{fault}");
        }
    }
}
