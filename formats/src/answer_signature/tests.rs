use super::*;

const BODY: &[u8] = b"{}";

fn signer() -> AnswerSigner {
    AnswerSigner::new(&Secret::take(&mut [7; 32]))
}

const TOKEN: &str = "Bearer bt_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn exchange<'a>(request_digest: &'a str, answer_digest: &'a str) -> SignedExchange<'a> {
    SignedExchange {
        method: "POST",
        path: "/v1/ledgers/main/hooks/claude",
        query: "delivery=00112233445566778899aabbccddeeff&interactive=false",
        request_digest,
        authorization: Some(TOKEN),
        status: 200,
        answer_digest,
    }
}

#[test]
fn a_signed_answer_is_believed_under_its_key() {
    let (request, answer) = (body_digest(b"{\"a\":1}"), body_digest(BODY));
    for authorization in [None, Some(TOKEN)] {
        let exchange = SignedExchange { authorization, ..exchange(&request, &answer) };
        let fields = signer().sign(&exchange, 1_764_000_000);
        assert_eq!(verify_answer(&signer().public(), &exchange, BODY, &fields), Ok(()));
    }
}

#[test]
fn the_example_of_the_format_page_is_what_is_signed() {
    let (request, answer) = (body_digest(b"{\"a\":1}"), body_digest(BODY));
    let exchange = exchange(&request, &answer);
    let fields = signer().sign(&exchange, 1_764_000_000);
    let page = include_str!("../../../docs/formats/answer_signature.md");
    let base = exchange.base(fields.input.strip_prefix(LABEL).unwrap());
    for part in [base.as_str(), &hex::encode(signer().public()), &fields.input, &fields.signature] {
        assert!(page.contains(part), "docs/formats/answer_signature.md lacks\n{part}");
    }
}

#[test]
fn every_change_of_what_is_covered_is_refused() {
    let (request, answer, other) = (body_digest(b"{\"a\":1}"), body_digest(BODY), body_digest(b"{} "));
    let signed = exchange(&request, &answer);
    let (key, fields) = (signer().public(), signer().sign(&signed, 1_764_000_000));
    let changes = [
        SignedExchange { method: "PUT", ..signed },
        SignedExchange { path: "/v1/ledgers/other/hooks/claude", ..signed },
        SignedExchange { query: "", ..signed },
        SignedExchange { request_digest: &other, ..signed },
        SignedExchange {
            authorization: Some("Bearer bt_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"),
            ..signed
        },
        SignedExchange { status: 201, ..signed },
        SignedExchange { answer_digest: &other, ..signed },
    ];
    for (at, changed) in changes.into_iter().enumerate() {
        let refused = verify_answer(&key, &changed, BODY, &fields);
        assert_eq!(refused, Err(AnswerSignatureError::Signature), "{at}");
    }
    let less = SignedExchange { authorization: None, ..signed };
    assert_eq!(verify_answer(&key, &less, BODY, &fields), Err(AnswerSignatureError::Missing));
    let fewer = signer().sign(&less, 1_764_000_000);
    assert_eq!(verify_answer(&key, &signed, BODY, &fewer), Err(AnswerSignatureError::Missing));
    assert_eq!(verify_answer(&key, &signed, b"{} ", &fields), Err(AnswerSignatureError::Body));
}

#[test]
fn a_signature_of_another_key_or_form_is_refused() {
    let answer = body_digest(BODY);
    let exchange = exchange(&answer, &answer);
    let (key, fields) = (signer().public(), signer().sign(&exchange, 1_764_000_000));
    let stranger = AnswerSigner::new(&Secret::take(&mut [8; 32]));
    let forged = stranger.sign(&exchange, 1_764_000_000);
    assert_eq!(verify_answer(&key, &exchange, BODY, &forged), Err(AnswerSignatureError::OtherKey));
    let borrowed = AnswerSignature { input: fields.input.clone(), ..forged };
    assert_eq!(verify_answer(&key, &exchange, BODY, &borrowed), Err(AnswerSignatureError::Signature));
    let no_point =
        (0..=u8::MAX).map(|byte| [byte; 32]).find(|key| VerifyingKey::from_bytes(key).is_err()).unwrap();
    assert_eq!(verify_answer(&no_point, &exchange, BODY, &fields), Err(AnswerSignatureError::Key));

    for input in [
        String::new(),
        "ledger=();created=1".to_owned(),
        fields.input.replace("ledger=", "sig1="),
        fields.input.replace("created=1764000000", "created=01764000000"),
        fields.input.replace("created=1764000000", "created=-1"),
        format!("{};expires=1", fields.input),
        format!("{}, {}", fields.input, fields.input),
        "ledger=".repeat(MAX_INPUT_BYTES),
    ] {
        let changed = AnswerSignature { input: input.clone(), signature: fields.signature.clone() };
        assert!(verify_answer(&key, &exchange, BODY, &changed).is_err(), "{input}");
    }
    for signature in ["", "ledger=::", "ledger=:AAAA:", &fields.signature.replace("ledger", "other")] {
        let changed = AnswerSignature { input: fields.input.clone(), signature: signature.to_owned() };
        assert!(verify_answer(&key, &exchange, BODY, &changed).is_err(), "{signature}");
    }
}

#[test]
fn a_digest_is_the_one_of_rfc_9530() {
    // RFC 9530, appendix B.1.
    let digest = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:";
    assert_eq!(body_digest(b"{\"hello\": \"world\"}\n"), digest);
}
