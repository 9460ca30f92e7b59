//! Samples of all that the table of Claude Code's settings takes. `tests/harnesses` gives them to the program itself.
//!
//! `BITACORA_WRITE_SAMPLES=1 cargo test --workspace --lib claude_samples` writes them.

use std::path::Path;
use std::{env, fs};

use serde_json::{Map, Value, json};

use super::entry;
use crate::Dialect;
use crate::claude_settings::CLAUDE_SETTINGS;
use crate::setting_kind::SettingKind;

const FILE: &str = "../tests/harnesses/claude_samples.json";
const TEXTS: [&str; 3] = ["x", "", "é \"$HOME\"\n"];

/// Returns the value of a variable with which the program still reaches the scripted model, if not every text lets it.
fn network_value(name: &str) -> Option<Value> {
    match name.to_ascii_lowercase().as_str() {
        "http_proxy" | "https_proxy" => Some(json!("http://127.0.0.1:9")),
        "no_proxy" => Some(json!("127.0.0.1,localhost")),
        _ => None,
    }
}

/// Returns values of a kind, which together hold each member, word and form that it takes.
fn samples(kind: &SettingKind) -> Vec<Value> {
    match kind {
        SettingKind::Bool => vec![json!(false), json!(true)],
        SettingKind::False => vec![json!(false)],
        SettingKind::Text => TEXTS.map(Value::from).to_vec(),
        SettingKind::FullText => vec![json!(TEXTS[0]), json!(TEXTS[2])],
        SettingKind::Word(words) => words.iter().map(|word| json!(word)).collect(),
        SettingKind::TextFrom(beginnings) => {
            beginnings.iter().map(|beginning| format!("{beginning}x").into()).collect()
        }
        SettingKind::WebAddress => {
            ["http://x", "https://x.example:8080/a/b?c=d#e", "https://127.0.0.1"].map(Value::from).to_vec()
        }
        SettingKind::WholeFrom(least) => vec![json!(least), json!(1_000_000)],
        SettingKind::Share => vec![json!(0), json!(0.05), json!(1)],
        SettingKind::Number => vec![json!(0), json!(-1.5)],
        SettingKind::AnyObject => vec![json!({}), json!({"x": [{"y": null}]})],
        SettingKind::List(kind) => vec![json!([]), samples(kind).into()],
        SettingKind::Map(kind) => {
            let all = samples(kind).into_iter().enumerate();
            vec![json!({}), all.map(|(number, sample)| (format!("x{number}@y"), sample)).collect()]
        }
        // Each name with the first sample, and one name at a time with another.
        SettingKind::Named(names, kind) => {
            let of_kind = samples(kind);
            let one = |number: usize| {
                let nth = |at: usize| of_kind[if at == number { number } else { 0 }].clone();
                let value = |at: usize, name: &str| network_value(name).unwrap_or_else(|| nth(at));
                names.iter().enumerate().map(|(at, name)| ((*name).to_owned(), value(at, name))).collect()
            };
            (0..of_kind.len()).map(one).map(Value::Object).collect()
        }
        SettingKind::Object(members) => {
            let of_each: Vec<_> = members.iter().map(|member| (member, samples(&member.kind))).collect();
            let most = of_each.iter().map(|(_, samples)| samples.len()).max().unwrap_or_default();
            let whole = (0..most).map(|number| {
                let nth = |samples: &Vec<Value>| samples[number % samples.len()].clone();
                of_each
                    .iter()
                    .map(|(member, samples)| (member.name.to_owned(), nth(samples)))
                    .collect::<Map<_, _>>()
            });
            let needed = of_each.iter().filter(|(member, _)| member.is_needed);
            let least =
                needed.map(|(member, samples)| (member.name.to_owned(), samples[0].clone())).collect();
            whole.chain([least]).map(Value::Object).collect()
        }
        SettingKind::Either(kinds) => kinds.iter().flat_map(samples).collect(),
    }
}

#[test]
fn samples_of_the_table_are_taken_and_stand_beside_the_test_of_the_program() {
    let samples = samples(&CLAUDE_SETTINGS);
    for sample in &samples {
        Dialect::Claude.with_hooks(&sample.to_string(), &entry(true)).unwrap();
    }
    let lines: Vec<_> = samples.iter().map(ToString::to_string).collect();
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if env::var_os("BITACORA_WRITE_SAMPLES").is_some() {
        fs::write(&file, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), text, "BITACORA_WRITE_SAMPLES=1 writes them again");
}
