//! Padded lengths: the stored bytes do not tell a person's answer by their length.

use serde_json::json;

use crate::governed::{ask, governed, post};
use crate::service::{TestService, data};

/// Flag and bytes of the ciphertext of every frame in the segments, as `docs/formats/frame.md` places them.
fn frames(service: &TestService) -> Vec<(u8, u32)> {
    let folder = data(service.folder.path()).join("ledgers/main/segments");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut frames = Vec::new();
    for file in files {
        let bytes = std::fs::read(file).unwrap();
        if !bytes.starts_with(b"BITACSEG") {
            continue;
        }
        let header = u32::from_le_bytes(bytes[12..16].try_into().unwrap());
        let mut at = header as usize;
        while bytes[at..].starts_with(b"BITF") {
            let sealed = u32::from_le_bytes(bytes[at + 32..at + 36].try_into().unwrap());
            frames.push((bytes[at + 7], sealed));
            at += 152 + sealed as usize + 84;
        }
    }
    frames
}

#[test]
fn an_approval_and_a_refusal_have_the_same_length() {
    let service = governed("allow");
    let mut lengths = [Vec::new(), Vec::new()];
    for round in 0..12 {
        let act = round % 2;
        let call = json!({"call": format!("c{round}"), "tool": "fs.write", "args": {"path": format!("src/{round}.rs")}});
        let approval = ask(&service, call)["approval"]["id"].as_str().unwrap().to_owned();
        let before = frames(&service).len();
        let body = if act == 0 { json!({}) } else { json!({"note": "no ".repeat(round * 6)}) };
        let word = ["approve", "reject"][act];
        post(&service, &format!("approvals/{approval}:{word}"), &body).expect(200);
        lengths[act].extend(frames(&service).split_off(before));
    }
    assert!(lengths[0].len() >= 6, "{lengths:?}");
    for (flag, bytes) in lengths.iter().flatten() {
        assert_eq!((*flag, *bytes), (1, 1024), "{lengths:?}");
    }
}

#[test]
fn events_that_govern_nothing_take_no_more_room_than_before() {
    let service = governed("allow");
    let before = frames(&service).len();
    service.append(crate::service::event("plain", "s")).expect(201);
    assert!(frames(&service).split_off(before).iter().all(|(flag, bytes)| *flag == 0 && *bytes < 512));
}
