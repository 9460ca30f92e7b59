//! Events from a seed.
//!
//! The unit tests of `formats` cannot use them: there, the types of this crate's `formats` are other types.

use std::borrow::Cow;

use bitacora_formats::{Data, Event, ExtensionValue, Json, Micros, format_time};

use crate::SeededRng;

/// Returns a valid event, every attribute of it sometimes there.
#[must_use]
pub fn random_event(rng: &mut SeededRng) -> Event<'static> {
    let mut event = Event::new(rng.text(256), rng.text(200), rng.text(128), rng.text(128));
    event.time = rng.sometimes(|seeded| format_time(Micros(seeded.number() >> 14)).into());
    event.datacontenttype = optional_text(rng);
    event.dataschema = optional_text(rng);
    event.actor = optional_text(rng);
    event.agent = optional_text(rng);
    event.session = optional_text(rng);
    event.run = optional_text(rng);
    event.call = optional_text(rng);
    event.correlationid = optional_text(rng);
    event.causationid = optional_text(rng);
    event.traceparent = optional_text(rng);
    event.datasubject = optional_text(rng);
    event.tags = (0..rng.below(17)).map(|tag| format!("{}{tag}", rng.text(100)).into()).collect();
    event.extensions = (0..rng.below(33)).map(|number| extension(rng, number)).collect();
    event.data = match rng.below(3) {
        0 => Data::None,
        1 => Data::Json(Json::check(rng.json(3).into_bytes()).unwrap()),
        _ => Data::Binary(rng.bytes(100).into()),
    };
    event
}

fn extension(rng: &mut SeededRng, number: usize) -> (Cow<'static, str>, ExtensionValue<'static>) {
    let value = match rng.below(3) {
        0 => ExtensionValue::Text(rng.text(40).split_off(1).into()),
        1 => ExtensionValue::Integer(i32::from_le_bytes(rng.number().to_le_bytes()[..4].try_into().unwrap())),
        _ => ExtensionValue::Boolean(rng.below(2) == 0),
    };
    (format!("ext{number:02}").into(), value)
}

fn optional_text(rng: &mut SeededRng) -> Option<Cow<'static, str>> {
    rng.sometimes(|rng| rng.text(40).into())
}
