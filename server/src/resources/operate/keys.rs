//! `…/keys`: the public keys of a ledger.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{Data, format_time};
use bitacora_ledger::{Filter, ReadFrom, ReadQuery, StoredEvent};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{EventData, LedgerOpened};

use crate::api::Api;
use crate::json::hex;
use crate::problem::Problem;
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::resources::description::{AtLeast, InLedger, Refusals};
use bitacora_api::{KeysAnswer, SigningKeyAnswer, paths};

#[utoipa::path(
    get,
    path = paths::KEYS,
    tag = "operation",
    operation_id = "showKeys",
    params(InLedger, AtLeast),
    responses(
        (status = 200, description = "The public keys, and the ages of what they are of", body = KeysAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let head = request.state(&api).await?;
    let keyring = Arc::clone(api.ledgers.keyring());
    let ledger = request.ledger;
    let answer = api
        .read(move || {
            // The keys are known where the log cannot be read too, as while an archive is away; then only their ages are not.
            let (created, opened) =
                (first_event(&ledger).ok().flatten(), last_opening(&ledger).ok().flatten());
            let epoch = opened.as_ref().and_then(|opened| {
                let Data::Json(json) = &opened.event.data else { return None };
                serde_json::from_slice::<LedgerOpened>(json.as_bytes()).ok()
            });
            let chain = keyring.signing_chain();
            let keys = (1..=chain.active_index()).filter_map(|number| {
                Some(SigningKeyAnswer { number, key: hex(chain.key(number)?.as_bytes()) })
            });
            Ok(KeysAnswer {
                verifier_key: ledger.verifier_key().map(|key| key.to_string()),
                answer_key: ledger.ledger().answer_signer().key_id(),
                signing_keys: keys.collect(),
                signing_keys_note: keyring.signing_chain_note(),
                encryption_key: hex(&keyring.active_kek().0.0),
                encryption_keys: keyring.kek_ids().count() as u64,
                retired_encryption_keys: keyring.retired_ids().len() as u64,
                epoch: epoch.map(|opened| opened.epoch.get().to_string()),
                opened: opened.map(|opened| format_time(opened.time)),
                created: created.map(|created| format_time(created.time)),
            })
        })
        .await?;
    json_answer(&head, &answer)
}

fn first_event(ledger: &IndexedLedger) -> Result<Option<StoredEvent<'static>>, Problem> {
    one(ledger, ReadFrom::After(bitacora_formats::After::START), Filter::default())
}

fn last_opening(ledger: &IndexedLedger) -> Result<Option<StoredEvent<'static>>, Problem> {
    let filter = Filter { kinds: vec![LedgerOpened::KIND.to_owned()], ..Filter::default() };
    one(ledger, ReadFrom::Before(None), filter)
}

fn one(
    ledger: &IndexedLedger,
    from: ReadFrom,
    filter: Filter,
) -> Result<Option<StoredEvent<'static>>, Problem> {
    let page = ledger.read(&ReadQuery { from, until: None, limit: 1, filter })?;
    Ok(page.events.into_iter().next())
}
