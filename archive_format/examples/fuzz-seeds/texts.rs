//! Seeds that are texts: the requests of clients, and the keyring.

use bitacora_formats::{Keyring, PassphraseHeader, ScryptCost};

use crate::{Seeds, counting_from};

pub(crate) fn all() -> Vec<Seeds> {
    let (keyrings, notes) = keyrings();
    let texts = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    vec![
        Seeds { target: "passphrase", inputs: under_passphrase(&keyrings) },
        Seeds { target: "keyring", inputs: keyrings },
        Seeds { target: "signing_chain", inputs: notes },
        Seeds { target: "cloudevents", inputs: texts(&EVENTS) },
        Seeds { target: "json", inputs: texts(&JSON) },
        Seeds { target: "rfc3339", inputs: texts(&TIMES) },
        Seeds { target: "ids", inputs: texts(&IDS) },
    ]
}

/// A fresh keyring, then one that was rotated again and again; and the note of each.
fn keyrings() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let mut random = counting_from(0);
    let mut keyring = Keyring::generate(&mut random);
    let mut texts = vec![keyring.to_text().as_bytes().to_vec()];
    let mut notes = vec![keyring.signing_chain_note().into_bytes()];
    for _ in 0..2 {
        keyring.rotate_encryption(&mut random).unwrap();
        keyring.rotate_signing(&mut random).unwrap();
        texts.push(keyring.to_text().as_bytes().to_vec());
        notes.push(keyring.signing_chain_note().into_bytes());
    }
    (texts, notes)
}

/// The keyrings under the passphrase of the target.
fn under_passphrase(keyrings: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let random = std::array::from_fn(|index| u8::try_from(index).unwrap());
    let header = PassphraseHeader::new(ScryptCost::MIN, &random);
    keyrings.iter().map(|text| header.seal(text, "fuzz").unwrap()).collect()
}

const EVENTS: [&str; 6] = [
    r#"{"specversion":"1.0","id":"1","source":"/agents/a","type":"tool.called","subject":"run-1"}"#,
    r#"{"specversion":"1.0","id":"2","source":"s","type":"t","time":"2026-11-20T13:00:00Z","data":{"a": [1, 2.5e3, null],
 "b": "\u00e9\ud83d\ude00"}}"#,
    r#"[{"specversion":"1.0","id":"3","source":"s","type":"t","subject":"stream","data_base64":"AAECAw=="},
{"specversion":"1.0","id":"4","source":"s","type":"t","subject":"stream","tags":"one two","unknown":true,"other":-7}]"#,
    "{\"specversion\":\"1.0\",\"id\":\"5\",\"source\":\"s\",\"type\":\"t\",\"subject\":\"stream\"}\n\r\n\
     {\"specversion\":\"1.0\",\"id\":\"6\",\"source\":\"s\",\"type\":\"t\",\"subject\":\"stream\",\"data\":null}\n",
    r#"{"specversion":"1.0","id":"7","source":"s","type":"t","subject":"stream","datacontenttype":"application/json",
"dataschema":"urn:x","actor":"a","agent":"b","session":"c","run":"d","call":"e","correlationid":"f","causationid":"g",
"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","datasubject":"person/9","data":"x"}"#,
    r#" { "specversion" : "1.0" , "\u0069d" : "8" , "source" : "\"\\\/\t" , "type" : "t" , "actor" : null } "#,
];

const JSON: [&str; 8] = [
    "null",
    "[true,false,0,-1,9007199254740992,-1.5e-7,1E+2]",
    r#"{"a":{"b":[{}]},"":"","\"\\\/\b\f\n\r\t":"\u00e9\ud83d\ude00"}"#,
    "\t\r\n {\"k\" : [ 1 , 2 ] } \n",
    r#"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":11,"l":12,"m":13,"n":14}"#,
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    r#"{"a":1,"\u0061":2}"#,
    r#""é漢🜁""#,
];

const TIMES: [&str; 7] = [
    "1970-01-01T00:00:00Z",
    "2026-11-20T13:00:00.000000Z",
    "2026-11-20t14:00:00.5+01:00",
    "2000-02-29T23:59:59.1234569z",
    "2016-12-31T23:59:60Z",
    "0000-01-01T00:00:00-23:59",
    "9999-12-31T23:59:59.999999Z",
];

const IDS: [&str; 8] = [
    "0",
    "1",
    "0017",
    "18446744073709551615",
    "18446744073709551616",
    "main",
    "000102030405060708090a0b0c0d0e0f",
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
];
