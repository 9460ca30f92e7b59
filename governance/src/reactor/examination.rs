//! The findings about an event from its caller's thread, before anything of it is sealed.

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    BlastRadius, BoundedText, Dimension, DimensionPart, MicroUsd, Milliseconds, Name, Sha256Text, Verdict,
};

use crate::budgets::spend::BudgetQuestion;
use crate::calls::OpenCall;
use crate::calls::approval_ids::{APPROVAL_ID_BYTES, drawn_id};
use crate::calls::keys::ScopedKey;
use crate::calls::outcome::Outcome;
use crate::limits::ALONE_LIFE;
use crate::loop_guard::LoopQuestion;
use crate::policy::zones::LocalSource;
use crate::policy::{ArgumentMatches, FileGuardResult};
use crate::rate::RateQuestion;
use crate::reactor::derived_event::DerivedValue;
use crate::tools::arguments::ArgumentFindings;
use crate::undo::per_agent_quota::NOBODY;
use crate::version::{has_no_dead_ends, is_strict, sees_cycles};

/// The findings about an event from before it gets its position.
#[derive(Debug, Clone, PartialEq)]
pub enum Examination {
    /// The facts of a `tool.requested`.
    Call(Box<CallFacts>),
    /// The outcome of a call.
    Outcome(Box<Outcome>),
    /// A check that a contract asks for: the id of the approval that it may ask for, once it is drawn.
    Check(Option<Name>),
    /// The meaning of a derived event.
    Derived(DerivedValue),
}

impl Examination {
    /// Draws the id of an approval that the event may ask for, from bytes that nobody can guess.
    ///
    /// # Errors
    /// There are none to be had.
    pub fn draw_approval<E>(
        &mut self,
        draw: impl FnOnce() -> Result<[u8; APPROVAL_ID_BYTES], E>,
    ) -> Result<(), E> {
        let id = match self {
            Self::Call(facts) if !facts.imported => &mut facts.drawn_approval,
            Self::Outcome(outcome) if !outcome.imported && outcome.has_failed_check() => {
                &mut outcome.drawn_approval
            }
            Self::Check(id) => id,
            Self::Call(_) | Self::Outcome(_) | Self::Derived(_) => return Ok(()),
        };
        *id = Some(drawn_id(draw()?));
        Ok(())
    }

    /// Removes everything that tells data which is sealed under a data subject's key: the examination is recorded, and the subject
    /// may be erased. `blind` is a keyed hash of an action's digest and the folder that its arguments are relative to, under that
    /// subject's key.
    pub fn seal(&mut self, blind: impl Fn(&str, &str) -> [u8; 32]) {
        match self {
            Self::Call(facts) => facts.seal(blind),
            // The ending itself has to count.
            Self::Outcome(outcome) => {
                outcome.duration_ms = None;
                outcome.cost_micro_usd = None;
                outcome.tokens = None;
            }
            // It is written from what was sealed before, or tells nothing.
            Self::Derived(_) | Self::Check(_) => {}
        }
    }
}

/// The facts that decide about a call, without its arguments. They are recorded with the decision.
#[derive(Debug, Clone, PartialEq)]
pub struct CallFacts {
    /// The call.
    pub call: Name,
    /// The tool.
    pub tool: Name,
    /// The server it belongs to.
    pub server: Option<Name>,
    /// The dimension that its outcome counts for.
    pub dimension: Dimension,
    /// The model that asks.
    pub model: Option<Name>,
    /// The type of the task that it works on.
    pub task_type: Option<Name>,
    /// The agent.
    pub agent: Option<BoundedText<1024>>,
    /// The sender of the request.
    pub actor: Option<BoundedText<1024>>,
    /// The role of the sender.
    pub role: Name,
    /// The folder that its arguments are relative to.
    pub cwd: Option<BoundedText<4096>>,
    /// A digest of that folder, cleaned.
    pub(crate) folder: Option<Sha256Text>,
    /// The session.
    pub session: Option<BoundedText<1024>>,
    /// The run.
    pub run: Option<BoundedText<1024>>,
    /// The idempotency key: under the same key the same call is made once.
    pub idempotency_key: Option<Name>,
    /// The approval it brings.
    pub approval: Option<Name>,
    /// The id of the approval that is asked for, where one is. It is recorded with that.
    pub drawn_approval: Option<Name>,
    /// The damage that the caller thinks it may do.
    pub blast_radius: Option<BlastRadius>,
    /// The caller's estimate of its cost.
    pub estimated_cost: Option<MicroUsd>,
    /// The longest time that the call may take, as the request says.
    pub deadline_ms: Option<Milliseconds>,
    /// The findings about its arguments; `None` where the tool is not known.
    pub examined: Option<ArgumentFindings>,
    /// `true` if it polls for something, as its registration or the policy says.
    pub poll: bool,
    /// The rules whose conditions on arguments it meets.
    pub matches: ArgumentMatches,
    /// The verdict of the policy's guarded files on the places that it reaches.
    pub guarded: FileGuardResult,
    /// The registration that it was examined with.
    pub tool_revision: Option<u64>,
    /// The policy that it was examined with.
    pub policy_version: Option<u64>,
    /// `true` if it was recorded elsewhere.
    pub imported: bool,
    /// The time at which it happened there.
    pub imported_time: Option<Micros>,
    /// The source of its local times.
    pub(crate) local_times: LocalSource,
    /// The version of the rules by which it is judged.
    pub reactor_version: u32,
}

impl Examination {
    /// Returns `true` if it is about an event that was recorded elsewhere.
    #[must_use]
    pub fn is_imported(&self) -> bool {
        match self {
            Self::Call(facts) => facts.imported,
            Self::Outcome(outcome) => outcome.imported,
            Self::Derived(_) | Self::Check(_) => false,
        }
    }

    /// Returns the texts that a decision is found by or rests on, each with its name. They are written into decisions as they are,
    /// and looked up again. A recording gives none: it is found by what its decision keeps of it.
    #[must_use]
    pub fn names(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::Call(facts) if !facts.imported => facts.names(),
            Self::Call(_) | Self::Outcome(_) | Self::Check(_) | Self::Derived(_) => Vec::new(),
        }
    }
}

impl CallFacts {
    fn names(&self) -> Vec<(&'static str, &str)> {
        let optional = [
            ("server", self.server.as_deref()),
            ("model", self.model.as_deref()),
            ("task type", self.task_type.as_deref()),
            ("agent", self.agent.as_deref()),
            ("session", self.session.as_deref()),
            ("run", self.run.as_deref()),
            ("working folder", self.cwd.as_deref()),
            ("idempotency key", self.idempotency_key.as_deref()),
            ("approval", self.approval.as_deref()),
        ];
        let mut names = vec![("call", &*self.call), ("tool", &*self.tool)];
        names.extend(optional.into_iter().filter_map(|(what, text)| Some((what, text?))));
        names.push(("context", self.dimension.context()));
        if let Some(found) = &self.examined {
            names.extend(found.parts.iter().map(|part| ("context", &**part)));
            names.extend(found.destinations.iter().map(|place| ("destination", &**place)));
        }
        names
    }

    fn seal(&mut self, blind: impl Fn(&str, &str) -> [u8; 32]) {
        let folder = self.cwd.take();
        self.folder = None;
        let named = self.dimension.workspace().filter(|named| *named != DimensionPart::UNKNOWN);
        let hidden = named.map(|named| sealed_workspace(&blind(WORKSPACE, named)));
        let kept = hidden.or_else(|| self.dimension.workspace().map(|_| DimensionPart::default()));
        self.dimension = self.dimension.without_context().in_workspace(kept.as_ref());
        if let Some(examined) = &mut self.examined {
            examined.seal(|digest| blind(digest, folder.as_deref().unwrap_or_default()));
        }
    }

    /// Returns the digest that an approval and an idempotency key are bound to.
    #[must_use]
    pub fn action_digest(&self) -> Option<&Sha256Text> {
        self.examined.as_ref().and_then(|examined| examined.action_digest.as_ref())
    }

    /// Returns `true` if neither trust nor a breaker has a part in it: the effects of the call could not be read, or nobody
    /// registered its tool.
    pub(crate) fn is_uncounted(&self) -> bool {
        let is_unread = self.examined.as_ref().map_or(!self.imported, |examined| examined.opaque);
        has_no_dead_ends(self.reactor_version)
            && (is_unread || self.dimension.context() == DimensionPart::OPAQUE)
    }

    /// Returns the time that decides: the frame's, or for an imported call the time at which it happened.
    pub(crate) fn governed_time(&self, frame: Micros) -> Micros {
        self.imported_time.unwrap_or(frame)
    }

    /// Returns the question for the rates: the owners of the tokens that it takes.
    pub(crate) fn rate_question(&self) -> RateQuestion<'_> {
        RateQuestion {
            tool: self.dimension.tool(),
            agent: self.agent.as_deref().unwrap_or(NOBODY),
            role: &self.role,
        }
    }

    /// Returns the digest of the arguments by which it is told whether a call is the same as another one: of those that matter, by
    /// the first versions of the rules of all.
    pub(crate) fn compared_digest(&self) -> Option<&Sha256Text> {
        let examined = self.examined.as_ref()?;
        if sees_cycles(self.reactor_version) {
            return examined.action_digest.as_ref();
        }
        examined.args_digest.as_ref().or(examined.action_digest.as_ref())
    }

    /// Returns the question for the loop detection.
    pub(crate) fn round_question(&self, open: Option<&OpenCall>) -> LoopQuestion<'_> {
        LoopQuestion {
            call: &self.call,
            is_open: open.is_some(),
            is_reviewed: open.is_some_and(|open| open.verdict == Verdict::Review),
            rules: self.reactor_version,
            tool: self.dimension.tool(),
            args: self.compared_digest(),
            poll: self.poll,
            agent: self.agent.as_deref(),
            session: self.session.as_deref(),
            run: self.run.as_deref(),
            session_folder: None,
            alone: ALONE_LIFE,
        }
    }

    /// Returns the question for the budgets that it counts in.
    pub(crate) fn budget_question(&self) -> BudgetQuestion<'_> {
        BudgetQuestion {
            agent: self.agent.as_deref(),
            role: Some(&self.role),
            tool: Some(self.dimension.tool()),
            model: self.model.as_deref(),
            task_type: self.task_type.as_deref(),
            session: self.session.as_deref(),
            run: self.run.as_deref(),
            workspace: self.dimension.workspace(),
            rules: self.reactor_version,
            is_call: is_strict(self.reactor_version),
            own: None,
        }
    }

    /// Its idempotency key, apart from those of other callers and tools.
    pub(crate) fn scoped_key(&self) -> Option<ScopedKey> {
        let key = self.idempotency_key.as_deref()?;
        Some(ScopedKey::new(self.agent.as_deref(), &self.tool, self.server.as_deref(), key))
    }
}

/// The text that separates the hash of a sealed workspace from digests of actions: none of those is written so.
const WORKSPACE: &str = "workspace";
/// Begins a workspace that is sealed.
const SEALED: &str = "sealed:";
/// Bytes of the hash that stands for one.
const SEALED_BYTES: usize = 16;

/// Returns the stand-in for a workspace that nobody may read. The calls of one data subject in one workspace share it, and no
/// others do.
fn sealed_workspace(hash: &[u8; 32]) -> DimensionPart {
    let digits = hash.iter().take(SEALED_BYTES).map(|byte| format!("{byte:02x}"));
    DimensionPart::new(digits.fold(SEALED.to_owned(), |text, digits| text + &digits)).unwrap_or_default()
}

/// Returns `true` if a workspace is a stand-in for one that nobody may read.
pub(crate) fn is_sealed_workspace(workspace: &str) -> bool {
    workspace.starts_with(SEALED)
}
