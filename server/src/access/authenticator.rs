//! The sender of a request: the holder of a token, or any caller on this machine.
//! The latter only where the service is open and a ledger has no tokens.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::header;
use axum::http::request::Parts;
use bitacora_formats::{LedgerName, Micros};
use bitacora_governance::{Identity, suffices};
use bitacora_ledger::Ledger;
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{PrincipalCreated, Role};

use crate::http::peer::Peer;
use crate::ledgers::Ledgers;
use crate::ledgers::slot::{Slot, is_closed};
use crate::problem::{Code, Problem};

/// The ledger whose tokens are good for what is of no ledger.
const MAIN_LEDGER: &str = "main";
/// The answer to a caller without a token.
const TOKEN_NEEDED: &str = "this takes a token: `Authorization: Bearer bt_…`";
/// The beginning of every token.
const TOKEN_PREFIX: &str = "bt_";
/// The length of the rest: 256 bits in base64url.
const TOKEN_CHARACTERS: usize = 43;

/// The credentials of a request. They are never written anywhere, and have no `Debug` for that reason.
pub(crate) struct Credentials {
    token: Option<String>,
    /// `true` if the connection comes from this machine.
    is_near: bool,
    /// `true` if it comes from the program that has the folder and its keys. That one could do all of it without the service, and needs no
    /// token.
    is_owner: bool,
}

/// Returns the credentials of a request.
pub(crate) fn token_of(parts: &Parts) -> Result<Credentials, Problem> {
    let peer = parts.extensions.get::<Peer>();
    let is_owner = peer == Some(&Peer::Owner);
    let is_near = is_owner || matches!(peer, Some(Peer::Tcp | Peer::Unix | Peer::Console { is_near: true }));
    let mut fields = parts.headers.get_all(header::AUTHORIZATION).iter();
    let Some(field) = fields.next() else { return Ok(Credentials { token: None, is_near, is_owner }) };
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
    Ok(Credentials { token: Some(token.to_owned()), is_near, is_owner })
}

/// Identifies callers by the tokens of the ledgers, or by where they call from.
pub(crate) struct Authenticator {
    ledgers: Arc<Ledgers>,
    /// `true` if callers on this machine need no token where a ledger has none.
    is_open: bool,
}

impl Authenticator {
    pub(crate) fn new(ledgers: Arc<Ledgers>, is_open: bool) -> Self {
        Self { ledgers, is_open }
    }

    /// Identifies the sender to the ledger, or, without one, to the service.
    pub(crate) fn identify(
        &self,
        ledger: Option<&LedgerName>,
        credentials: &Credentials,
    ) -> Result<Identity, Problem> {
        let Some(name) = ledger else { return self.of_service(credentials) };
        match self.ledgers.all().get(name) {
            Some(Slot::Open(ledger)) => self.of_ledger(ledger.ledger(), credentials),
            // The tokens of that ledger are not known, so none of them is refused for good. A reader of the service is told why it is not
            // open.
            Some(Slot::Failed(_) | Slot::Waiting(_)) if self.of_service(credentials).is_err() => {
                let detail = format!("ledger {name} is not open; who may use it is known once it is");
                Err(Problem::new(Code::LedgerUnavailable, detail))
            }
            Some(Slot::Failed(_) | Slot::Waiting(_)) => Err(self.unusable(name)),
            None => self.of_service(credentials).and(Err(self.unusable(name))),
        }
    }

    /// Returns the reason for which a ledger is not used.
    fn unusable(&self, name: &LedgerName) -> Problem {
        let found = self.ledgers.ledger(name).err();
        found.unwrap_or_else(|| {
            Problem::new(Code::LedgerUnavailable, format!("ledger {name} has just opened; try again"))
        })
    }

    /// Identifies the sender to the service. Paths of no ledger take the tokens of `main`, or of the only ledger, where that is open. Else
    /// they take a token that every open ledger takes, in the least of its roles there.
    fn of_service(&self, credentials: &Credentials) -> Result<Identity, Problem> {
        let slots = self.ledgers.all();
        if let Some(ledger) = deciding(&slots) {
            return self.of_ledger(ledger.ledger(), credentials);
        }
        let all = open(&slots)
            .map(|ledger| self.of_ledger(ledger.ledger(), credentials))
            .collect::<Result<Vec<_>, _>>();
        match (all, &credentials.token) {
            (Ok(all), Some(_)) => {
                let least = all
                    .into_iter()
                    .reduce(|one, other| if suffices(one.role, other.role) { other } else { one });
                least.ok_or_else(|| unauthorized("no ledger is open that could take a token"))
            }
            // Where every ledger is open and none has tokens, every caller on this machine runs it.
            (Ok(all), None) if all.len() == slots.len() => local(self.is_open, credentials, Role::Admin),
            (_, None) => local(self.is_open, credentials, Role::Auditor),
            (Err(problem), Some(_)) => Err(problem),
        }
    }

    /// Identifies the sender in the highest of its roles in any open ledger: before it is known which ledger is meant.
    pub(crate) fn identify_anywhere(&self, credentials: &Credentials) -> Result<Identity, Problem> {
        let slots = self.ledgers.all();
        let mut found: Result<Identity, Problem> = self.of_service(credentials);
        for ledger in open(&slots) {
            if let Ok(other) = self.of_ledger(ledger.ledger(), credentials)
                && found.as_ref().map_or(true, |found| suffices(other.role, found.role))
            {
                found = Ok(other);
            }
        }
        found
    }

    /// Returns the one open ledger to which the sender may write; of several `main`.
    pub(crate) fn written_ledger(&self, credentials: &Credentials) -> Result<LedgerName, Problem> {
        let slots = self.ledgers.all();
        let mut written = Vec::new();
        for (name, slot) in slots.iter() {
            let Slot::Open(ledger) = slot else { continue };
            let identity = self.of_ledger(ledger.ledger(), credentials);
            if identity.is_ok_and(|identity| suffices(identity.role, Role::Agent)) {
                written.push(name);
            }
        }
        match written[..] {
            [] => Err(unauthorized("no open ledger lets this sender write")),
            [only] => Ok(only.clone()),
            _ => {
                let main = written.into_iter().find(|name| name.as_str() == MAIN_LEDGER).cloned();
                main.ok_or_else(|| {
                    let detail = "several ledgers take this token: name one in the header Bitacora-Ledger, \
                                  or export to /v1/ledgers/{ledger}/otlp";
                    Problem::new(Code::BadHeader, detail)
                })
            }
        }
    }

    fn of_ledger(&self, ledger: &Ledger, credentials: &Credentials) -> Result<Identity, Problem> {
        let now = self.ledgers.time_in(ledger);
        let Some(token) = &credentials.token else {
            return if is_closed(ledger) && !credentials.is_owner {
                Err(unauthorized(TOKEN_NEEDED))
            } else {
                local(self.is_open, credentials, Role::Admin)
            };
        };
        let principal = principal_of(ledger, token, now);
        let found = principal.as_ref().map(Identity::of);
        found.ok_or_else(|| unauthorized("the token is not one of this ledger's, or is expired or revoked"))
    }

    /// The sender as the first admin of another ledger: the same token, for as long as it is taken here, where that differs from ledger to
    /// ledger for the shortest of these times. `None` for a caller without a token.
    pub(crate) fn first_admin(&self, credentials: &Credentials) -> Result<Option<PrincipalCreated>, Problem> {
        let Some(token) = &credentials.token else { return Ok(None) };
        must_suffice(&self.of_service(credentials)?, Role::Admin)?;
        let (slots, now) = (self.ledgers.all(), self.ledgers.now());
        let found: Vec<_> = match deciding(&slots) {
            Some(ledger) => principal_of(ledger.ledger(), token, now).into_iter().collect(),
            None => open(&slots).filter_map(|ledger| principal_of(ledger.ledger(), token, now)).collect(),
        };
        Ok(found.into_iter().min_by_key(|principal| principal.expires.unwrap_or(u64::MAX)))
    }
}

/// The ledger whose tokens alone are good for what is of no ledger: `main`, or the only one, where that is open.
fn deciding(slots: &BTreeMap<LedgerName, Slot>) -> Option<&IndexedLedger> {
    let main = slots.iter().find(|(name, _)| name.as_str() == MAIN_LEDGER).map(|(_, slot)| slot);
    let only = slots.values().next().filter(|_| slots.len() == 1);
    match main.or(only) {
        Some(Slot::Open(ledger)) => Some(ledger),
        _ => None,
    }
}

fn open(slots: &BTreeMap<LedgerName, Slot>) -> impl Iterator<Item = &IndexedLedger> {
    slots.values().filter_map(|slot| match slot {
        Slot::Open(ledger) => Some(ledger),
        Slot::Failed(_) | Slot::Waiting(_) => None,
    })
}

fn principal_of(ledger: &Ledger, token: &str, now: Micros) -> Option<PrincipalCreated> {
    ledger
        .governance()
        .and_then(|governance| governance.read(|state| state.principals().of_token(token, now).cloned()))
}

/// A caller without a token. Only the owner of the folder, and a caller on the machine of an open service, needs none.
fn local(is_open: bool, credentials: &Credentials, role: Role) -> Result<Identity, Problem> {
    if credentials.token.is_some() {
        return Err(unauthorized("no ledger has tokens here that this one could be of"));
    }
    if credentials.is_owner || is_open && credentials.is_near {
        return Ok(Identity::local(role));
    }
    Err(unauthorized(TOKEN_NEEDED))
}

/// Checks that a role suffices for what is asked.
pub(crate) fn must_suffice(identity: &Identity, needs: Role) -> Result<(), Problem> {
    if suffices(identity.role, needs) {
        return Ok(());
    }
    let detail = format!("this takes the role {}; the token's is {}", needs.as_str(), identity.role.as_str());
    Err(Problem::new(Code::Forbidden, detail).with("needs", needs.as_str()))
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
    fn without_a_token_only_an_open_service_answers_and_only_this_machine() {
        let credentials = |token: Option<&str>, is_near, is_owner| {
            let token = token.map(str::to_owned);
            Credentials { token, is_near, is_owner }
        };
        let code = |is_open, credentials| {
            local(is_open, &credentials, Role::Admin).map_err(|problem| problem.code())
        };
        let admin = Ok(Identity::local(Role::Admin));
        assert_eq!(code(true, credentials(None, true, false)), admin);
        assert_eq!(code(false, credentials(None, true, true)), admin, "the owner of the folder");
        assert_eq!(code(false, credentials(None, true, false)), Err(Code::Unauthorized));
        assert_eq!(code(true, credentials(None, false, false)), Err(Code::Unauthorized));
        assert_eq!(code(true, credentials(Some("bt_"), true, false)), Err(Code::Unauthorized));
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
