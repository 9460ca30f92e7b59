use std::borrow::Cow;

use super::*;
use crate::event::{AttributeProblem, Data, ExtensionValue};
use crate::json::Json;
use crate::limits::{MAX_EXTENSIONS, MAX_ID_BYTES, MAX_SOURCE_BYTES, MAX_STREAM_BYTES, MAX_TYPE_BYTES};
use bitacora_testkit::{SeededRng, damaged};

/// Every member, in the order in which they are written.
const WHOLE: &str = concat!(
    r#"{"specversion":"1.0","id":"0198f3a2-7c1e-7000-8000-000000000001","source":"harness/coder","#,
    r#""type":"tool.completed","subject":"run-7","time":"2026-11-20T13:00:00.25+01:00","#,
    r#""datacontenttype":"application/json","dataschema":"https://example.com/tool","actor":"ana","agent":"coder","#,
    r#""session":"s-1","run":"r-7","call":"c-42","correlationid":"k-1","causationid":"k-0","#,
    r#""traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","datasubject":"customer-9","#,
    r#""tags":"billing eu","attempt":2,"dryrun":false,"region":"eu-\"1\" ü","#,
    r#""data":{"tool" : "fs.write","n":1.50,"text":"\u00e9\n"}}"#,
);

const SMALLEST: &str = r#"{"specversion":"1.0","id":"1","source":"s","type":"t","subject":"x"}"#;

/// [`SMALLEST`] with one member replaced, or with more members.
fn with(replace: &str, by: &str) -> String {
    assert!(SMALLEST.contains(replace), "{replace}");
    SMALLEST.replacen(replace, by, 1)
}

fn and(members: &str) -> String {
    with("}", &format!(",{members}}}"))
}

fn parse_one(body: &str) -> Result<Event<'_>, ParseError> {
    let mut events = parse_events(body.as_bytes(), BodyForm::Structured, None)?;
    assert_eq!(events.len(), 1);
    Ok(events.remove(0))
}

fn written(event: &Event<'_>) -> String {
    let mut out = Vec::new();
    write_event(event, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn every_member_finds_its_field_and_is_written_back() {
    let event = parse_one(WHOLE).unwrap();
    let text = |text| Some(Cow::Borrowed(text));
    let data = r#"{"tool" : "fs.write","n":1.50,"text":"\u00e9\n"}"#;
    let expected = Event {
        time: text("2026-11-20T13:00:00.25+01:00"),
        datacontenttype: text("application/json"),
        dataschema: text("https://example.com/tool"),
        actor: text("ana"),
        agent: text("coder"),
        session: text("s-1"),
        run: text("r-7"),
        call: text("c-42"),
        correlationid: text("k-1"),
        causationid: text("k-0"),
        traceparent: text("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        datasubject: text("customer-9"),
        tags: vec!["billing".into(), "eu".into()],
        extensions: vec![
            ("attempt".into(), ExtensionValue::Integer(2)),
            ("dryrun".into(), ExtensionValue::Boolean(false)),
            ("region".into(), ExtensionValue::Text("eu-\"1\" ü".into())),
        ],
        data: Data::Json(Json::check(data.as_bytes()).unwrap()),
        ..Event::new("0198f3a2-7c1e-7000-8000-000000000001", "harness/coder", "tool.completed", "run-7")
    };
    assert_eq!(event, expected);
    assert_eq!(written(&event), WHOLE);
}

#[test]
fn what_is_written_without_escapes_is_borrowed() {
    let event = parse_one(WHOLE).unwrap();
    assert!(matches!(event.id, Cow::Borrowed(_)) && matches!(event.call, Some(Cow::Borrowed(_))));
    assert!(matches!(event.tags[1], Cow::Borrowed("eu")));
    assert_eq!(event.clone().into_owned(), event);
}

#[test]
fn no_damage_to_a_body_makes_the_reader_panic() {
    let batch = format!("[{WHOLE},{}]", and(r#""data_base64":"AAEC","tags":"a b""#));
    for bytes in damaged(batch.as_bytes()) {
        for form in [BodyForm::Batch, BodyForm::Ndjson, BodyForm::Json] {
            // An event that is still taken is valid, and survives another round.
            for event in parse_events(&bytes, form, None).into_iter().flatten() {
                event.validate().unwrap();
                assert_eq!(parse_one(&written(&event)).unwrap(), event);
            }
        }
    }
    let mut seeded = SeededRng::new(2);
    for _ in 0..20_000 {
        let bytes = seeded.bytes(64);
        assert!(parse_events(&bytes, BodyForm::Ndjson, Some("s")).is_err(), "{bytes:?}");
    }
}

#[track_caller]
fn refused(body: &str, code: &str, pointer: &str) {
    let error = parse_one(body).unwrap_err();
    assert_eq!((error.code(), error.pointer.as_str()), (code, pointer), "{body}: {error}");
    assert!(!error.to_string().contains('\n'), "{error}");
}

#[test]
fn not_json() {
    for body in ["", " ", "\u{feff}{}", "hello", "{'id':1}", "{\"id\":NaN}", "{\"id\":01}", "{\"id\":\"\t\"}"]
    {
        let error = parse_one(body).unwrap_err();
        assert!(["not-json", "truncated-json"].contains(&error.code()), "{body:?}: {error}");
    }
    refused(&format!("{SMALLEST}{SMALLEST}"), "not-json", "");
    refused(&format!("{SMALLEST},"), "not-json", "");
    refused(&and(r#""data":nan"#), "not-json", "/data");
    refused(&and(r#""data":{"a":tru}"#), "not-json", "/data");
    let error = parse_one("{\n  \"id\": x}").unwrap_err();
    assert_eq!((error.line, error.column, error.pointer.as_str()), (Some(2), Some(9), "/id"));
    assert_eq!(error.to_string(), "line 2 column 9, at /id: not json");
}

#[test]
fn truncated() {
    for end in 0..WHOLE.len() {
        if WHOLE.is_char_boundary(end) {
            assert_eq!(parse_one(&WHOLE[..end]).unwrap_err().code(), "truncated-json", "{end}");
        } else {
            let error = parse_events(&WHOLE.as_bytes()[..end], BodyForm::Structured, None).unwrap_err();
            assert_eq!(error.code(), "invalid-utf8");
        }
    }
}

#[test]
fn invalid_utf8() {
    let mut body = and("\"data\":\n\"€\"").into_bytes();
    let at = body.iter().position(|byte| *byte == 0xE2).unwrap();
    body[at] = 0xFF;
    let error = parse_events(&body, BodyForm::Json, None).unwrap_err();
    assert_eq!((error.code(), error.line, error.column), ("invalid-utf8", Some(2), Some(2)));
}

#[test]
fn duplicate_keys() {
    refused(&and(r#""id":"2""#), "duplicate-key", "/id");
    refused(&and(r#""actor":null,"actor":"a""#), "duplicate-key", "/actor");
    refused(&and(r#""data":1,"data":1"#), "duplicate-key", "/data");
    refused(&and(r#""ext":null,"other":1,"ext":1"#), "duplicate-key", "/ext");
    refused(&and(r#""\u0069d":"2""#), "duplicate-key", "/id");
    refused(&and(r#""data":{"a":{"b":1,"c":2,"b":1}}"#), "duplicate-key", "/data/a/b");
}

#[test]
fn numbers_past_2_53() {
    refused(&and(r#""data":{"n":[0,9007199254740993]}"#), "number-range", "/data/n/1");
    refused(&and(r#""data":1e400"#), "number-range", "/data");
    refused(&and(r#""ext":1e400"#), "number-range", "/ext");
    refused(&and(r#""ext":2147483648"#), "bad-attribute", "/ext");
    refused(&and(r#""ext":1.5"#), "bad-attribute", "/ext");
    assert!(parse_one(&and(r#""ext":-2147483648"#)).is_ok());
}

#[test]
fn lone_surrogates() {
    refused(&and(r#""data":{"a":"\ud800"}"#), "lone-surrogate", "/data/a");
    refused(&with(r#""id":"1""#, r#""id":"\udc00""#), "lone-surrogate", "/id");
    refused(&and(r#""data":{"\ud83d":1}"#), "lone-surrogate", "/data");
}

#[test]
fn nul() {
    refused(&with(r#""id":"1""#, r#""id":"a\u0000""#), "nul-character", "/id");
    refused(&and(r#""ext":"\u0000""#), "nul-character", "/ext");
    refused(&and(r#""data":["\u0000"]"#), "nul-character", "/data/0");
    refused(&and(r#""data":{"\u0000":1}"#), "nul-character", "/data");
    refused(&with(r#""id":"1""#, "\"id\":\"\0\""), "nul-character", "/id");
}

#[test]
fn nested_10_000_deep() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
    let bodies = [
        (and(&format!("\"data\":{}", deep("[", "]"))), "too-deep"),
        (and(&format!("\"data\":{}", deep("{\"a\":", "}"))), "too-deep"),
        (with("}", &format!(",\"data\":{}", "[".repeat(10_000))), "truncated-json"),
        (and(&format!("\"ext\":{}", deep("[", "]"))), "bad-attribute"),
        (deep("{\"a\":", "}"), "bad-attribute"),
        (deep("[", "]"), "not-an-event"),
    ];
    // A stack far smaller than any the service has.
    let reading = move || {
        for (body, code) in bodies {
            assert_eq!(parse_events(body.as_bytes(), BodyForm::Json, None).unwrap_err().code(), code);
        }
    };
    std::thread::Builder::new().stack_size(128 * 1_024).spawn(reading).unwrap().join().unwrap();
}

#[test]
fn nested_64_deep_is_taken() {
    let nested = |depth| and(&format!("\"data\":{}{}", "[".repeat(depth), "]".repeat(depth)));
    assert!(parse_one(&nested(64)).is_ok());
    refused(&nested(65), "too-deep", &format!("/data{}", "/0".repeat(64)));
}

#[test]
fn missing_attributes() {
    for (member, name) in [
        (r#""specversion":"1.0","#, "specversion"),
        (r#""id":"1","#, "id"),
        (r#""source":"s","#, "source"),
        (r#""type":"t","#, "type"),
        (r#","subject":"x""#, "subject"),
    ] {
        refused(&with(member, ""), "missing-attribute", &format!("/{name}"));
        let null = SMALLEST.replace(&format!("\"{name}\":\""), &format!("\"{name}\":null,\"z{name}\":\""));
        refused(&null, "missing-attribute", &format!("/{name}"));
    }
    refused("{}", "missing-attribute", "/specversion");
}

#[test]
fn empty_attributes() {
    for (member, name) in [
        (r#""id":"1""#, "id"),
        (r#""source":"s""#, "source"),
        (r#""type":"t""#, "type"),
        (r#""subject":"x""#, "subject"),
    ] {
        refused(&with(member, &format!("\"{name}\":\"\"")), "empty-attribute", &format!("/{name}"));
    }
    for name in ["actor", "datasubject", "datacontenttype", "tags"] {
        refused(&and(&format!("\"{name}\":\"\"")), "empty-attribute", &format!("/{name}"));
    }
    assert!(parse_one(&and(r#""ext":"""#)).is_ok(), "an unknown extension may be empty");
}

#[test]
fn over_long_attributes() {
    for (member, name, most) in [
        (r#""id":"1""#, "id", MAX_ID_BYTES),
        (r#""source":"s""#, "source", MAX_SOURCE_BYTES),
        (r#""type":"t""#, "type", MAX_TYPE_BYTES),
        (r#""subject":"x""#, "subject", MAX_STREAM_BYTES),
    ] {
        let sized = |bytes| with(member, &format!("\"{name}\":\"{}\"", "a".repeat(bytes)));
        assert!(parse_one(&sized(most)).is_ok(), "{name}");
        refused(&sized(most + 1), "attribute-too-long", &format!("/{name}"));
    }
    refused(&and(&format!("\"run\":\"{}\"", "a".repeat(1_025))), "attribute-too-long", "/run");
    refused(&and(&format!("\"ext\":\"{}\"", "a".repeat(1_025))), "attribute-too-long", "/ext");
    refused(&and(&format!("\"tags\":\"{}\"", "a".repeat(129))), "attribute-too-long", "/tags");
}

#[test]
fn attributes_of_another_type() {
    refused(&with(r#""id":"1""#, r#""id":1"#), "bad-attribute", "/id");
    refused(&and(r#""actor":{"name":"x"}"#), "bad-attribute", "/actor");
    refused(&and(r#""ext":["x"]"#), "bad-attribute", "/ext");
    refused(&and(r#""time":"yesterday""#), "bad-attribute", "/time");
    refused(&and(r#""run":"a\u0007""#), "bad-attribute", "/run");
    refused(&and("\"run\":\"\u{85}\""), "bad-attribute", "/run");
    refused(&and("\"run\":\"\u{ffff}\""), "bad-attribute", "/run");
    refused(&and(r#""data_base64":7"#), "bad-attribute", "/data_base64");
    refused(&and(r#""data_base64":"AAE""#), "bad-attribute", "/data_base64");
    let error = parse_one(&and(r#""ext":["x"]"#)).unwrap_err();
    assert_eq!(error.to_string(), "at /ext: attribute ext: not a string, a boolean or an integer of 32 bits");
}

#[test]
fn wrong_specversion() {
    for version in ["\"0.3\"", "\"1.0.2\"", "\"\"", "\"2.0\""] {
        refused(
            &with(r#""specversion":"1.0""#, &format!("\"specversion\":{version}")),
            "bad-specversion",
            "/specversion",
        );
    }
    refused(&with(r#""specversion":"1.0""#, r#""specversion":1.0"#), "bad-attribute", "/specversion");
}

#[test]
fn extension_names() {
    for name in ["Ext", "my_ext", "a-b", "é", "", "a\\u0000", "abcdefghijklmnopqrstu"] {
        refused(&and(&format!("\"{name}\":1")), "bad-extension-name", "");
    }
    let many = |count| and(&(0..count).map(|n| format!("\"x{n}\":{n}")).collect::<Vec<_>>().join(","));
    assert!(parse_one(&many(MAX_EXTENSIONS)).is_ok());
    refused(&many(MAX_EXTENSIONS + 1), "too-many-attributes", "");
}

#[test]
fn tags() {
    let tags = |count| {
        and(&format!("\"tags\":\"{}\"", (0..count).map(|n| format!("t{n}")).collect::<Vec<_>>().join(" ")))
    };
    assert_eq!(parse_one(&tags(16)).unwrap().tags.len(), 16);
    refused(&tags(17), "too-many-attributes", "/tags");
    refused(&tags(1_000), "too-many-attributes", "/tags");
    refused(&and(r#""tags":"a  b""#), "empty-attribute", "/tags");
    refused(&and(r#""tags":" a""#), "empty-attribute", "/tags");
    refused(&and(r#""tags":"a b a""#), "bad-attribute", "/tags");
}

#[test]
fn data_in_two_forms() {
    refused(&and(r#""data":1,"data_base64":"AA==""#), "data-and-data-base64", "/data_base64");
    refused(&and(r#""data":null,"data_base64":"AA==""#), "data-and-data-base64", "/data_base64");
    assert_eq!(parse_one(&and(r#""data_base64":null,"data":1"#)).unwrap().data.len(), 1);
}

#[test]
fn data_is_kept_as_it_was_sent() {
    let parse = |body: &str| parse_one(body).map(Event::into_owned).unwrap();
    let json = |text: &str| Data::Json(Json::check(text.as_bytes().to_vec()).unwrap());
    assert_eq!(
        parse(&and("\"data\":  { \"b\" : 1.0,\r\n \"a\":1E2 }  ")).data,
        json("{ \"b\" : 1.0,\r\n \"a\":1E2 }")
    );
    assert_eq!(parse(&and(r#""data":null"#)).data, json("null"));
    assert_eq!(parse(SMALLEST).data, Data::None);
    assert_eq!(parse(&and(r#""data_base64":"""#)).data, Data::Binary(Cow::Borrowed(&[])));
    assert_eq!(parse(&and(r#""data_base64":"AP+/""#)).data, Data::Binary(Cow::Borrowed(&[0, 255, 191])));
}

#[test]
fn the_requests_stream_stands_in_for_a_missing_subject() {
    let in_stream = |body: &'static str| parse_events(body.as_bytes(), BodyForm::Json, Some("x"));
    assert_eq!(in_stream(SMALLEST).unwrap()[0].stream, "x");
    let without = r#"{"specversion":"1.0","id":"1","source":"s","type":"t","subject":null}"#;
    assert_eq!(in_stream(without).unwrap()[0].stream, "x");
    let other = r#"[{"specversion":"1.0","id":"1","source":"s","type":"t","subject":"y"}]"#;
    let error = in_stream(other).unwrap_err();
    assert_eq!((error.code(), error.pointer.as_str()), ("stream-mismatch", "/0/subject"));
    let too_long = "x".repeat(MAX_STREAM_BYTES + 1);
    let error = parse_events(without.as_bytes(), BodyForm::Json, Some(&too_long)).unwrap_err();
    assert_eq!(error.code(), "attribute-too-long");
}

#[test]
fn each_form_takes_what_it_says() {
    let array = format!(" [{SMALLEST}, {SMALLEST}]");
    let lines = format!("{SMALLEST}\r\n\n{SMALLEST}");
    let count = |body: &str, form| {
        parse_events(body.as_bytes(), form, None).map(|events| events.len()).map_err(|error| error.code())
    };
    for (form, on_one, on_array, on_lines) in [
        (BodyForm::Structured, Ok(1), Err("not-an-event"), Err("not-json")),
        (BodyForm::Batch, Err("not-a-batch"), Ok(2), Err("not-a-batch")),
        (BodyForm::Json, Ok(1), Ok(2), Err("not-json")),
        (BodyForm::Ndjson, Ok(1), Err("not-an-event"), Ok(2)),
    ] {
        assert_eq!(count(SMALLEST, form), on_one, "{form:?}");
        assert_eq!(count(&array, form), on_array, "{form:?}");
        assert_eq!(count(&lines, form), on_lines, "{form:?}");
        for scalar in ["1", "\"x\"", "null", "true"] {
            let expected = if form == BodyForm::Batch { "not-a-batch" } else { "not-an-event" };
            assert_eq!(count(scalar, form), Err(expected), "{form:?}");
        }
    }
}

#[test]
fn problems_are_placed_in_their_event() {
    let batch = format!("[{SMALLEST},{SMALLEST},{}]", with(r#""source":"s""#, r#""source":"""#));
    let error = parse_events(batch.as_bytes(), BodyForm::Batch, None).unwrap_err();
    assert_eq!((error.code(), error.pointer.as_str()), ("empty-attribute", "/2/source"));
    assert_eq!(error.to_string(), "at /2/source: attribute source: empty; leave it out or give it a value");

    let lines = format!("{SMALLEST}\n\n{}\n", and(r#""data":{"a~/b":[1e999]}"#));
    let error = parse_events(lines.as_bytes(), BodyForm::Ndjson, None).unwrap_err();
    assert_eq!(
        (error.code(), error.line, error.pointer.as_str()),
        ("number-range", Some(3), "/data/a~0~1b/0")
    );

    let not_all = format!("[{SMALLEST},7]");
    let error = parse_events(not_all.as_bytes(), BodyForm::Json, None).unwrap_err();
    assert_eq!((error.code(), error.pointer.as_str()), ("not-an-event", "/1"));
}

#[test]
fn an_empty_batch() {
    for (body, form) in [
        ("[]", BodyForm::Batch),
        (" [ ] ", BodyForm::Json),
        ("", BodyForm::Ndjson),
        ("\n \r\n", BodyForm::Ndjson),
    ] {
        assert_eq!(parse_events(body.as_bytes(), form, None).unwrap_err().code(), "empty-batch", "{body:?}");
    }
}

#[test]
fn a_1_001st_event() {
    let events = vec![SMALLEST; MAX_REQUEST_EVENTS + 1];
    let forms = [
        (BodyForm::Batch, format!("[{}]", events[1..].join(",")), format!("[{}]", events.join(","))),
        (BodyForm::Ndjson, events[1..].join("\n"), events.join("\n")),
    ];
    for (form, most, too_many) in forms {
        assert_eq!(parse_events(most.as_bytes(), form, None).unwrap().len(), MAX_REQUEST_EVENTS);
        assert_eq!(parse_events(too_many.as_bytes(), form, None).unwrap_err().code(), "too-many-events");
    }
    // The rest is not even read.
    let unread = format!("[{},{{\"broken", events[1..].join(","));
    assert_eq!(parse_events(unread.as_bytes(), BodyForm::Batch, None).unwrap_err().code(), "too-many-events");
}

#[test]
fn a_body_past_its_limit() {
    let with_padding = |bytes: usize| format!("{SMALLEST}{}", " ".repeat(bytes - SMALLEST.len()));
    assert!(parse_one(&with_padding(MAX_REQUEST_BYTES)).is_ok());
    assert_eq!(parse_one(&with_padding(MAX_REQUEST_BYTES + 1)).unwrap_err().code(), "request-too-large");
}

#[test]
fn an_event_made_in_the_program_is_held_to_the_same() {
    let refused = |event: Event<'_>| event.validate().unwrap_err();
    let event = || Event::new("1", "s", "t", "x");
    assert_eq!(event().validate(), Ok(()));
    let unsorted = vec![("b".into(), ExtensionValue::Integer(1)), ("a".into(), ExtensionValue::Integer(1))];
    let error = refused(Event { extensions: unsorted, ..event() });
    assert_eq!(error, EventError::new("extensions", AttributeProblem::NotSorted));
    let twice = vec![("a".into(), ExtensionValue::Integer(1)), ("a".into(), ExtensionValue::Integer(1))];
    let error = refused(Event { extensions: twice, ..event() });
    assert_eq!(error, EventError::new("extensions", AttributeProblem::Repeated));
    let taken = vec![("agent".into(), ExtensionValue::Boolean(true))];
    assert_eq!(refused(Event { extensions: taken, ..event() }).code(), "bad-extension-name");
    let spaced = refused(Event { tags: vec!["a b".into()], ..event() });
    assert_eq!(spaced, EventError::new("tags", AttributeProblem::Character));
    let large = Data::Binary(vec![0; crate::limits::MAX_DATA_BYTES + 1].into());
    assert_eq!(refused(Event { data: large, ..event() }).code(), "data-too-large");
}

#[test]
fn control_characters_that_were_stored_are_escaped() {
    let event = Event { actor: Some("\u{1f}\u{1}\"\\/é\u{7f}".into()), ..Event::new("1", "s", "t", "x") };
    let expected = SMALLEST.replace('}', ",\"actor\":\"\\u001f\\u0001\\\"\\\\/é\u{7f}\"}");
    assert_eq!(written(&event), expected);
}

#[test]
fn every_refusal_is_in_the_page_on_events() {
    use crate::json::JsonErrorKind::*;
    const PAGE: &str = include_str!("../../../docs/EVENTS.md");
    let json = [Syntax, Truncated, InvalidUtf8, DuplicateKey, TooDeep, NumberRange, LoneSurrogate, Nul];
    let attribute = [
        EventError::new("id", AttributeProblem::Missing),
        EventError::new("id", AttributeProblem::Empty),
        EventError::new("id", AttributeProblem::TooLong { max: 1 }),
        EventError::new("data", AttributeProblem::TooLong { max: 1 }),
        EventError::new("id", AttributeProblem::Character),
        EventError::new("tags", AttributeProblem::TooMany { max: 1 }),
        EventError::new("extensions", AttributeProblem::Name),
    ];
    let others = [
        ParseErrorKind::NotAnEvent,
        ParseErrorKind::NotABatch,
        ParseErrorKind::SpecVersion,
        ParseErrorKind::DataTwice,
        ParseErrorKind::StreamMismatch,
        ParseErrorKind::EmptyBatch,
        ParseErrorKind::TooManyEvents,
        ParseErrorKind::RequestTooLarge,
    ];
    let kinds =
        json.map(ParseErrorKind::from).into_iter().chain(attribute.map(ParseErrorKind::from)).chain(others);
    let mut codes: Vec<&str> = kinds.map(|kind| ParseError::whole(kind).code()).collect();
    // The ledger's rules for an event's type stand in the same table.
    codes.extend(["reserved-type", "schema"]);
    let (_, table) = PAGE.split_once("| code |").unwrap();
    let mut listed: Vec<&str> =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    codes.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, codes);
}
