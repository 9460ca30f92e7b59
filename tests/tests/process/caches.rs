//! Tests of a policy cache beside a real service: it denies within a moment of the record.
//! It is never taken for fresh when it is not, and knows nothing that concerns others.

use std::time::{Duration, Instant};

use bitacora_client::{
    CacheError, CallRequest, CheckedDecision, Client, PolicyCache, PolicyCacheOptions, ServiceUrl, Token,
    Verdict,
};
use bitacora_formats::{Data, Event, Json};
use bitacora_tests::service::ServiceFolder;
use bitacora_vocabulary::ReasonCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;

use crate::PROGRAM;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

fn admin() -> Token {
    Token::of_bits(&[1; 32])
}

fn coder() -> Token {
    Token::of_bits(&[2; 32])
}

fn client(place: &ServiceFolder, token: Option<Token>) -> Client {
    Client::new(ServiceUrl::Unix(place.socket()), "main".parse().unwrap(), token)
}

/// Appends what an operator says.
async fn say(client: &Client, id: &str, kind: &'static str, data: Value) {
    let mut event = Event::new(id.to_owned(), "urn:caches", kind, "governance");
    event.data = Data::Json(Json::check(data.to_string().into_bytes()).unwrap());
    client.append(&[event]).await.unwrap();
}

async fn register(client: &Client) {
    let tool = json!({
        "tool": "fs.write", "version": "1", "description": "a tool",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        "risk": "write", "blast_radius": "low", "requires_review": false, "allowed_roles": ["agent"],
        "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none",
        "binding_fields": [], "context_from": {"pointer": "/path", "normaliser": "path"}
    });
    say(client, "tool", "tool.registered", tool).await;
}

async fn create(client: &Client, name: &str, token: &Token, more: Value) {
    let hash: String = Sha256::digest(token.reveal()).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut data = json!({"principal": name, "token_hash": hash});
    data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    say(client, name, "principal.created", data).await;
}

fn write(call: &str) -> CallRequest {
    CallRequest::new(call, "fs.write").with_args(r#"{"path":"src/a.rs"}"#).unwrap()
}

/// Waits until the cache says what is asked for: how long that took.
async fn until(cache: &PolicyCache, what: &str, is_so: impl Fn(&PolicyCache) -> bool) -> Duration {
    let began = Instant::now();
    while !is_so(cache) {
        assert!(began.elapsed() < PATIENCE, "{what}: {:?}", cache.predict(&write("waited")));
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    began.elapsed()
}

fn code(cache: &PolicyCache, call: &str) -> Option<ReasonCode> {
    cache.predict(&write(call)).ok().map(|predicted| predicted.reason_code())
}

#[test]
fn a_cache_denies_within_a_moment_of_what_is_recorded_and_never_when_it_is_old() {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    let mut service = place.start().unwrap();
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let local = client(&place, None);
        let options = PolicyCacheOptions { agent: None, stale_after: Duration::from_millis(1_500) };
        let cache = local.policy_cache(&options);
        cache.ready().await.unwrap();
        let predicted = cache.predict(&write("c1")).unwrap();
        assert_eq!((predicted.verdict(), predicted.reason_code()), (Verdict::Deny, ReasonCode::ToolUnknown));
        assert!(predicted.denies() && predicted.is_enforced() && predicted.position() > 0);
        assert!(predicted.age() < Duration::from_millis(1_500), "{:?}", predicted.age());
        register(&local).await;
        until(&cache, "the tool", |cache| code(cache, "c1") == Some(ReasonCode::NoPolicy)).await;
        assert!(!cache.predict(&write("c1")).unwrap().denies(), "a review is no deny");

        for (version, action, found) in
            [(1, "allow", ReasonCode::TrustRequireReview), (2, "deny", ReasonCode::PolicyDeny)]
        {
            let rules = json!([{"id": "all", "match": {}, "action": action, "reason": "for a test"}]);
            publish(&local, version, rules).await;
            until(&cache, action, |cache| code(cache, "c1") == Some(found)).await;
        }
        // Denied here, nothing is recorded; asked of the ledger, it says the same.
        let head =
            |client: Client| async move { client.get::<Value>("head").await.unwrap()["position"].clone() };
        let before = head(local.clone()).await;
        let said = local.decide_unless_denied(&cache, &write("c2")).await.unwrap();
        assert!(
            matches!(said, CheckedDecision::Denied(_))
                && !said.is_allowed()
                && said.reason().contains("for a test")
        );
        assert_eq!(head(local.clone()).await, before);
        assert_eq!(local.decide(&write("c2")).await.unwrap().reason_code, "policy-deny");

        say(&local, "active", "policy.activated", json!({"version": 1})).await;
        until(&cache, "back", |cache| code(cache, "c3") == Some(ReasonCode::TrustRequireReview)).await;
        let said = local.decide_unless_denied(&cache, &write("c3")).await.unwrap();
        assert!(
            matches!(&said, CheckedDecision::Decided(decision) if decision.verdict == Verdict::Review),
            "{said:?}"
        );
        // A call that was asked for is the ledger's to repeat.
        until(&cache, "asked", |cache| {
            matches!(cache.predict(&write("c3")), Err(CacheError::Unpredictable(_)))
        })
        .await;
        say(&local, "panic", "panic.engaged", json!({"reason": "a drill"})).await;
        let took = until(&cache, "panic", |cache| code(cache, "c4") == Some(ReasonCode::Panic)).await;
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert!(cache.predict(&write("c4")).unwrap().denies());
        let unfit = cache.predict(&CallRequest::new("c5", "fs.write")).unwrap_err();
        assert!(matches!(&unfit, CacheError::Unfit(unfit) if unfit.member == "args"), "{unfit}");
        let mut other = write("c6");
        other.agent = Some("tester".to_owned());
        assert!(matches!(cache.predict(&other), Err(CacheError::OtherAgent { .. })));

        // Nobody keeps it fresh any more: it says so, and denies nothing by itself.
        service.kill().unwrap();
        until(&cache, "old", |cache| matches!(cache.predict(&write("c7")), Err(CacheError::Stale { .. })))
            .await;
        service = place.start().unwrap();
        until(&cache, "again", |cache| code(cache, "c7") == Some(ReasonCode::Panic)).await;
        say(&local, "released", "panic.released", json!({"reason": "over"})).await;
        until(&cache, "released", |cache| code(cache, "c7") == Some(ReasonCode::TrustRequireReview)).await;
    });
    assert!(service.terminate().unwrap().success());
}

async fn publish(client: &Client, version: u64, rules: Value) {
    let trust = bitacora_vocabulary::TrustRules::v2();
    let compiled: Vec<_> = serde_json::from_value(rules.clone()).unwrap();
    let digest = bitacora_governance::Policy::compile(&compiled, &trust).unwrap().digest().to_string();
    let document =
        json!({"version": version, "digest": digest, "rules": rules, "trust": trust, "author": "me"});
    say(client, &format!("published{version}"), "policy.published", document).await;
    say(client, &format!("activated{version}"), "policy.activated", json!({"version": version})).await;
}

#[test]
fn a_token_that_is_revoked_ends_its_cache() {
    let folder = tempfile::tempdir().unwrap();
    let place = ServiceFolder::new(PROGRAM, folder.path());
    let mut service = place.start().unwrap();
    Runtime::new().unwrap().block_on(async {
        create(&client(&place, None), "ana", &admin(), json!({"role": "admin"})).await;
        let ana = client(&place, Some(admin()));
        create(&ana, "coder", &coder(), json!({"role": "agent", "agent": "coder"})).await;
        register(&ana).await;
        let cache = client(&place, Some(coder())).policy_cache(&PolicyCacheOptions::default());
        cache.ready().await.unwrap();
        until(&cache, "its own agent", |cache| code(cache, "c1") == Some(ReasonCode::NoPolicy)).await;
        let foreign =
            PolicyCacheOptions { agent: Some("tester".to_owned()), ..PolicyCacheOptions::default() };
        let refused = client(&place, Some(coder())).policy_cache(&foreign).ready().await.unwrap_err();
        assert!(matches!(&refused, CacheError::Ended(why) if why.contains("coder")), "{refused}");
        say(&ana, "revoked", "principal.revoked", json!({"principal": "coder"})).await;
        until(&cache, "ended", |cache| matches!(cache.predict(&write("c2")), Err(CacheError::Ended(_))))
            .await;
    });
    assert!(service.terminate().unwrap().success());
}
