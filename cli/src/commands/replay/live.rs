//! A comparison of a service's state with the state folded from its log.

use bitacora_api::StateAnswer;
use bitacora_formats::Position;
use bitacora_governance::REACTOR_VERSION;
use bitacora_replay::{LiveComparison, ReplayStart};

use super::{ReplayFailure, fold, write};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::access::{OpenFolder, event_loop};
use crate::options::global::Global;
use crate::terminal::output::Output;

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
    let mut folded = fold(folder.ledger.clone(), vec![place], ReplayStart::FirstEvent)?;
    let Some(replayed) = folded.pop() else { return Ok(Exit::Failed) };
    let parts = live.parts.into_iter().collect();
    let compared = LiveComparison::new(&replayed, live.digest, &parts).map_err(ReplayFailure::of_state)?;
    write(|| compared.to_json(), || compared.lines(), global, output)?;
    Ok(if compared.is_same() { Exit::Done } else { Exit::Failed })
}
