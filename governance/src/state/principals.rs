//! The principals of a ledger: a fold of the events that create, revoke and expire them.

use std::collections::BTreeMap;

use bitacora_formats::Micros;
use bitacora_vocabulary::{Name, PrincipalCreated, Role, Sha256Text};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::limits::{MAX_LISTED, MAX_PRINCIPALS};
use crate::refusal::{ReactorRefusal, RefusalCode};

/// All principals whose tokens are taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principals {
    by_id: BTreeMap<Name, PrincipalCreated>,
    /// Their ids by the hashes of their tokens.
    by_hash: BTreeMap<Sha256Text, Name>,
    /// `true` if there ever was one. A ledger whose last token is gone is closed, not open again.
    is_closed: bool,
}

impl Principals {
    /// Returns `true` if the ledger is used with tokens alone: since its first one, for ever.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Returns the principal of this token at this time. The duration of the look-up tells at most a part of the hash, from which
    /// no token can be guessed: the token itself is compared with nothing.
    #[must_use]
    pub fn of_token(&self, token: &str, time: Micros) -> Option<&PrincipalCreated> {
        let hash = Sha256Text::of_digest(&Sha256::digest(token).into());
        let principal = self.by_id.get(self.by_hash.get(&hash)?)?;
        is_valid(principal, time).then_some(principal)
    }

    /// Returns those whose tokens are taken at this time, by their ids.
    pub fn valid(&self, time: Micros) -> impl Iterator<Item = &PrincipalCreated> {
        self.by_id.values().filter(move |principal| is_valid(principal, time))
    }

    /// Returns those whose time is over at this time, the first of them.
    #[must_use]
    pub fn expired(&self, time: Micros) -> Vec<PrincipalCreated> {
        let expired = self.by_id.values().filter(|principal| !is_valid(principal, time));
        expired.take(MAX_LISTED).cloned().collect()
    }

    /// Checks that a principal may be created now.
    pub(crate) fn may_create(&self, created: &PrincipalCreated, time: Micros) -> Result<(), ReactorRefusal> {
        let invalid = |reason: String| Err(ReactorRefusal::new(RefusalCode::InvalidData, reason));
        if created.agent.is_some() != (created.role == Role::Agent) {
            return invalid("an agent's name belongs to the role agent, and that role needs one".to_owned());
        }
        if created.expires.is_some_and(|expires| expires <= time.0) {
            return invalid("`expires` is past; nobody could use the token".to_owned());
        }
        if self.by_id.contains_key(&created.principal) {
            return invalid(format!("there is a principal `{}`; choose another id", created.principal));
        }
        if self.by_hash.contains_key(&created.token_hash) {
            return invalid("there is a principal with this token; make a new one".to_owned());
        }
        if !self.is_closed && created.role != Role::Admin {
            return invalid(
                "the first principal of a ledger is an admin: without one nobody could create another"
                    .to_owned(),
            );
        }
        if self.valid(time).count() >= MAX_PRINCIPALS {
            let reason = format!("there are {MAX_PRINCIPALS} principals; revoke some first");
            return Err(ReactorRefusal::new(RefusalCode::StateFull, reason));
        }
        Ok(())
    }

    /// Checks that this principal is there to be revoked.
    pub(crate) fn may_revoke(&self, id: &Name) -> Result<(), ReactorRefusal> {
        if self.by_id.contains_key(id) {
            return Ok(());
        }
        Err(ReactorRefusal::new(RefusalCode::NoSuchThing, format!("there is no principal `{id}`")))
    }

    /// Checks that a principal has expired.
    pub(crate) fn may_expire(&self, id: &Name, time: Micros) -> Result<(), ReactorRefusal> {
        self.may_revoke(id)?;
        if self.by_id.get(id).is_some_and(|principal| is_valid(principal, time)) {
            let reason = format!("principal `{id}` has not expired; revoke it instead");
            return Err(ReactorRefusal::new(RefusalCode::InvalidData, reason));
        }
        Ok(())
    }

    /// Takes in a principal; those whose time is over make room.
    pub(crate) fn apply_created(&mut self, created: PrincipalCreated, time: Micros) {
        self.is_closed = true;
        self.by_id.retain(|_, principal| is_valid(principal, time));
        let by_id = &self.by_id;
        self.by_hash.retain(|_, id| by_id.contains_key(id));
        self.by_hash.insert(created.token_hash.clone(), created.principal.clone());
        self.by_id.insert(created.principal.clone(), created);
    }

    pub(crate) fn apply_removed(&mut self, id: &Name) {
        if let Some(principal) = self.by_id.remove(id) {
            self.by_hash.remove(&principal.token_hash);
        }
    }
}

fn is_valid(principal: &PrincipalCreated, time: Micros) -> bool {
    principal.expires.is_none_or(|expires| time.0 < expires)
}

#[cfg(test)]
mod tests {
    use bitacora_vocabulary::BoundedText;

    use super::*;

    fn created(id: &str, role: Role, token: &str, expires: Option<u64>) -> PrincipalCreated {
        PrincipalCreated {
            principal: Name::new(id).unwrap(),
            role,
            name: None,
            agent: (role == Role::Agent).then(|| BoundedText::new("coder").unwrap()),
            token_hash: Sha256Text::of_digest(&Sha256::digest(token).into()),
            expires,
        }
    }

    fn refusal(result: Result<(), ReactorRefusal>) -> (RefusalCode, String) {
        let refusal = result.unwrap_err();
        (refusal.code, refusal.reason)
    }

    #[test]
    fn a_token_is_its_principals_until_it_expires_or_is_revoked() {
        let mut principals = Principals::default();
        assert!(!principals.is_closed());
        principals.apply_created(created("root", Role::Admin, "bt_a", None), Micros(1));
        principals.apply_created(created("seven", Role::Agent, "bt_b", Some(10)), Micros(1));
        let of = |principals: &Principals, token: &str, time| {
            principals.of_token(token, Micros(time)).map(|found| found.principal.to_string())
        };
        assert_eq!(of(&principals, "bt_a", 99).as_deref(), Some("root"));
        assert_eq!(of(&principals, "bt_b", 9).as_deref(), Some("seven"));
        assert_eq!(of(&principals, "bt_b", 10), None, "valid while the time is before `expires`");
        assert_eq!(of(&principals, "bt_c", 1), None);
        assert_eq!(of(&principals, "", 1), None);
        principals.apply_removed(&Name::new("root").unwrap());
        assert_eq!(of(&principals, "bt_a", 2), None);
        principals.apply_removed(&Name::new("seven").unwrap());
        assert!(principals.is_closed(), "the last token gone does not open the ledger again");
        let text = serde_json::to_string(&principals).unwrap();
        assert_eq!(serde_json::from_str::<Principals>(&text).unwrap(), principals);
    }

    #[test]
    fn what_cannot_be_created_is_refused() {
        let mut principals = Principals::default();
        let at = Micros(5);
        let (code, reason) = refusal(principals.may_create(&created("a", Role::Agent, "t", None), at));
        assert_eq!(code, RefusalCode::InvalidData);
        assert!(reason.contains("first principal"), "{reason}");
        let root = created("root", Role::Admin, "t", None);
        principals.may_create(&root, at).unwrap();
        principals.apply_created(root, at);
        let nameless = PrincipalCreated { agent: None, ..created("b", Role::Agent, "u", None) };
        let agent = Some(BoundedText::new("coder").unwrap());
        let named = PrincipalCreated { agent, ..created("b", Role::Auditor, "u", None) };
        for (bad, why) in [
            (created("root", Role::Agent, "u", None), "another id"),
            (created("b", Role::Agent, "t", None), "this token"),
            (created("b", Role::Agent, "u", Some(5)), "past"),
            (nameless, "agent's name"),
            (named, "agent's name"),
        ] {
            let (code, reason) = refusal(principals.may_create(&bad, at));
            assert_eq!(code, RefusalCode::InvalidData);
            assert!(reason.contains(why), "{reason}");
        }
        principals.may_create(&created("b", Role::Agent, "u", Some(6)), at).unwrap();
        let other = Name::new("nobody").unwrap();
        assert_eq!(refusal(principals.may_revoke(&other)).0, RefusalCode::NoSuchThing);
        let root = Name::new("root").unwrap();
        assert_eq!(refusal(principals.may_expire(&root, at)).0, RefusalCode::InvalidData);
    }

    #[test]
    fn there_are_so_many_principals_and_no_more() {
        let mut principals = Principals::default();
        for number in 0..MAX_PRINCIPALS {
            let expires = (number == 7).then_some(100);
            let one = created(&format!("p{number}"), Role::Admin, &format!("t{number}"), expires);
            principals.apply_created(one, Micros(1));
        }
        let another = created("another", Role::Admin, "another", None);
        assert_eq!(refusal(principals.may_create(&another, Micros(99))).0, RefusalCode::StateFull);
        principals.may_create(&another, Micros(100)).unwrap();
        principals.apply_created(another, Micros(100));
        assert_eq!((principals.by_id.len(), principals.by_hash.len()), (MAX_PRINCIPALS, MAX_PRINCIPALS));
    }
}
