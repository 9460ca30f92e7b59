//! Any bytes are a policy of witnesses or a typed error.
//!
//! The target decides a second time, from the text, which witnesses are enough. Fewer witnesses are never better, and
//! comments and empty lines change nothing.
#![no_main]

use bitacora_formats::{WitnessKey, WitnessPolicy};
use bitacora_formats_fuzz::assert_one_line;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let policy = match WitnessPolicy::parse(bytes) {
        Err(error) => return assert_one_line(&error),
        Ok(policy) => policy,
    };
    let spaced: Vec<u8> =
        bytes.split_inclusive(|byte| *byte == b'\n').collect::<Vec<_>>().join(&b"\t# said\n\n"[..]);
    assert_eq!(WitnessPolicy::parse(&spaced).as_ref(), Ok(&policy));

    let lines = PolicyLines::of(bytes, &policy);
    let keys = policy.witness_keys();
    assert!(policy.is_met(&keys));
    assert_eq!(policy.is_met([]), !policy.asks_for_witnesses());
    // Sets of witnesses as the input's own bytes choose them, and each with the first witness too.
    for chosen in bytes.chunks(8).take(8) {
        let is_chosen =
            |place: usize| chosen.get(place / 8 % 8).is_some_and(|byte| byte >> (place % 8) & 1 == 1);
        let some: Vec<&WitnessKey> =
            keys.iter().enumerate().filter(|(place, _)| is_chosen(*place)).map(|(_, key)| key).collect();
        let is_met = policy.is_met(some.iter().copied());
        assert_eq!(is_met, lines.is_met(&some), "{some:?}");
        assert_eq!(policy.is_met(some.iter().rev().chain(&some).copied()), is_met);
        assert!(!is_met || policy.is_met(some.iter().copied().chain(keys.first())));
    }
});

/// The words of each line that names something.
struct PolicyLines<'a> {
    named: Vec<Vec<&'a [u8]>>,
    quorum: &'a [u8],
    /// The witnesses' names as they are written, with their keys.
    witnesses: Vec<(&'a [u8], WitnessKey)>,
}

impl<'a> PolicyLines<'a> {
    fn of(bytes: &'a [u8], policy: &WitnessPolicy) -> Self {
        let words = |line: &'a [u8]| -> Vec<&'a [u8]> {
            line.split(|byte| b" \t".contains(byte)).filter(|word| !word.is_empty()).collect()
        };
        let lines: Vec<_> =
            bytes.split(|byte| *byte == b'\n').map(words).filter(|words| !words.is_empty()).collect();
        let of_kind = |kind: &'static [u8]| lines.iter().filter(move |words| words[0] == kind);
        let mut quorums = of_kind(b"quorum");
        let quorum = quorums.next().unwrap()[1];
        assert!(quorums.next().is_none());
        let witnesses: Vec<_> =
            of_kind(b"witness").map(|words| words[1]).zip(policy.witness_keys()).collect();
        assert_eq!(witnesses.len(), policy.witnesses().len());
        assert_eq!(of_kind(b"log").count(), policy.logs().len());
        let named = of_kind(b"group").cloned().collect();
        Self { named, quorum, witnesses }
    }

    fn is_met(&self, by: &[&WitnessKey]) -> bool {
        self.quorum == b"none" || self.counts(self.quorum, by)
    }

    fn counts(&self, name: &[u8], by: &[&WitnessKey]) -> bool {
        if let Some((_, key)) = self.witnesses.iter().find(|(other, _)| *other == name) {
            return by.contains(&key);
        }
        let group = self.named.iter().find(|words| words[1] == name).unwrap();
        let members = &group[3..];
        let counting = members.iter().filter(|member| self.counts(member, by)).count();
        let enough = match group[2] {
            b"all" => members.len(),
            b"any" => 1,
            number => std::str::from_utf8(number).unwrap().parse().unwrap(),
        };
        assert!((1..=members.len()).contains(&enough));
        counting >= enough
    }
}
