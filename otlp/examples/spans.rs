//! Measures how many spans a second one core checks, and checks and makes events of, from memory.
//!
//! Usage: `cargo run --release -p bitacora-otlp --example spans [SECONDS]`. The spans are those of `tests/otlp/bench.py`.

#![expect(clippy::print_stdout, clippy::cast_possible_truncation, reason = "a tool that is run by hand")]

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use bitacora_otlp::{Encoding, MalformedRequest, MappedRecord, Signal, check, for_each};

/// Spans of a request.
const SPANS: u64 = 500;
/// The seconds of each measurement, when none are given.
const SECONDS: u64 = 2;

fn main() -> Result<(), MalformedRequest> {
    let seconds = std::env::args().nth(1).and_then(|given| given.parse().ok()).unwrap_or(SECONDS);
    let time = Duration::from_secs(seconds);
    let body = request();
    println!("{SPANS} spans a request of {} bytes", body.len());
    let checked = rate(time, || check(Signal::Traces, Encoding::Protobuf, &body).map(drop))?;
    println!("checked            {checked:>12.0} a second");
    let mut bytes = 0;
    let mapped = rate(time, || {
        check(Signal::Traces, Encoding::Protobuf, &body)?;
        bytes = 0;
        for_each(Signal::Traces, Encoding::Protobuf, &body, |record| {
            if let MappedRecord::Event(event) = record {
                bytes += event.data.len();
            }
            ControlFlow::Continue(())
        })
    })?;
    println!("checked and mapped {mapped:>12.0} a second, {} bytes of data each", bytes as u64 / SPANS);
    Ok(())
}

/// Returns spans a second of work on whole requests.
fn rate(
    time: Duration,
    mut work: impl FnMut() -> Result<(), MalformedRequest>,
) -> Result<f64, MalformedRequest> {
    let (began, mut requests) = (Instant::now(), 0_u64);
    while began.elapsed() < time {
        work()?;
        requests += 1;
    }
    Ok((requests * SPANS) as f64 / began.elapsed().as_secs_f64())
}

fn request() -> Vec<u8> {
    let mut scope = field(1, &field(1, b"bench.agents"));
    for number in 1..=SPANS {
        scope.extend(field(2, &span(number)));
    }
    let resource = field(1, &attribute(1, "service.name", "bench"));
    field(1, &[resource, field(2, &scope)].concat())
}

fn span(number: u64) -> Vec<u8> {
    let begin = 1_795_000_000_000_000_000 + number * 1_000;
    let texts = [
        ("gen_ai.operation.name", "execute_tool".to_owned()),
        ("gen_ai.tool.name", "get_weather".to_owned()),
        ("gen_ai.tool.call.id", format!("call_{number}")),
        ("gen_ai.conversation.id", format!("conv-{}", number / 1_000)),
        ("gen_ai.tool.type", "function".to_owned()),
        ("gen_ai.tool.call.arguments", format!(r#"{{"city": "Bilbao", "day": {number}}}"#)),
    ];
    let mut span = [
        field(1, &u128::from(number / 20 + 1).to_be_bytes()),
        field(2, &number.to_be_bytes()),
        field(5, b"execute_tool get_weather"),
        vec![6 << 3, 1],
        [&[7 << 3 | 1][..], &begin.to_le_bytes()].concat(),
        [&[8 << 3 | 1][..], &(begin + 12_000_000).to_le_bytes()].concat(),
    ]
    .concat();
    span.extend(texts.iter().flat_map(|(key, text)| attribute(9, key, text)));
    span
}

fn attribute(number: u8, key: &str, text: &str) -> Vec<u8> {
    field(number, &[field(1, key.as_bytes()), field(2, &field(1, text.as_bytes()))].concat())
}

/// A field of protobuf that holds bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut length) = (vec![number << 3 | 2], bytes.len());
    while length > 0x7f {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(bytes);
    out
}
