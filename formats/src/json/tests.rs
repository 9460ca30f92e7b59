use super::*;
use bitacora_testkit::{SeededRng, damaged};

#[track_caller]
fn refused(text: &str, kind: JsonErrorKind, pointer: &str) {
    let error = check_json(text.as_bytes()).unwrap_err();
    assert_eq!((error.kind, error.pointer.as_str()), (kind, pointer), "{text:?}: {error}");
}

#[test]
fn json_that_is_taken() {
    for text in [
        "null",
        "true",
        "-0",
        "0.1e-400",
        "1e-7",
        "9007199254740992",
        "-9007199254740992",
        "9007199254740982.5",
        "9.007199254740983e15",
        "0.123456789012345678901234567890",
        "\"\"",
        "\"\\ud83d\\ude00 \\/ \\b\\f\\n\\r\\t\"",
        "\"\u{7f}\u{ffff}\"",
        " \t\r\n[ ] \n",
        "{}",
        "{\"\":0,\" \":{\"\":0}}",
        "[{\"a\":1},{\"a\":1}]",
        "{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":1}}",
    ] {
        assert_eq!(check_json(text.as_bytes()), Ok(()), "{text}");
    }
}

#[test]
fn not_json() {
    for text in [
        "nul",
        "NULL",
        "NaN",
        "Infinity",
        "-Infinity",
        "undefined",
        "'a'",
        "{a:1}",
        "{\"a\" 1}",
        "{\"a\":1,}",
        "[1,]",
        "[1 2]",
        "[,1]",
        "01",
        "+1",
        ".5",
        "1.e3",
        "0x10",
        "1_000",
        "\"\\x41\"",
        "\"\\u00g0\"",
        "\"\n\"",
        "\"\u{1f}\"",
        "/* c */ 1",
        "1 // c",
        "1 1",
        "{} []",
        "\u{feff}1",
        "\u{a0}1",
        "[1]]",
    ] {
        let kind = check_json(text.as_bytes()).unwrap_err().kind;
        let expected = if text == "nul" { JsonErrorKind::Truncated } else { JsonErrorKind::Syntax };
        assert_eq!(kind, expected, "{text:?}");
    }
}

#[test]
fn truncated() {
    let whole = "{\"a\": [1.5, -2e7, true, null, \"\\u00e9\\n\"], \"b\":{\"c\":\"d\"}}";
    for end in 0..whole.len() {
        assert_eq!(check_json(&whole.as_bytes()[..end]).unwrap_err().kind, JsonErrorKind::Truncated, "{end}");
    }
}

#[test]
fn invalid_utf8() {
    for (bytes, column) in [
        (&b"\"\xff\""[..], 2),
        (b"\"\xc0\x80\"", 2),
        (b"\"a\xed\xa0\x80\"", 3),
        (b"\"\xf4\x90\x80\x80\"", 2),
        (b"\"\xe2\x82", 2),
        (b"\xff", 1),
    ] {
        let error = check_json(bytes).unwrap_err();
        assert_eq!(
            (error.kind, error.line, error.column),
            (JsonErrorKind::InvalidUtf8, 1, column),
            "{bytes:x?}"
        );
    }
}

#[test]
fn duplicate_keys() {
    refused("{\"a\":1,\"a\":1}", JsonErrorKind::DuplicateKey, "/a");
    refused("{\"a\":1,\"\\u0061\":1}", JsonErrorKind::DuplicateKey, "/a");
    refused("{\"\":1,\"b\":2,\"\":1}", JsonErrorKind::DuplicateKey, "/");
    refused("[0,{\"x\":{\"b\":1,\"a\":{\"b\":1},\"b\":2}}]", JsonErrorKind::DuplicateKey, "/1/x/b");
    for members in [FEW_KEYS, FEW_KEYS + 1, 1_000, 50_000] {
        let mut keys: Vec<String> = (0..members).map(|key| format!("\"k{key}\":0")).collect();
        assert_eq!(check_json(format!("{{{}}}", keys.join(",")).as_bytes()), Ok(()), "{members}");
        keys[members - 1] = "\"k1\":0".to_owned();
        refused(&format!("[{{{}}}]", keys.join(",")), JsonErrorKind::DuplicateKey, "/0/k1");
    }
}

#[test]
fn numbers_past_2_53() {
    for number in [
        "9007199254740993",
        "-9007199254740993",
        "9007199254740994",
        "18446744073709551615",
        "-9223372036854775808",
        "18446744073709551616",
        "123456789012345678901234567890",
        "9007199254740992.5",
        "9007199254740992.00000000000000000000000000001",
        "9007199254740993.0",
        "9.007199254740993e15",
        "90071992547409930e-1",
        "0.00009007199254740993e20",
        "9.1e15",
        "1e16",
        "1e308",
        "1e400",
        "-1e400",
        &"9".repeat(400),
    ] {
        refused(&format!("{{\"n\":[{number}]}}"), JsonErrorKind::NumberRange, "/n/0");
    }
}

#[test]
fn lone_surrogates() {
    for text in [
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800x\"",
        "\"\\ud800\\n\"",
        "\"\\ud800\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"\\uDBFF\\u0041\"",
    ] {
        refused(&format!("[{text}]"), JsonErrorKind::LoneSurrogate, "/0");
        refused(&format!("{{{text}:1}}"), JsonErrorKind::LoneSurrogate, "");
    }
}

#[test]
fn nul() {
    refused("{\"a\":\"x\\u0000\"}", JsonErrorKind::Nul, "/a");
    refused("{\"\\u0000\":1}", JsonErrorKind::Nul, "");
    refused("[\"x\0\"]", JsonErrorKind::Nul, "/0");
    refused("[\n\"x\0\"]", JsonErrorKind::Nul, "/0");
    refused("\0", JsonErrorKind::Syntax, "");
}

#[test]
fn nested_past_64() {
    let arrays = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let objects = |depth| format!("{}0{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    assert_eq!(check_json(arrays(MAX_JSON_DEPTH).as_bytes()), Ok(()));
    assert_eq!(check_json(objects(MAX_JSON_DEPTH).as_bytes()), Ok(()));
    let small_stack = std::thread::Builder::new().stack_size(128 * 1_024);
    let checking = move || {
        for depth in [MAX_JSON_DEPTH + 1, 128, 129, 10_000, 1_000_000] {
            refused(&arrays(depth), JsonErrorKind::TooDeep, &"/0".repeat(MAX_JSON_DEPTH));
            refused(&objects(depth), JsonErrorKind::TooDeep, &"/a".repeat(MAX_JSON_DEPTH));
            refused(&"[".repeat(depth), JsonErrorKind::TooDeep, &"/0".repeat(MAX_JSON_DEPTH));
        }
    };
    small_stack.spawn(checking).unwrap().join().unwrap();
}

#[test]
fn problems_are_placed() {
    let error = check_json(b"{\n \"a\": [1,\n 1e400]}").unwrap_err();
    assert_eq!((error.line, error.pointer.as_str()), (3, "/a/1"));
    let error = check_json(b"{\"a/b~c\":\"\\ud800\"}").unwrap_err();
    assert_eq!(error.pointer, "/a~1b~0c");
    let error = check_json(b"{\"a\\n\":[1e400]}").unwrap_err();
    let expected = "line 1 column 13, at /a\\n/0: number beyond 2^53, which readers round; send a smaller one, or a string where a string is taken";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_pointer_stays_short() {
    let key = "k".repeat(100);
    let text = format!("{{\"{key}\":{{\"{key}\":{{\"{key}\":1e400}}}}}}");
    refused(&text, JsonErrorKind::NumberRange, &format!("/{key}/{key}"));
    refused(&format!("{{\"{}\":1e400}}", "é".repeat(1_000_000)), JsonErrorKind::NumberRange, "");
}

#[test]
fn a_value_keeps_its_bytes_but_not_the_space_around_it() {
    assert_eq!(Json::check(&b" \n{ \"b\": 1.0 }\r\t "[..]).unwrap().as_bytes(), b"{ \"b\": 1.0 }");
    assert_eq!(Json::check(b" 1 ".to_vec()).unwrap().as_bytes(), b"1");
    assert_eq!(Json::check(b"1".to_vec()).unwrap().as_bytes(), b"1");
    assert_eq!(Json::check(&b"1 2"[..]).unwrap_err().kind, JsonErrorKind::Syntax);
}

#[test]
fn no_damage_makes_the_check_panic() {
    let mut seeded = SeededRng::new(7);
    for _ in 0..30 {
        let text = seeded.json(3);
        assert_eq!(check_json(text.as_bytes()), Ok(()), "{text}");
        if text.len() < 400 {
            for bytes in damaged(text.as_bytes()) {
                // serde_json takes every text that is taken here.
                if check_json(&bytes).is_ok() {
                    serde_json::from_slice::<serde_json::Value>(&bytes).unwrap();
                }
            }
        }
    }
    for _ in 0..50_000 {
        const ALPHABET: &[u8] = b"[]{}\":,0129eE+-.\\ud8 tfn\0\xff";
        let bytes: Vec<u8> =
            seeded.bytes(24).into_iter().map(|byte| ALPHABET[usize::from(byte) % ALPHABET.len()]).collect();
        if check_json(&bytes).is_ok() {
            serde_json::from_slice::<serde_json::Value>(&bytes).unwrap();
        }
    }
}
