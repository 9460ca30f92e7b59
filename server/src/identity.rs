//! Who sends a request: the holder of a token, or, where a ledger has none, whoever is on this machine.

use std::collections::BTreeMap;

use axum::http::header;
use axum::http::request::Parts;
use bitacora_formats::LedgerName;
use bitacora_formats::vocabulary::Role;
use bitacora_governance::{Identity, suffices};
use bitacora_ledger::Ledger;
use bitacora_projector::IndexedLedger;

use crate::api::Api;
use crate::connection::Peer;
use crate::ledgers::Slot;
use crate::problem::{Code, Problem};

/// The ledger whose tokens are good for what is of no ledger.
const MAIN_LEDGER: &str = "main";
/// What every token begins with.
const TOKEN_PREFIX: &str = "bt_";
/// What follows: 256 bits in base64url.
const TOKEN_CHARACTERS: usize = 43;

/// What a request shows of its sender. It is never written anywhere, and has no `Debug` for that reason.
pub(crate) struct Shown {
    token: Option<String>,
    /// Whether the connection comes from this machine.
    is_near: bool,
    /// Whether it comes from who has the folder and its keys, and needs no token for what they may do without the service.
    is_owner: bool,
}

/// What a request shows of its sender.
pub(crate) fn token_of(parts: &Parts) -> Result<Shown, Problem> {
    let peer = parts.extensions.get::<Peer>();
    let is_owner = peer == Some(&Peer::Owner);
    let is_near = is_owner || matches!(peer, Some(Peer::Tcp | Peer::Unix));
    let mut fields = parts.headers.get_all(header::AUTHORIZATION).iter();
    let Some(field) = fields.next() else { return Ok(Shown { token: None, is_near, is_owner }) };
    if fields.next().is_some() {
        return Err(unauthorized("the header Authorization stands there twice"));
    }
    let text = field.to_str().unwrap_or_default();
    let token = text
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .filter(|token| is_token(token));
    let Some(token) = token else {
        return Err(unauthorized("the header Authorization is not `Bearer bt_…` with a whole token"));
    };
    Ok(Shown { token: Some(token.to_owned()), is_near, is_owner })
}

/// Who has shown this: to the ledger, or, without one, to the service.
pub(crate) fn identify(api: &Api, ledger: Option<&LedgerName>, shown: &Shown) -> Result<Identity, Problem> {
    let Some(name) = ledger else { return of_service(api, shown) };
    match api.ledgers.all().get(name) {
        Some(Slot::Open(ledger)) => of_ledger(api, ledger, shown),
        // Whose tokens it has is not known, so none of them is refused for good. Why it is not open hears who may look.
        Some(Slot::Failed(_) | Slot::Waiting(_)) if of_service(api, shown).is_err() => {
            let detail = format!("ledger {name} is not open; who may use it is known once it is");
            Err(Problem::new(Code::LedgerUnavailable, detail))
        }
        Some(Slot::Failed(_) | Slot::Waiting(_)) => Err(unusable(api, name)),
        None => of_service(api, shown).and(Err(unusable(api, name))),
    }
}

/// Why a ledger is not used.
fn unusable(api: &Api, name: &LedgerName) -> Problem {
    let found = api.ledgers.ledger(name).err();
    found.unwrap_or_else(|| {
        Problem::new(Code::LedgerUnavailable, format!("ledger {name} has just opened; try again"))
    })
}

/// What is of no ledger takes the tokens of `main`, or of the only one, where that is open; else a token that every open ledger takes, in
/// the least of its roles there.
fn of_service(api: &Api, shown: &Shown) -> Result<Identity, Problem> {
    let slots = api.ledgers.all();
    let main = slots.iter().find(|(name, _)| name.as_str() == MAIN_LEDGER).map(|(_, slot)| slot);
    let only = slots.values().next().filter(|_| slots.len() == 1);
    if let Some(Slot::Open(ledger)) = main.or(only) {
        return of_ledger(api, ledger, shown);
    }
    let all = open(&slots).map(|ledger| of_ledger(api, ledger, shown)).collect::<Result<Vec<_>, _>>();
    match (all, &shown.token) {
        (Ok(all), Some(_)) => {
            let least =
                all.into_iter().reduce(|one, other| if suffices(one.role, other.role) { other } else { one });
            least.ok_or_else(|| unauthorized("no ledger is open that could take a token"))
        }
        // Where every ledger is open and none has tokens, whoever is on the machine runs it.
        (Ok(all), None) if all.len() == slots.len() => local(shown, Role::Admin),
        (_, None) => local(shown, Role::Auditor),
        (Err(problem), Some(_)) => Err(problem),
    }
}

/// Who has shown this, in the highest of their roles in any open ledger: before it is known which one is meant.
pub(crate) fn identify_anywhere(api: &Api, shown: &Shown) -> Result<Identity, Problem> {
    let slots = api.ledgers.all();
    let mut found: Result<Identity, Problem> = of_service(api, shown);
    for ledger in open(&slots) {
        if let Ok(other) = of_ledger(api, ledger, shown)
            && found.as_ref().map_or(true, |found| suffices(other.role, found.role))
        {
            found = Ok(other);
        }
    }
    found
}

fn open(slots: &BTreeMap<LedgerName, Slot>) -> impl Iterator<Item = &IndexedLedger> {
    slots.values().filter_map(|slot| match slot {
        Slot::Open(ledger) => Some(ledger),
        Slot::Failed(_) | Slot::Waiting(_) => None,
    })
}

/// Whether the ledger is used with tokens alone.
pub(crate) fn is_closed(ledger: &Ledger) -> bool {
    ledger.governance().is_some_and(|governance| governance.read(|state| state.principals().is_closed()))
}

fn of_ledger(api: &Api, ledger: &Ledger, shown: &Shown) -> Result<Identity, Problem> {
    let now = api.ledgers.time_in(ledger);
    let Some(token) = &shown.token else {
        return if is_closed(ledger) && !shown.is_owner {
            Err(unauthorized("this takes a token: `Authorization: Bearer bt_…`"))
        } else {
            local(shown, Role::Admin)
        };
    };
    let found = ledger.governance().and_then(|governance| {
        governance.read(|state| state.principals().of_token(token, now).map(Identity::of))
    });
    found.ok_or_else(|| unauthorized("the token is not one of this ledger's, or is expired or revoked"))
}

fn local(shown: &Shown, role: Role) -> Result<Identity, Problem> {
    if shown.token.is_some() {
        return Err(unauthorized("no ledger has tokens here that this one could be of"));
    }
    if !shown.is_near {
        return Err(unauthorized("without a token only callers on the service's own machine are served"));
    }
    Ok(Identity::local(role))
}

fn is_token(text: &str) -> bool {
    text.strip_prefix(TOKEN_PREFIX).is_some_and(|rest| {
        rest.len() == TOKEN_CHARACTERS
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    })
}

fn unauthorized(detail: &str) -> Problem {
    Problem::new(Code::Unauthorized, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_token_only_this_machine_is_served() {
        let shown = |token: Option<&str>, is_near| {
            let token = token.map(str::to_owned);
            Shown { token, is_near, is_owner: false }
        };
        let code = |shown| local(&shown, Role::Admin).map_err(|problem| problem.code());
        assert_eq!(code(shown(None, true)), Ok(Identity::local(Role::Admin)));
        assert_eq!(code(shown(None, false)), Err(Code::Unauthorized));
        assert_eq!(code(shown(Some("bt_"), true)), Err(Code::Unauthorized));
    }

    #[test]
    fn a_token_is_256_bits_in_base64url_behind_its_prefix() {
        let good = format!("bt_{}", "aZ0-_".repeat(9).split_at(43).0);
        assert!(is_token(&good));
        for bad in [good.replace("bt_", "BT_"), format!("{good}a"), good.replace("aZ", "a="), "bt_".into()] {
            assert!(!is_token(&bad), "{bad}");
        }
    }
}
