//! The sizes of groups: much smaller than zstd alone makes them.

use zstd::bulk;

use super::*;

/// Events as one agent's calls make them: a request, and what came of it, of several calls at a time.
fn calls(count: usize) -> Vec<Vec<u8>> {
    let mut seeded = SeededRng::new(5);
    let ids: Vec<String> = (0..=count).map(|_| hex::encode(seeded.number().to_le_bytes())).collect();
    let event = |number: usize| {
        let (call, done) = (&ids[number / 2 + number % 2], number.is_multiple_of(2));
        let kind = if done { "tool.completed" } else { "tool.requested" };
        let run = format!("run-{}", number / 50);
        let mut event = Event::new(
            format!("{call}#{}", if done { "outcome" } else { "asked" }),
            "harness",
            kind,
            format!("run/{run}"),
        );
        event.run = Some(run.into());
        event.call = Some(call.clone().into());
        let tool = ["read", "write", "shell"][number / 2 % 3];
        let json = if done {
            format!(
                "{{\"call\":\"{call}\",\"tool\":\"{tool}\",\"status\":\"ok\",\"duration_ms\":{}}}",
                number * 37 % 100
            )
        } else {
            format!(
                "{{\"call\":\"{call}\",\"tool\":\"{tool}\",\"args\":{{\"path\":\"src/file{}.rs\"}}}}",
                number * 13 % 40
            )
        };
        event.data = Data::Json(Json::check(json.into_bytes()).unwrap());
        encoded(event)
    };
    (0..count).map(event).collect()
}

#[test]
fn calls_become_smaller_than_zstd_alone_makes_them() {
    let records = calls(4_000);
    let mut rows = rows(&records);
    let mut version = 0;
    for (row, number) in rows.iter_mut().zip(0..) {
        version = if number % 50 == 0 { 1 } else { version + 1 };
        row.stream_version = StreamVersion::new(version).unwrap();
        row.begins_request = true;
        row.begins_frame = number % 3 == 0;
        row.time = Micros(1_800_000_000_000_000 + number / 3 * 900);
    }
    let columns = round_trip(&rows).len();
    let alone = bulk::compress(&records.concat(), 19).unwrap().len();
    // Eight random bytes a call are what nothing makes smaller.
    let random = 8 * records.len() / 2;
    assert!(columns < random + 6_000, "{columns} bytes");
    assert!(columns * 2 < alone, "{columns} bytes, {alone} by zstd alone");
}

#[test]
fn what_follows_from_other_columns_costs_nearly_nothing() {
    let records: Vec<Vec<u8>> = (0..8_000)
        .map(|number| {
            let key = format!("dimension/{}", number * 7 % 10);
            let mut event = Event::new(
                format!("{}:{key}", 1_770_000_000_000_u64 + number),
                "import",
                "x.seen",
                key.clone(),
            );
            event.time =
                Some(bitacora_formats::format_time(Micros((1_770_000_000_000 + number) * 1_000)).into());
            let json = format!("{{\"at\":{},\"key\":\"{key}\"}}", 1_770_000_000_000 + number);
            event.data = Data::Json(Json::check(json.into_bytes()).unwrap());
            encoded(event)
        })
        .collect();
    let mut rows = rows(&records);
    for (row, number) in rows.iter_mut().zip(0..) {
        row.stream_version = StreamVersion::new(number / 10 + 1).unwrap();
    }
    let columns = round_trip(&rows).len();
    assert!(columns < 700, "{columns} bytes");
}

#[test]
fn the_same_rows_become_the_same_bytes_every_time() {
    let mut records = calls(200);
    // As many rows of each shape, so that only the order in which they came tells shapes apart.
    records.extend((0..120).map(|number| {
        let json = format!("{{\"name{}\":{number},\"text\":\"{number}\"}}", number % 40);
        record_of("a", json.as_bytes())
    }));
    let blob = round_trip(&rows(&records));
    for _ in 0..3 {
        assert!(encode_columns(&rows(&records), LEVEL).unwrap() == blob);
    }
}

#[test]
fn numbers_are_compressed_no_harder_than_is_worth_the_time() {
    let mut seeded = SeededRng::new(8);
    let records: Vec<Vec<u8>> =
        (0..8_000).map(|_| record_of("a", format!("{}", seeded.below(9_u32).pow(2)).as_bytes())).collect();
    let at = |level: i32| encode_columns(&rows(&records), level).unwrap();
    assert!(at(15) == at(19));
    assert!(at(9).len() > at(15).len());
}
