//! An example: `predict URL TOOL ARGS` shows the cache's prediction and the decision of a call.
//! A token is taken from `BITACORA_TOKEN`.

use std::error::Error;

use bitacora_client::{CallRequest, CheckedDecision, Client, PolicyCacheOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, tool, args] = words.as_slice() else { return Err("predict URL TOOL ARGS".into()) };
    let token = std::env::var("BITACORA_TOKEN").ok().map(|token| token.parse()).transpose()?;
    let client = Client::new(url.parse()?, "main".parse()?, token);
    let cache = client.policy_cache(&PolicyCacheOptions::default());
    cache.ready().await?;
    let call = CallRequest::new(format!("predicted-{}", std::process::id()), tool).with_args(args)?;
    let predicted = cache.predict(&call)?;
    tell(&format!("it would be {:?}: {}", predicted.verdict(), predicted.reason()));
    match client.decide_unless_denied(&cache, &call).await? {
        CheckedDecision::Denied(_) => tell("denied without asking, and not recorded"),
        CheckedDecision::Decided(decision) => {
            tell(&format!("decided at {}: {}", decision.position, decision.reason));
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows what it found")]
fn tell(what: &str) {
    println!("{what}");
}
