//! Generated histories of agents at work, as the bodies of frames.
//!
//! Nothing in them was ever said or done by anyone.

mod foreign;
mod json_text;
mod random;
mod session;
mod tools;
mod words;

use bitacora_formats::{BodyWriter, Event, EventDraft, Record, StreamVersion, encode_record};

use random::SplitMix;
use session::{GeneratedSession, Request};
pub(crate) use words::Vocabulary;

/// The history the dictionary is trained on.
pub(crate) const TRAINING_SEED: u64 = 1;
/// The history it is measured on.
pub(crate) const HELD_OUT_SEED: u64 = 2;

/// The bodies of `count` frames: most hold one request, some a burst of them.
pub(crate) fn frame_bodies(seed: u64, words: Vocabulary, count: usize) -> Vec<Vec<u8>> {
    let mut random = SplitMix::new(seed);
    let mut sessions: Vec<GeneratedSession> =
        (0..6).map(|_| GeneratedSession::start(&mut random, words)).collect();
    let mut bodies = Vec::with_capacity(count);
    while bodies.len() < count {
        let requests = if random.chance(70) { 1 } else { random.between(2, 8) };
        let mut body = BodyWriter::new();
        for _ in 0..requests {
            let turn = usize::try_from(random.number()).unwrap() % sessions.len();
            let session = &mut sessions[turn];
            append(&mut body, &session.next_request(&mut random), &mut random);
            if session.is_over() {
                *session = GeneratedSession::start(&mut random, words);
            }
        }
        bodies.push(body.finish().unwrap());
    }
    bodies
}

fn append(body: &mut BodyWriter, request: &Request, random: &mut SplitMix) {
    body.begin_request(u32::try_from(request.submitted).unwrap()).unwrap();
    for event in &request.events {
        let record = encode_record(&record_of(event.clone())).unwrap();
        let version = StreamVersion::new(random.between(1, 400)).unwrap();
        body.entry(version, &record, None).unwrap();
    }
    body.end_request().unwrap();
}

fn record_of(event: Event<'static>) -> Record<'static> {
    event.validate().unwrap();
    match Record::draft(event, 0) {
        EventDraft::Clear(record) => record,
        EventDraft::Sensitive { .. } => unreachable!("no generated event names a data subject"),
    }
}
