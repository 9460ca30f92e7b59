//! The fold of settings and of acts that operators record: one short change of the state for each.

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    AgentResumed, AgentSuspended, ApprovalAbout, ApprovalRequested, BreakerConfigured, ContractChecked,
    FreeText, GrantGiven, GrantRevoked, HoldPlaced, ModeConfigured, Name, PolicyPublished, PrincipalCreated,
    RetentionChanged, SchemaRegistered, ToolChanged, ToolRegistered, ToolRevoked, TrustSet,
};

use crate::reactor::ObservedEvent;
use crate::state::State;
use crate::trust::record::TrustRecord;

impl State {
    pub(super) fn apply_trust_set(&mut self, set: &TrustSet, time: Micros) {
        self.checks_failed.end(&set.dimension);
        self.trust.change_or(&set.dimension, TrustRecord::default, |record| record.apply_set(set, time));
    }

    pub(super) fn apply_breaker_configured(&mut self, configured: &BreakerConfigured) {
        self.breakers.change_or(&configured.dimension, Default::default, |breaker| {
            breaker.apply_configured(&configured.settings);
        });
    }

    pub(super) fn apply_published(&mut self, published: &PolicyPublished) {
        self.policies.change(|policies| policies.apply_published(published.clone()));
    }

    pub(super) fn apply_activated(&mut self, version: u64) {
        self.policies.change(|policies| policies.apply_activated(version));
    }

    pub(super) fn apply_retired(&mut self, version: u64) {
        self.policies.change(|policies| policies.apply_retired(version));
    }

    pub(super) fn apply_mode_configured(&mut self, configured: &ModeConfigured) {
        self.modes.change(|modes| modes.apply_configured(configured.clone()));
    }

    pub(super) fn apply_contract_checked(
        &mut self,
        checked: Option<&ContractChecked>,
        placed: &ObservedEvent<'_>,
    ) {
        if let Some(checked) = checked {
            let at = self.occasion(placed.event, placed.time);
            self.contracts.apply_checked(checked, at);
        }
    }

    pub(super) fn apply_registered(&mut self, ToolRegistered(document): &ToolRegistered) {
        self.tool_sightings.apply_registered(&document.tool, document.server.as_ref());
        self.registry.change(|registry| drop(registry.apply_registered(document)));
    }

    pub(super) fn apply_changed(&mut self, ToolChanged(document): &ToolChanged) {
        self.registry.change(|registry| drop(registry.apply_changed(document)));
    }

    pub(super) fn apply_tool_revoked(&mut self, revoked: &ToolRevoked) {
        self.registry.change(|registry| drop(registry.apply_revoked(revoked)));
    }

    pub(super) fn apply_approval_requested(
        &mut self,
        request: &ApprovalRequested,
        placed: &ObservedEvent<'_>,
    ) {
        let is_rollback = request.about == ApprovalAbout::Rollback;
        if is_rollback {
            self.calls.apply_rollback(&request.call, request.contract.as_ref());
            self.ended_calls.apply_rollback(&request.call, request.contract.as_ref());
        }
        let is_counted = is_rollback || self.calls.get(&request.call).is_some_and(|open| open.is_counted);
        self.approvals.apply_requested(request.clone(), placed.position.get(), placed.time, is_counted);
    }

    pub(super) fn apply_grant_given(&mut self, grant: &GrantGiven, time: Micros) {
        self.grants.change(|grants| grants.apply_given(grant.clone(), time));
    }

    pub(super) fn apply_grant_revoked(&mut self, revoked: &GrantRevoked) {
        self.grants.change(|grants| grants.apply_revoked(&revoked.grant));
    }

    /// Stops all calls for a reason; `None` releases them.
    pub(super) fn apply_panic(&mut self, reason: Option<&FreeText>) {
        self.suspensions.change(|suspensions| suspensions.panic = reason.map(ToString::to_string));
    }

    pub(super) fn apply_suspended(&mut self, suspended: &AgentSuspended) {
        self.suspensions.change(|suspensions| {
            suspensions.suspended.insert(suspended.agent.clone(), suspended.reason.to_string());
        });
    }

    pub(super) fn apply_resumed(&mut self, resumed: &AgentResumed) {
        self.suspensions.change(|suspensions| {
            suspensions.suspended.remove(&resumed.agent);
        });
    }

    pub(super) fn apply_principal_created(&mut self, created: &PrincipalCreated, time: Micros) {
        self.principals.change(|principals| principals.apply_created(created.clone(), time));
    }

    pub(super) fn apply_principal_removed(&mut self, principal: &Name) {
        self.principals.change(|principals| principals.apply_removed(principal));
    }

    pub(super) fn apply_schema_registered(&mut self, registered: &SchemaRegistered) {
        self.custom_types.change(|types| types.apply_registered(registered.clone()));
    }

    pub(super) fn apply_hold_placed(&mut self, held: &HoldPlaced, placed: &ObservedEvent<'_>) {
        self.holds.change(|holds| holds.apply_placed(held, placed.position.into(), placed.time));
    }

    pub(super) fn apply_hold_released(&mut self, hold: &Name) {
        self.holds.change(|holds| holds.apply_released(hold));
    }

    pub(super) fn apply_retention_changed(&mut self, changed: &RetentionChanged, placed: &ObservedEvent<'_>) {
        self.retention.change(|retention| retention.apply_changed(changed, placed.position.into()));
    }
}
