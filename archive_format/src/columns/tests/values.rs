//! Values that are easily written back as others.

use super::*;

/// JSON and what is none, each of which a reader may be tempted to write otherwise.
const HOSTILE: [&[u8]; 46] = [
    b"",
    b" ",
    b"null",
    b"true",
    b"\"\"",
    b"{}",
    b"[]",
    b"[ ]",
    b"0",
    b"-0",
    b"-0.0",
    b"0.0",
    b"00",
    b"01",
    b"+1",
    b"1.",
    b".5",
    b"1.50",
    b"1e400",
    b"1E+2",
    b"-1e-7",
    b"NaN",
    b"Infinity",
    b"9007199254740993",
    b"9223372036854775807",
    b"9223372036854775808",
    b"-9223372036854775808",
    b"99999999999999999999999999",
    b"0.000000000000000001",
    b"123456789012345678.9",
    br#"{"a":1,"a":2}"#,
    br#"{"a" : "\u00e9\"\\" ,"b":[1,{"c":null}]}"#,
    br#"{"\u0061":1}"#,
    br#"{"a":"x"#,
    br#"{"a":}"#,
    b"{\"a\":1}}",
    b"[1,2",
    b"\"\\",
    b"\"\x01\"",
    b"\x01",
    b"\x02",
    b"{\"\x01\":2}",
    b"\xEF\xBB\xBF{}",
    b"\xFF\xFE",
    b"{\"a\":\"\xF0\x28\"}",
    b"tru",
];

/// Texts of one column that look like more than they are.
const MISLEADING: [&[&str]; 14] = [
    &["1", "2", "03", "4"],
    &["001", "002", "1000", "0999"],
    &["1.5", "-0.5", "-0.0", "2"],
    &["0.10", "0.1", "1.0", "10"],
    &["2026-11-20T13:00:00Z", "2026-11-20T13:00:01Z", "2016-12-31T23:59:60Z"],
    &["2026-11-20T13:00:00.123Z", "2026-11-20T13:00:00.1234Z", "2026-11-20t13:00:00.123Z"],
    &["1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"],
    &["deadbeefdeadbeef", "DEADBEEFDEADBEEF", "deadbeefdeadbeeF"],
    &["deadbeefdeadbeef0", "00000000000000000", "11111111111111111"],
    &["123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000", "--------"],
    &["01ARZ3NDEKTSV4RRFFQ69G5FAV", "81ARZ3NDEKTSV4RRFFQ69G5FAV", "01arz3ndektsv4rrffq69g5fav"],
    &["aGVsbG8gd29ybGQhISEhIQ==", "aGVsbG8gd29ybGQhISEhIR==", "aGVsbG8gd29ybGQhISEhIQ"],
    &["call-000123", "call-000124", "call-1", "call-"],
    &["", "a", "", "b"],
];

#[test]
fn hostile_data_comes_back() {
    let records: Vec<Vec<u8>> = HOSTILE.iter().map(|json| record_of("a", json)).collect();
    round_trip(&rows(&records));
    // And each often enough to have a shape of its own.
    for json in HOSTILE {
        let records: Vec<Vec<u8>> = (0..9).map(|number| record_of(&number.to_string(), json)).collect();
        round_trip(&rows(&records));
    }
}

#[test]
fn values_come_back_as_they_were_written() {
    for texts in MISLEADING {
        for repeated in [1, 5, 40] {
            let texts = texts.iter().cycle().take(texts.len() * repeated);
            let records: Vec<Vec<u8>> = texts
                .flat_map(|text| [format!("{{\"v\":\"{text}\"}}"), format!("{{\"v\": {text} }}")])
                .zip(0..)
                .map(|(json, number)| record_of(&format!("id-{number}"), json.as_bytes()))
                .collect();
            round_trip(&rows(&records));
        }
    }
}

/// Records of so many events, each with what a text says of its number for data.
fn numbered(count: usize, json: impl Fn(usize) -> String) -> Vec<Vec<u8>> {
    (0..count).map(|number| record_of(&format!("id-{number}"), json(number).as_bytes())).collect()
}

#[test]
fn columns_of_every_form_come_back() {
    let mut seeded = SeededRng::new(3);
    let mut hex_of =
        |bytes: usize| hex::encode((0..bytes).map(|_| seeded.number().to_le_bytes()[0]).collect::<Vec<_>>());
    let hex: Vec<String> = (0..200).map(|_| hex_of(16)).collect();
    let uuid = |text: &str| {
        format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
    };
    let base64 = |text: &str| {
        use base64::Engine;
        base64::engine::general_purpose::STANDARD.encode(hex::decode(text).unwrap())
    };
    let forms: [&dyn Fn(usize) -> String; 16] = [
        &|number| format!("{{\"v\":{number}}}"),
        &|number| format!("{{\"v\":{}}}", number * number * 1_000),
        &|number| format!("{{\"v\":-{}.{:02}}}", number + 1, number % 100),
        &|number| {
            if number % 9 == 4 {
                "{\"v\":null}".into()
            } else {
                format!("{{\"v\":{}}}", number * 977 % 5_000)
            }
        },
        &|number| format!("{{\"v\":\"call-{number:06}\"}}"),
        &|number| format!("{{\"v\":\"{}\"}}", hex[number]),
        &|number| format!("{{\"v\":\"{}\"}}", hex[number].to_uppercase()),
        &|number| format!("{{\"v\":\"{}\"}}", uuid(&hex[number])),
        &|number| format!("{{\"v\":\"{}\"}}", base64(&hex[number])),
        &|number| format!("{{\"v\":\"01ARZ3NDEKTSV4RRFFQ69G5{number:03}\"}}"),
        &|number| format!("{{\"v\":\"id-{number}/of\",\"w\":\"{}\"}}", number % 7),
        &|number| {
            if number % 7 == 3 {
                "{\"v\":\"other\"}".into()
            } else {
                format!("{{\"v\":\"see id-{number} there\"}}")
            }
        },
        &|number| {
            format!(
                "{{\"v\":\"2026-11-20T13:{:02}:{:02}.{:03}Z\"}}",
                number / 60,
                number % 60,
                number * 7 % 1_000
            )
        },
        &|number| {
            format!(
                "{{\"v\":[{}]}}",
                (0..number % 5).map(|item| item.to_string()).collect::<Vec<_>>().join(",")
            )
        },
        &|number| format!("{{\"k\":\"{}\",\"v\":{}}}", number * 31 % 11, number / 11),
        &|number| {
            format!(
                "{{\"k\":\"{}\",\"v\":\"{}\"}}",
                ["a", "b", "c"][number * 7 % 3],
                ["x", "y", "z"][number * 7 % 3]
            )
        },
    ];
    for form in forms {
        let records = numbered(200, form);
        round_trip(&rows(&records));
    }
}

#[test]
fn large_deep_and_wide_data_comes_back() {
    let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let wide = |values: usize| format!("[{}]", vec!["7"; values].join(","));
    let huge = format!("{{\"text\":\"{}\"}}", "abcdefgh\\n".repeat(200_000));
    let data = [deep(63), deep(64), deep(65), deep(3_000), wide(256), wide(257), wide(20_000), huge];
    for json in &data {
        round_trip(&rows(&numbered(4, |_| json.clone())));
    }
    round_trip(&rows(&numbered(data.len(), |number| data[number].clone())));
}

#[test]
fn more_forms_and_shapes_than_there_may_be_come_back() {
    let shapes = numbered(6_000, |number| format!("{{\"k{}\":1,\"l{}\":\"x\"}}", number / 2, number / 2));
    round_trip(&rows(&shapes));
    let kinds: Vec<Vec<u8>> =
        (0..3_000).map(|number| encoded(Event::new("i", "s", format!("kind.{number}"), "stream"))).collect();
    round_trip(&rows(&kinds));
}

#[test]
fn as_many_values_as_there_may_be_come_back() {
    let list =
        |number: usize| (0..256).map(|value| (value * number % 10).to_string()).collect::<Vec<_>>().join(",");
    let lists: Vec<String> = (0..10).map(list).collect();
    let records = numbered(MAX_GROUP_ROWS, |number| format!("[{}]", lists[number % 10]));
    round_trip(&rows(&records));
}
