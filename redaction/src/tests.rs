use std::borrow::Cow;

use bitacora_formats::{Data, Event, Json, check_json};
use bitacora_testkit::SeededRng;

use super::Redactor;

const JWT: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
const AWS_SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

/// Redacts `json`, then once more to check that nothing more changes.
fn redacted(json: &str) -> (String, u32) {
    let redactor = Redactor::new();
    check_json(json.as_bytes()).unwrap_or_else(|error| panic!("{error}: {json}"));
    let Some((bytes, replaced)) = redactor.redact_json(json.as_bytes()) else { return (json.to_owned(), 0) };
    let text = String::from_utf8(bytes).unwrap();
    check_json(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {json} became {text}"));
    assert_eq!(redactor.redact_json(text.as_bytes()), None, "{json} became {text}");
    (text, replaced)
}

#[track_caller]
fn assert_redacted(json: &str, expected: &str) {
    assert_eq!(redacted(json).0, expected);
}

#[track_caller]
fn assert_clean(json: &str) {
    assert_eq!(redacted(json), (json.to_owned(), 0));
}

/// A secret of each kind, with what stands around it, and the same redacted.
fn specimens() -> Vec<(String, &'static str)> {
    let own = |text: &str| text.to_owned();
    vec![
        (own("Authorization: Bearer 0a1b2c3d4e5f60718293"), "Authorization: Bearer [redacted:bearer]"),
        (format!("bearer {JWT}"), "bearer [redacted:bearer]"),
        (own("OPENAI=sk-proj-Ab12_Cd34-Ef56Gh78Ij90Kl"), "OPENAI=[redacted:api-key]"),
        (own("sk-ant-api03-R2D2xyzR2D2xyzR2D2xyz-AA"), "[redacted:api-key]"),
        (format!("ghp_{}", "a1B2c3".repeat(6)), "[redacted:github-token]"),
        (format!("token-gho_{}.", "a1B2c3".repeat(6)), "token-[redacted:github-token]."),
        (format!("github_pat_{}_x", "11ABCDEFG0".repeat(6)), "[redacted:github-token]"),
        (own("id AKIAIOSFODNN7EXAMPLE."), "id [redacted:aws-key-id]."),
        (format!("AKIAIOSFODNN7EXAMPLE,{AWS_SECRET}"), "[redacted:aws-key-id],[redacted:aws-secret]"),
        (
            format!("export AWS_SECRET_ACCESS_KEY='{AWS_SECRET}'"),
            "export AWS_SECRET_ACCESS_KEY='[redacted:aws-secret]'",
        ),
        (own("psql postgres://app:hunter2@db:5432/x"), "psql postgres://app:[redacted:password]@db:5432/x"),
        (own("redis://:p@ss@[::1]:6379"), "redis://:[redacted:password]@[::1]:6379"),
        (
            format!("https://{}:x-oauth-basic@github.com", "k".repeat(30)),
            "https://[redacted:password]@github.com",
        ),
        (own("xoxb-123456789012-123456789012-AbCdEf"), "[redacted:slack-token]"),
        (own("xoxe.xoxp-1-Mi0yLTEyMzQ1Njc4OTA"), "[redacted:slack-token]"),
        (own("xapp-1-A0123-456-abcdef0123456789"), "[redacted:slack-token]"),
        (format!("token={JWT}"), "token=[redacted:jwt]"),
        (
            format!(
                "-----BEGIN RSA PRIVATE KEY-----\\n{0}\\n{0}\\n-----END RSA PRIVATE KEY-----\\n",
                "MIIE+/ow".repeat(8)
            ),
            "[redacted:private-key]\\n",
        ),
    ]
}

#[test]
fn a_secret_of_each_kind_is_replaced() {
    for (text, expected) in specimens() {
        assert_redacted(&format!("[\"{text}\"]"), &format!("[\"{expected}\"]"));
    }
}

#[test]
fn a_secret_may_stand_behind_an_escape() {
    for (text, expected) in specimens() {
        for before in ["\\n", "\\t", "\\\"", "\\/", "\\\\", "\\\\n", "\\u003d", "\\u0022", "é", "🦀"] {
            let json = format!("{{\"output\": \"see:{before}{text}\\n\"}}");
            assert_redacted(&json, &format!("{{\"output\": \"see:{before}{expected}\\n\"}}"));
        }
    }
}

#[test]
fn json_inside_json_is_searched_too() {
    let inner =
        format!("{{\\\"auth\\\":\\\"Bearer {JWT}\\\",\\\"url\\\":\\\"https:\\/\\/me:pa\\/ss@h\\/x\\\"}}");
    let expected =
        "{\\\"auth\\\":\\\"Bearer [redacted:bearer]\\\",\\\"url\\\":\\\"https:\\/\\/me:pa\\/ss@h\\/x\\\"}";
    assert_redacted(&format!("\"{inner}\""), &format!("\"{expected}\""));
    assert_redacted("\"https:\\/\\/me:word@h\\/x\"", "\"https:\\/\\/me:[redacted:password]@h\\/x\"");
    let key = format!("-----BEGIN PRIVATE KEY-----\\\\n{}\\\\n-----END PRIVATE KEY-----", "Ab1/".repeat(16));
    assert_redacted(
        &format!("\"{{\\\"key\\\":\\\"{key}\\\"}}\""),
        "\"{\\\"key\\\":\\\"[redacted:private-key]\\\"}\"",
    );
}

#[test]
fn escapes_inside_a_secret_belong_to_it() {
    let secret = AWS_SECRET.replace('/', "\\/");
    assert_redacted(
        &format!("\"aws_secret_access_key = {secret}\""),
        "\"aws_secret_access_key = [redacted:aws-secret]\"",
    );
    assert_redacted("\"Bearer 0123456789abcdef\\u003d\\u003D!\"", "\"Bearer [redacted:bearer]!\"");
    assert_redacted("\"ftp://u:caf\\u00e9\\ud83e\\udd80@h\"", "\"ftp://u:[redacted:password]@h\"");
}

#[test]
fn names_of_members_are_left_alone() {
    for (text, expected) in specimens() {
        let json = format!("{{\"{text}\" : \"{text}\", \"list\":[\"{text}\",\"{text}\" ]}}");
        assert_redacted(
            &json,
            &format!("{{\"{text}\" : \"{expected}\", \"list\":[\"{expected}\",\"{expected}\" ]}}"),
        );
    }
}

#[test]
fn an_aws_secret_is_known_by_the_member_it_stands_in() {
    for name in ["aws_secret_access_key", "SecretAccessKey", "AWS_SECRET_ACCESS_KEY"] {
        let json = |value: &str| format!("{{\"{name}\" :\n \"{value}\",\"a\":1}}");
        assert_redacted(&json(AWS_SECRET), &json("[redacted:aws-secret]"));
    }
    // Outside a string nothing is touched: the zeros are a number.
    for spaces in 0..20 {
        assert_clean(&format!(
            "{{\"secret_access_key\":{}1e{},\"a\":1}}",
            " ".repeat(spaces),
            "0".repeat(60)
        ));
    }
    assert_clean(&format!("{{\"secret_access_key\": [\"{AWS_SECRET}\"]}}"));
}

#[test]
fn a_private_key_that_was_cut_off_is_replaced_as_far_as_it_goes() {
    let line = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ";
    let cut = format!("\"-----BEGIN OPENSSH PRIVATE KEY-----\\n{line}\\n{line} (12 more lines)\"");
    assert_redacted(&cut, "\"[redacted:private-key] (12 more lines)\"");
    let numbered =
        format!("\"1→-----BEGIN EC PRIVATE KEY-----\\n2→{line}\\n3→-----END EC PRIVATE KEY-----\\n4→x\"");
    assert_redacted(&numbered, "\"1→[redacted:private-key]\\n4→x\"");
}

#[test]
fn what_only_looks_like_a_secret_is_kept() {
    for text in [
        "Bearer of news, the bearer authentication scheme, bearer token-introspection",
        "Authorization: Bearer $TOKEN or Bearer <token> or Bearer ${{ secrets.TOKEN }}",
        "task-list-with-20-entries-and-more risk-assessment-2026-q1-final disk-usage-0123456789abcdef",
        "sk-learn sk-container-id-1 sk-toggleable__label-arrow sk-estimator-doc-link",
        "my-sk-0123456789abcdef0123456789abcdef sk-internationalization-notes sk-item-2-of-many-short-words",
        "://user:word@host",
        "ghp_short github_pat_example sigho_0123456789012345678901234567890123456789",
        "ASIAPACIFICREGIONSALES AKIA AKIA-1234 AKIAIOSFODNN7EXAMPLE2 the secret_access_key is missing",
        "https://example.com:8443/a?b=c@d https://user@example.com git@github.com:org/repo.git",
        "https://example.com/@scope/name@1.2.3 http://localhost:3000 see http://a:b and mail c@d.example",
        "docker://alpine:3.19@sha256:0123456789abcdef",
        "postgres://app:$DB_PASSWORD@db postgres://app:${PASSWORD}@db https://me:<password>@h ftp://u:***@h s://u:%PW%@h",
        "-----BEGIN CERTIFICATE-----\\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\\n-----END CERTIFICATE-----",
        "grep -r -- '-----BEGIN RSA PRIVATE KEY-----' . && echo -----BEGIN PRIVATE KEY----- ... -----END PRIVATE KEY-----",
        "xoxb- xox xoxo-hugs-and-kisses-for-everyone boxoffice",
        "eyJhbGciOiJIUzI1NiJ9 eyJ.eyJ.eyJ a.b.c data:image/png;base64,eyJhbGciOiJIUzI1NiIsInR5cCI6",
        "\\bearer 0123456789abcdef0123456789abcdef",
        "\\u000AKIAIOSFODNN7EXAMPLE",
    ] {
        assert_clean(&format!("{{\"text\":\"{text}\"}}"));
    }
}

#[test]
fn replacing_one_secret_uncovers_no_other() {
    let token = format!("ghp_{}", "a".repeat(36));
    for text in [
        format!("https://u:{}{token}@h", "p".repeat(500)),
        format!("secret_access_key={}/{token}", "A".repeat(39)),
        format!("-----BEGIN PRIVATE KEY-----\\n{}", specimens().pop().unwrap().0),
        format!("AKIAIOSFODNN7EXAMPLE{token}"),
        format!("{token}sk-0123456789abcdef0123456789"),
    ] {
        redacted(&format!("\"{text}\""));
    }
}

#[test]
fn an_event_without_secrets_is_not_copied() {
    let redactor = Redactor::new();
    let json = b"{\"a\":\"https://example.com/task-list\"}";
    let mut event = Event::new("1", "s", "t", "x");
    event.data = Data::Json(Json::check(&json[..]).unwrap());
    let replaced = redactor.redact(&mut event);
    let Data::Json(kept) = &event.data else { panic!("{event:?}") };
    assert_eq!((kept.as_bytes().as_ptr(), replaced), (json.as_ptr(), 0));

    for data in [Data::None, Data::Binary(Cow::Borrowed(b"sk-ant-api03-R2D2xyzR2D2xyzR2D2xyz-AA"))] {
        let mut event = Event::new("1", "s", "t", "x");
        event.data = data;
        let before = event.clone();
        assert_eq!((redactor.redact(&mut event), event), (0, before));
    }
}

#[test]
fn every_secret_of_an_event_is_counted() {
    let text = specimens().iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(" ");
    let mut event = Event::new("1", "s", "t", "x");
    event.data = Data::Json(Json::check(format!("[\"{text}\", {{\"{text}\":1}}]").into_bytes()).unwrap());
    let replaced = Redactor::new().redact(&mut event);
    assert_eq!(replaced as usize, specimens().len() + 1, "{event:?}");
}

/// Pieces of secrets, and of the texts around and inside them; `_` in place of a space.
const PIECES: &str = r#"\n \\ \" \/ \b \u003d \u000A \ud83e\udd80 é _ - . : @ / = [ ] bearer_ sk- eyJ AKIA ASIAIOSFODNN7EXAMPLE
    ecret_access_key :// https://u: xoxb- -----BEGIN_ -----BEGIN_PRIVATE_KEY----- -----END_PRIVATE_KEY----- [redacted:jwt]"#;

/// Text made of secrets and such pieces.
fn soup(draw: &mut SeededRng, specimens: &[(String, &str)]) -> String {
    let pieces: Vec<_> = PIECES.split_whitespace().collect();
    let mut text = String::new();
    for _ in 0..draw.below(12) {
        match draw.below(4) {
            0 => {
                let specimen = &specimens[draw.below(specimens.len())].0;
                let from = if draw.below(3) == 0 { specimen.find([' ', ':', '_']).unwrap_or(0) } else { 0 };
                text.push_str(&specimen[from..]);
            }
            1 => text.push_str(&"0a1B2c3D4e5F6g7H8i9J".repeat(1 + draw.below(30))),
            _ => text.push_str(&pieces[draw.below(pieces.len())].replace('_', " ")),
        }
    }
    text
}

fn value(draw: &mut SeededRng, specimens: &[(String, &str)], depth: usize) -> String {
    let space = [" ", "", "\n", "\t"][draw.below(4)];
    match draw.below(if depth < 4 { 6 } else { 3 }) {
        0 => ["1", "true", "null", "-0.5e3"][draw.below(4)].to_owned(),
        1 | 2 => format!("\"{}\"", soup(draw, specimens)),
        3 => {
            let values: Vec<_> = (0..draw.below(4)).map(|_| value(draw, specimens, depth + 1)).collect();
            format!("[{space}{}]", values.join(&format!("{space},")))
        }
        _ => {
            let member = |index: usize, draw: &mut SeededRng| {
                let name = [soup(draw, specimens), "aws_secret_access_key".to_owned()][draw.below(2)].clone();
                format!("\"{index}{name}\"{space}:{}", value(draw, specimens, depth + 1))
            };
            let members: Vec<_> = (0..draw.below(4)).map(|index| member(index, draw)).collect();
            format!("{{{}{space}}}", members.join(","))
        }
    }
}

/// The names of members and everything that is not a string, in order.
fn shape(json: &str) -> String {
    fn walk(value: &serde_json::Value, shape: &mut String) {
        match value {
            serde_json::Value::String(_) => shape.push('s'),
            serde_json::Value::Array(values) => {
                shape.push('[');
                values.iter().for_each(|value| walk(value, shape));
            }
            serde_json::Value::Object(members) => {
                for (name, value) in members {
                    shape.push_str(name);
                    walk(value, shape);
                }
            }
            other => shape.push_str(&other.to_string()),
        }
    }
    let mut shape_of = String::new();
    walk(&serde_json::from_str(json).unwrap(), &mut shape_of);
    shape_of
}

#[test]
fn any_json_keeps_its_shape_and_is_redacted_at_once() {
    let specimens = specimens();
    let mut draw = SeededRng::new(0x0b17_ac0a);
    let mut replaced_in_all = 0;
    for _ in 0..20_000 {
        let json = value(&mut draw, &specimens, 0);
        let (text, replaced) = redacted(&json);
        assert_eq!(shape(&json), shape(&text), "{json} became {text}");
        replaced_in_all += replaced;
    }
    assert!(replaced_in_all > 10_000, "{replaced_in_all}");
}

#[test]
fn text_full_of_beginnings_costs_no_more_than_its_length() {
    for piece in [
        "sk-",
        "eyJ",
        "xoxb-",
        "bearer ",
        "://a:b",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "AKIA",
        "\\\\bearer ",
        "ghp_0a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8i9J ",
    ] {
        let json = format!("\"{}\"", piece.repeat(200_000 / piece.len()));
        let started = std::time::Instant::now();
        redacted(&json);
        assert!(started.elapsed().as_secs() < 10, "{piece}: {:?}", started.elapsed());
    }
}

#[test]
fn our_own_tokens_and_secrets_are_taken_out() {
    let token = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE";
    assert_redacted(
        &format!(r#"{{"command":"export BITACORA_TOKEN=bt_{token} && run"}}"#),
        r#"{"command":"export BITACORA_TOKEN=[redacted:bitacora-token] && run"}"#,
    );
    assert_redacted(r#"["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]"#, r#"["[redacted:webhook-secret]"]"#);
    for clean in [r#"["bt_short"]"#, r#"["whsec_short"]"#, r#"["a_bt_token_is_shown_once"]"#] {
        assert_clean(clean);
    }
}
