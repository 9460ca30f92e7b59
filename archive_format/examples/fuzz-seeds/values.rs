//! Seeds that are encoded values: records, parts, bodies, and bodies compressed.

use std::borrow::Cow;

use bitacora_formats::{
    After, BodyWriter, Codec, Commitment, Compressor, ControlFile, Data, ErasedKeys, Event, EventDraft,
    ExtensionValue, Generation, Json, LeafEntry, LeavesHeader, LedgerId, LevelsHeader, Micros, Position,
    Record, SUBJECT_NONCE_BYTES, Seal, Secret, SegmentNumber, SensitivePart, StreamVersion, SubjectFiles,
    TreeHash, encode_part, encode_record, erased_key_name, prove_consistency, prove_inclusion,
};

use crate::Seeds;

pub(crate) fn all() -> Vec<Seeds> {
    vec![
        Seeds { target: "record", inputs: records() },
        Seeds { target: "sensitive_part", inputs: parts() },
        Seeds { target: "frame_body", inputs: bodies() },
        Seeds { target: "compressed_body", inputs: compressed() },
        Seeds { target: "sealed_frame", inputs: compressed() },
        Seeds { target: "leaves", inputs: leaves() },
        Seeds { target: "proof", inputs: proofs() },
        Seeds { target: "subject_files", inputs: subject_files() },
        Seeds { target: "erased_keys", inputs: erased_keys() },
    ]
}

/// Two entries behind a header, and two hashes behind one of a level.
fn leaves() -> Vec<Vec<u8>> {
    let ledger = LedgerId([3; 16]);
    let header = LeavesHeader { ledger, segment: SegmentNumber(2), first_position: Position::FIRST };
    let mut leaves = header.encode().to_vec();
    for commitment in [[1; 32], [2; 32]] {
        LeafEntry { time: Micros(300), commitment: Commitment(commitment) }.encode(&mut leaves);
    }
    let level = [LevelsHeader { ledger }.encode(), [4; 32], [5; 32]].concat();
    vec![leaves, level]
}

/// Places and sizes with as many hashes as a proof for them has.
fn proofs() -> Vec<Vec<u8>> {
    let any = |_, _| Ok::<_, ()>(TreeHash([6; 32]));
    let sizes = [(0_u64, 1_u64), (1, 2), (5, 8), (6, 7), (255, 256), (256, 300), (1 << 40, (1 << 41) + 3)];
    let seed = |one: u64, other: u64, hashes: Vec<TreeHash>| {
        let mut bytes = [one.to_le_bytes(), other.to_le_bytes()].concat();
        let leaf = TreeHash([9; 32]);
        [leaf].into_iter().chain(hashes).for_each(|hash| bytes.extend_from_slice(&hash.0));
        bytes
    };
    let all = sizes.into_iter().flat_map(|(one, other)| {
        let included = prove_inclusion(one, other, any).unwrap().unwrap_or_default();
        let grown = prove_consistency(one, other, any).unwrap().unwrap_or_default();
        [seed(one, other, included), seed(one, other, grown)]
    });
    all.collect()
}

/// Nothing but what is required; every attribute; bytes as data.
fn events() -> [Event<'static>; 3] {
    let least = Event::new("1", "s", "t", "stream");
    let text = |text: &'static str| Some(Cow::Borrowed(text));
    let most = Event {
        time: text("2026-11-20T13:00:00Z"),
        datacontenttype: text("application/json"),
        dataschema: text("urn:x"),
        actor: text("a"),
        agent: text("b"),
        session: text("c"),
        run: text("d"),
        call: text("e"),
        correlationid: text("f"),
        causationid: text("g"),
        traceparent: text("h"),
        tags: vec!["one".into(), "two".into()],
        extensions: vec![
            ("x1".into(), ExtensionValue::Text("é".into())),
            ("x2".into(), ExtensionValue::Integer(-70_000)),
            ("x3".into(), ExtensionValue::Boolean(true)),
        ],
        data: Data::Json(Json::check(&b"{\"a\": [1,\n2]}"[..]).unwrap()),
        ..least.clone()
    };
    let binary = Event { data: Data::Binary(vec![0xFB; 300].into()), ..least.clone() };
    [least, most, binary]
}

fn records() -> Vec<Vec<u8>> {
    let personal = Event { datasubject: Some("person/9".into()), ..Event::new("2", "s", "t", "stream") };
    let drafts = events().into_iter().chain([personal]).map(|event| Record::draft(event, 300));
    let seal = Seal { subject_key: [1; 16], seal: [2; 32] };
    let records = drafts.map(|draft| match draft {
        EventDraft::Clear(record) => record,
        EventDraft::Sensitive { record, .. } => record.seal(seal),
    });
    records.map(|record| encode_record(&record).unwrap()).collect()
}

fn parts() -> Vec<Vec<u8>> {
    let parts = events().map(|event| SensitivePart { datasubject: "person/9".into(), data: event.data });
    parts.iter().map(|part| encode_part(part).unwrap()).collect()
}

/// None, one request, and two of which one has derived entries and a part.
fn bodies() -> Vec<Vec<u8>> {
    let records = records();
    let mut writer = BodyWriter::new();
    let mut bodies = vec![writer.as_bytes().to_vec()];
    for submitted in [4, 1] {
        writer.begin_request(submitted).unwrap();
        for (version, record) in (1..).zip(&records) {
            let part = (submitted == 1).then_some(&b"a sealed part"[..]);
            writer.entry(StreamVersion::new(version).unwrap(), record, part).unwrap();
        }
        writer.end_request().unwrap();
        bodies.push(writer.as_bytes().to_vec());
    }
    bodies
}

/// The codec's number, the body's length and the compressed bytes, of every codec.
fn compressed() -> Vec<Vec<u8>> {
    let mut compressor = Compressor::new(3).unwrap();
    let mut inputs = Vec::new();
    let long = bodies().concat().repeat(20);
    for body in bodies().iter().chain([&long, &vec![0; 16 << 20]]) {
        let (codec, compressed) = compressor.compress(body);
        inputs.push(input(codec, body.len(), compressed));
        if body.len() < 4_096 {
            inputs.push(input(Codec::Stored, body.len(), body));
        }
    }
    inputs
}

fn input(codec: Codec, body_bytes: usize, compressed: &[u8]) -> Vec<u8> {
    let body_bytes = u32::try_from(body_bytes).unwrap();
    [&[codec.number()], body_bytes.to_le_bytes().as_slice(), compressed].concat()
}

/// A list of two keys, the same without its seal, and a name at an anchor.
fn erased_keys() -> Vec<Vec<u8>> {
    let key = Secret::take(&mut [0x11; 32]);
    let keys = [([0xB1; 16], Position::new(7)), ([0xC2; 16], None)].into_iter().collect();
    let list = ErasedKeys { generation: Generation(1), through: After::new(9), keys }.to_file(&key);
    let text = ControlFile::ErasedKeys.unseal(&key, list.as_bytes()).unwrap().to_owned();
    vec![list.into_bytes(), text.into_bytes(), erased_key_name(&key, &[0xB1; 16]).into_bytes()]
}

/// A key's file and a name's, of the ledger, the key and the name that the target opens them with.
fn subject_files() -> Vec<Vec<u8>> {
    let files = SubjectFiles::new(LedgerId([0xA0; 16]), Secret::take(&mut [0x11; 32]));
    let (name, nonce) = ([0xB1; 16], [0xD3; SUBJECT_NONCE_BYTES]);
    let key = Secret::take(&mut [0x5A; 32]);
    vec![files.seal_key(&name, &key, &nonce).to_vec(), files.seal_name(&name, &[0xC2; 16], &nonce).to_vec()]
}
