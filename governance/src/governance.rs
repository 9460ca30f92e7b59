//! The reactor of the service: the deciding state, its published copy, and checks on callers' threads.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use bitacora_formats::{Event, Micros, Position};
use bitacora_vocabulary::{
    ApprovalResolved, EventData, EventDataError, Name, PolicyPublished, SchemaMatch, SchemaRegistered,
    ToolDocument, ToolRequested,
};

use crate::calls::approvals::Approval;
use crate::command::Command;
use crate::decide::ladder::claim;
use crate::decide::precheck::{CompiledTools, Precheck};
use crate::limits::MAX_REUSABLE_APPROVALS;
use crate::policy::Policy;
use crate::reactor::derived_event::DerivedEvent;
use crate::reactor::examination::Examination;
use crate::reactor::{ObservedEvent, Reactor, ReactorState};
use crate::refusal::{ReactorRefusal, RefusalCode};
use crate::state::State;
use crate::state::digest::{StateDigests, UnwritableState};
use crate::tools::arguments::{examine, examine_unregistered};
use crate::tools::compiled_schema::CompiledSchema;
use crate::tools::compiled_tool::CompiledTool;
use crate::tools::custom_types::{CompiledTypes, check_registered};
use crate::version::{OLDEST_READABLE_STATE, REACTOR_VERSION};

/// The reactor of one ledger. Answers rest on its published state.
#[derive(Default)]
pub struct Governance {
    published: Arc<RwLock<FoldedState>>,
    /// The last copy that was asked for. As long as nothing is folded, all callers get the same one.
    copied: Mutex<Option<Arc<StateCopy>>>,
    compiled: CompiledTools,
    compiled_types: CompiledTypes,
}

/// A state, and how far it is folded.
#[derive(Default)]
struct FoldedState {
    state: State,
    /// The last event that is folded; `None` before the first one.
    through: Option<Position>,
}

/// The published state as it was after some event.
pub struct StateCopy {
    /// The last event that is folded in it: no later one that was durable then concerns it. `None` before the first one.
    pub through: Option<Position>,
    /// The state.
    pub state: State,
    digests: OnceLock<StateDigests>,
}

impl StateCopy {
    /// Returns the digests of the state; they are made once.
    ///
    /// # Errors
    /// [`UnwritableState`].
    pub fn digests(&self) -> Result<&StateDigests, UnwritableState> {
        if let Some(digests) = self.digests.get() {
            return Ok(digests);
        }
        let digests = self.state.digests()?;
        Ok(self.digests.get_or_init(|| digests))
    }
}

impl Governance {
    /// Asks the published state: everything in one answer is of one position. A reader holds up the committer, and with it every
    /// decision. A query that looks at more than a few entries takes a [`copy`](Self::copy).
    pub fn read<T>(&self, ask: impl FnOnce(&State) -> T) -> T {
        ask(&self.published.read().unwrap_or_else(PoisonError::into_inner).state)
    }

    /// Returns a copy of the published state as it is now, which can be held for any length of time. It shares its entries with the
    /// state, so that a copy takes next to no time. One copy is made for each event that is folded.
    #[must_use]
    pub fn copy(&self) -> Arc<StateCopy> {
        let mut copied = self.copied.lock().unwrap_or_else(PoisonError::into_inner);
        let standing = self.published.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(copy) = copied.as_ref().filter(|copy| copy.through == standing.through) {
            return Arc::clone(copy);
        }
        let (through, state) = (standing.through, standing.state.clone());
        drop(standing);
        let copy = Arc::new(StateCopy { through, state, digests: OnceLock::new() });
        let before = copied.replace(Arc::clone(&copy));
        drop(copied);
        // The parts of the old copy that nobody else holds are freed here, where nobody waits.
        drop(before);
        copy
    }

    /// Returns approvals for the very action that a request asks for, which a person gave and no other call has used: at most
    /// [`MAX_REUSABLE_APPROVALS`].
    ///
    /// An agent that was refused until somebody approves makes its call again under a new id. With this approval the new request is
    /// decided like the first one asked for again, and a repeated request finds its first answer. Nothing is decided here. The run
    /// that asked for an approval is no part of the state; whoever reuses one compares it.
    #[must_use]
    pub fn approvals_for(&self, request: &Event<'_>, now: Micros) -> Vec<Approval> {
        let is_known = self.read(|state| state.approvals().has_any_of(request.agent.as_deref()));
        if !is_known {
            return Vec::new();
        }
        let (registry, policies) = self.read(|state| (state.registry.share(), state.policies.share()));
        let precheck = Precheck { registry: &registry, policies: &policies, compiled: &self.compiled };
        let Ok(facts) = precheck.call(request) else { return Vec::new() };
        let copy = self.copy();
        let claim = claim(&facts, copy.state.policy_version());
        let allowing = copy.state.approvals().allowing(&facts.call, &claim, now);
        allowing.take(MAX_REUSABLE_APPROVALS).cloned().collect()
    }
}

impl Governance {
    /// Checks that the arguments and the digest of an edit are of the same action: the ones are shown, the other holds.
    fn must_be_its_digest(&self, resolved: &ApprovalResolved) -> Result<(), ReactorRefusal> {
        let (Some(args), Some(digest)) = (&resolved.args, &resolved.action_digest) else { return Ok(()) };
        let (registry, request) = self.read(|state| {
            let approval = state.approval(&resolved.approval);
            (state.registry.share(), approval.map(|approval| approval.request.clone()))
        });
        // Without an approval nothing comes of the edit.
        let Some(request) = request else { return Ok(()) };
        let bytes = args.as_json().as_bytes();
        let found = match registry.get(&request.tool, request.server.as_deref()) {
            Some(tool) => {
                let compiled = CompiledTool::new(&tool.document).map_err(|error| invalid(&error))?;
                let cwd = resolved.cwd.as_deref().or(request.cwd.as_deref());
                examine(&compiled, bytes, cwd)
            }
            None => examine_unregistered(bytes),
        };
        let found = found.action_digest;
        if found.as_ref() == Some(digest) {
            return Ok(());
        }
        Err(invalid(
            &"`action_digest` is not that of the arguments; where they hold a secret, name the digest alone",
        ))
    }
}

impl Reactor for Governance {
    fn version(&self) -> u32 {
        REACTOR_VERSION
    }

    fn oldest_readable_state(&self) -> u32 {
        OLDEST_READABLE_STATE
    }

    fn state(&self) -> Box<dyn ReactorState> {
        Box::new(PublishedState(Arc::clone(&self.published)))
    }

    fn apart(&self) -> Box<dyn ReactorState> {
        Box::new(State::default())
    }

    fn concerns(&self, kind: &str) -> bool {
        State::concerns(kind)
    }

    fn reads(&self, kind: &str) -> bool {
        State::reads(kind)
    }

    fn examine(&self, event: &Event<'_>) -> Result<Option<Box<Examination>>, ReactorRefusal> {
        if event.kind == ToolRequested::KIND {
            let (registry, policies) = self.read(|state| (state.registry.share(), state.policies.share()));
            let precheck = Precheck { registry: &registry, policies: &policies, compiled: &self.compiled };
            let facts = precheck.call(event)?;
            must_name_call(event, &facts.call)?;
            return Ok(Some(Box::new(Examination::Call(Box::new(facts)))));
        }
        match Command::of(event)? {
            Some(Command::Ended(Some(outcome))) => {
                must_name_call(event, &outcome.call)?;
                return Ok(Some(Box::new(Examination::Outcome(Box::new(outcome)))));
            }
            Some(Command::ContractChecked(Some(_))) => return Ok(Some(Box::new(Examination::Check(None)))),
            Some(Command::ApprovalResolved(resolved)) => self.must_be_its_digest(&resolved)?,
            Some(Command::Registered(registered)) => must_compile(&registered.0)?,
            Some(Command::Changed(changed)) => must_compile(&changed.0)?,
            Some(Command::Published(published)) => must_judge(&published)?,
            Some(Command::SchemaRegistered(registered)) => must_check(&registered)?,
            _ => {}
        }
        Ok(None)
    }

    fn check_registered(&self, kind: &str, data: Option<&[u8]>) -> Result<SchemaMatch, EventDataError> {
        let registered = self.read(|state| state.custom_types.get().get(kind).cloned());
        let Some(registered) = registered else { return Ok(SchemaMatch::Unlisted) };
        check_registered(&registered, &self.compiled_types, data).map(|()| SchemaMatch::Registered)
    }
}

/// Checks that the data and the attribute `call` name the same call. Where the data is sealed, later readers have the attribute
/// alone.
fn must_name_call(event: &Event<'_>, call: &Name) -> Result<(), ReactorRefusal> {
    if event.call.as_deref() == Some(&**call) {
        return Ok(());
    }
    let named = event.call.as_deref().unwrap_or("none");
    Err(invalid(&format_args!("the data is about call `{call}`, the attribute `call` names {named}")))
}

/// Refuses a tool whose schemas and places cannot be read: it would stand in the registry and deny every call.
fn must_compile(document: &ToolDocument) -> Result<(), ReactorRefusal> {
    CompiledTool::for_registration(document).map(|_| ()).map_err(|error| invalid(&error))
}

/// Refuses a schema that cannot be read: it would let nothing of its type in.
fn must_check(registered: &SchemaRegistered) -> Result<(), ReactorRefusal> {
    let compiled = CompiledSchema::new(&registered.schema);
    compiled.map(|_| ()).map_err(|error| invalid(&format_args!("schema: {error}")))
}

/// Refuses a policy that cannot be read: it would deny every call once it is active.
fn must_judge(published: &PolicyPublished) -> Result<(), ReactorRefusal> {
    let policy = Policy::compile(&published.rules, &published.trust);
    let policy = policy.and_then(|policy| policy.with_settings(published.settings()));
    let found = policy.map_err(|error| invalid(&error))?.digest().to_string();
    if found != published.digest.as_str() {
        return Err(invalid(&format_args!("the digest of its rules is {found}, not {}", published.digest)));
    }
    Ok(())
}

fn invalid(error: &dyn std::fmt::Display) -> ReactorRefusal {
    ReactorRefusal::new(RefusalCode::InvalidData, error.to_string())
}

/// The published copy: it only ever folds.
struct PublishedState(Arc<RwLock<FoldedState>>);

impl ReactorState for PublishedState {
    fn react(&mut self, _: &ObservedEvent<'_>) -> Result<Vec<DerivedEvent>, ReactorRefusal> {
        Ok(Vec::new())
    }

    fn keep(&mut self) {}

    fn discard(&mut self) {}

    fn fork(&self) -> Box<dyn ReactorState> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).state.fork()
    }

    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        let mut standing = self.0.write().unwrap_or_else(PoisonError::into_inner);
        standing.state.fold(frame);
        standing.through = frame.iter().map(|observed| observed.position).max().or(standing.through);
    }

    fn clock_offset(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).state.clock_offset()
    }

    fn save(&self) -> Result<Option<Vec<u8>>, String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).state.save()
    }

    fn restore(&mut self, position: Position, saved: &[u8]) -> Result<(), String> {
        let mut state = State::default();
        state.restore(position, saved)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) =
            FoldedState { state, through: Some(position) };
        Ok(())
    }
}
