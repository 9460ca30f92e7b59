//! A comparison of a service's state with the state folded from its log.

use bitacora_api::StateAnswer;
use bitacora_formats::Position;
use bitacora_governance::REACTOR_VERSION;
use serde_json::json;

use super::fold::Begin;
use super::{ReplayFailure, fold, interruptible};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::access::{OpenFolder, event_loop};
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};

/// Compares the two states. The service is asked first: a later answer may be ahead of the folder.
pub(super) fn compare(global: &Global, output: &mut Output) -> Result<Exit, CommandError> {
    let url = global.url.as_ref().ok_or(ReplayFailure::NoService)?;
    let data = global.data()?;
    let mut client = global.client(url).map_err(ReplayFailure::from)?;
    let path = format!("/v1/ledgers/{}/projections/governance", global.ledger);
    let asked = event_loop()?.block_on(async { client.get(&path, "application/json").await?.whole().await });
    let asked = asked.map_err(ReplayFailure::from)?;
    let live: StateAnswer =
        serde_json::from_slice(&asked).map_err(|_| ReplayFailure::from(client.strange()))?;
    if live.version != REACTOR_VERSION {
        return Err(ReplayFailure::OtherRules { live: live.version }.into());
    }
    let folder = OpenFolder::open_for_reading(global, data)?;
    let head = folder.ledger.head().position;
    // Before the first event that concerns it the state is that of position 1.
    let place = live.position.parse().ok().and_then(Position::new).unwrap_or(Position::FIRST);
    if place > head {
        return Err(ReplayFailure::Behind { live: place, head }.into());
    }
    let ledger = folder.ledger.clone();
    let mut folded =
        interruptible(move |stop| fold::states(&ledger, &[place], &Begin::AtTheFirstEvent, stop))?;
    let Some(replayed) = folded.pop() else { return Ok(Exit::Failed) };
    let digests = replayed.state.digests().map_err(ReplayFailure::from)?;
    let own = digests.state.to_string();
    let own_parts = digests.parts.iter().map(|(part, digest)| (part.name.to_owned(), digest.to_string()));
    let own_parts: std::collections::BTreeMap<_, _> = own_parts.collect();
    let names = own_parts.keys().chain(live.parts.keys());
    let mut differing: Vec<_> = names.filter(|name| own_parts.get(*name) != live.parts.get(*name)).collect();
    differing.sort_unstable();
    differing.dedup();
    let same = own == live.digest && differing.is_empty();
    if global.json {
        output.json(&json!({
            "same": same,
            "position": place.to_string(),
            "replayed": own,
            "live": live.digest,
            "differing": differing,
        }))?;
    } else {
        output.line(format_args!("position {place}"))?;
        output.line(format_args!("replayed {own}"))?;
        output.line(format_args!("live     {}", printable(&live.digest)))?;
        match (same, differing.as_slice()) {
            (true, _) => output.line("the same")?,
            (false, parts) => {
                let parts: Vec<_> = parts.iter().map(|part| printable(part)).collect();
                output.line(format_args!("not the same: {}", parts.join(", ")))?;
            }
        }
    }
    Ok(if same { Exit::Done } else { Exit::Failed })
}
