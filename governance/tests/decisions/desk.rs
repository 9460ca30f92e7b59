//! A ledger without a log.
//! It gives events their positions as the sequencer does, and folds them as the committer does.

use std::collections::VecDeque;

use bitacora_formats::{Data, Event, Json, Micros, Position, StreamVersion};
use bitacora_governance::{
    APPROVAL_ID_BYTES, Examination, Governance, ObservedEvent, Policy, REACTOR_VERSION, Reactor,
    ReactorRefusal, ReactorState, State,
};
use bitacora_vocabulary::{
    DecisionMade, Dimension, DimensionPart, PolicySettings, Rule, TrustRules, Verdict,
};
use serde_json::{Value, json};

/// 2026-11-22T00:00:00Z.
pub(crate) const START: u64 = 1_795_305_600_000_000;
pub(crate) const SECOND: u64 = 1_000_000;

pub(crate) struct TestGovernance {
    pub(crate) governance: Governance,
    published: Box<dyn ReactorState>,
    staged: State,
    next: u64,
    pub(crate) time: u64,
    ids: u64,
    drawn: u64,
    /// Every frame, for replays.
    pub(crate) log: Vec<Vec<LocatedEvent>>,
}

/// An event at its place.
#[derive(Clone)]
pub(crate) struct LocatedEvent {
    pub(crate) position: Position,
    pub(crate) time: Micros,
    pub(crate) derived: bool,
    pub(crate) event: Event<'static>,
}

impl LocatedEvent {
    pub(crate) fn observed<'a>(&'a self, examination: Option<&'a Examination>) -> ObservedEvent<'a> {
        ObservedEvent {
            position: self.position,
            stream_version: StreamVersion::FIRST,
            time: self.time,
            derived: self.derived,
            event: &self.event,
            examination,
        }
    }
}

impl TestGovernance {
    pub(crate) fn new() -> Self {
        let governance = Governance::default();
        let published = governance.state();
        let staged = State::default();
        let mut desk =
            Self { governance, published, staged, next: 1, time: START, ids: 0, drawn: 0, log: Vec::new() };
        desk.record(created(REACTOR_VERSION));
        desk
    }

    /// Appends events as one request in a frame of its own. Returns the events that they caused, or the reason of the refusal.
    pub(crate) fn append(
        &mut self,
        events: Vec<Event<'static>>,
    ) -> Result<Vec<Event<'static>>, ReactorRefusal> {
        let examined: Vec<_> = events.iter().map(|event| self.examine(event)).collect::<Result<_, _>>()?;
        self.append_examined(events, &examined)
    }

    /// Looks at an event, and draws nothing.
    pub(crate) fn governance_examines(&self, event: &Event<'static>) -> Box<Examination> {
        self.governance.examine(event).unwrap().unwrap()
    }

    /// Examines an event as its caller's thread does. The drawn bytes are the same in every run.
    pub(crate) fn examine(
        &mut self,
        event: &Event<'static>,
    ) -> Result<Option<Box<Examination>>, ReactorRefusal> {
        let mut examined = self.governance.examine(event)?;
        if let Some(examination) = &mut examined {
            self.drawn += 1;
            draw(examination, self.drawn);
        }
        Ok(examined)
    }

    /// Appends events that were looked at before.
    pub(crate) fn append_examined(
        &mut self,
        events: Vec<Event<'static>>,
        examined: &[Option<Box<Examination>>],
    ) -> Result<Vec<Event<'static>>, ReactorRefusal> {
        let before = self.next;
        let placed: Vec<_> = events.into_iter().map(|event| self.place(sealed(event), false)).collect();
        let reaction = self.react(&placed, examined);
        if reaction.is_err() {
            self.staged.discard();
            self.next = before;
        }
        let frame = reaction?;
        self.staged.keep();
        let observed: Vec<_> = frame.iter().map(|placed| placed.observed(None)).collect();
        self.published.fold(&observed);
        let caused =
            frame.iter().filter(|placed| placed.derived).map(|placed| placed.event.clone()).collect();
        self.log.push(frame);
        Ok(caused)
    }

    fn react(
        &mut self,
        placed: &[LocatedEvent],
        examined: &[Option<Box<Examination>>],
    ) -> Result<Vec<LocatedEvent>, ReactorRefusal> {
        let mut frame = Vec::new();
        for (one, examination) in placed.iter().zip(examined) {
            let mut queue: VecDeque<_> = self.staged.react(&one.observed(examination.as_deref()))?.into();
            frame.push(one.clone());
            while let Some(derived) = queue.pop_front() {
                let meaning = derived.meaning.map(Examination::Derived);
                let derived = self.place(derived.event, true);
                queue.extend(self.staged.react(&derived.observed(meaning.as_ref()))?);
                frame.push(derived);
            }
        }
        Ok(frame)
    }

    fn place(&mut self, event: Event<'static>, derived: bool) -> LocatedEvent {
        let position = Position::new(self.next).unwrap();
        self.next += 1;
        LocatedEvent { position, time: Micros(self.time), derived, event }
    }

    /// Returns `true` if the staged state and the published one are the same.
    pub(crate) fn is_in_step(&self) -> bool {
        self.governance.read(|published| self.staged == *published)
    }

    /// Returns `true` if the staged state is this one.
    pub(crate) fn staged_is(&self, published: &State) -> bool {
        self.staged == *published
    }

    /// Folds an event that is recorded already, as an opening does.
    pub(crate) fn record(&mut self, event: Event<'static>) {
        let frame = vec![self.place(event, false)];
        let observed: Vec<_> = frame.iter().map(|placed| placed.observed(None)).collect();
        self.staged.fold(&observed);
        self.published.fold(&observed);
        self.log.push(frame);
    }

    /// Opens the ledger under the rules of a version.
    pub(crate) fn record_rules(&mut self, version: u32) {
        let data = json!({"epoch": self.next, "reactorVersion": version, "serviceVersion": "0"});
        let mut event =
            Event::new(format!("opened{}", self.next), "urn:bitacora:ledger", "ledger.opened", "ledger");
        event.data = Data::Json(Json::check(serde_json::to_vec(&data).unwrap()).unwrap());
        self.record(event);
    }

    /// Goes on in another state than the one that the log led to.
    pub(crate) fn go_on_in(&mut self, saved: &Value) {
        self.restore(&serde_json::to_vec(saved).unwrap());
    }

    /// The same, where it is written already.
    pub(crate) fn go_on_in_text(&mut self, saved: &str) {
        self.restore(saved.as_bytes());
    }

    /// Loses the contents of the memory, and goes on from the saved published state.
    pub(crate) fn restart(&mut self) {
        let saved = self.published.save().unwrap().unwrap();
        self.governance = Governance::default();
        self.published = self.governance.state();
        self.staged = State::default();
        self.restore(&saved);
    }

    fn restore(&mut self, saved: &[u8]) {
        let position = Position::new(self.next).unwrap();
        self.staged.restore(position, saved).unwrap();
        self.published.restore(position, saved).unwrap();
    }

    /// Gives a dimension the trust of twenty good calls, by an operator's word.
    pub(crate) fn earn(&mut self, tool: &str, context: &str) {
        let counts = json!({"approvals": 20, "rejections": 0, "failures": 0, "streak": 20});
        let dimension = json!({"tool": tool, "context": context, "workspace": "-"});
        self.act("trust.set", json!({"dimension": dimension, "counts": counts, "reason": "for a test"}))
            .unwrap();
    }

    /// Publishes and activates a policy of one rule about everything.
    pub(crate) fn publish(&mut self, version: u64, action: &str) {
        self.publish_rules(
            version,
            json!([{"id": "all", "match": {}, "action": action, "reason": "for a test"}]),
        );
    }

    /// Publishes and activates a policy with the rules of trust that are shipped.
    pub(crate) fn publish_rules(&mut self, version: u64, rules: Value) {
        self.publish_policy(version, rules, TrustRules::v2());
    }

    /// Publishes and activates a policy.
    pub(crate) fn publish_policy(&mut self, version: u64, rules: Value, trust: TrustRules) {
        self.publish_document(version, rules, trust, json!({}));
    }

    /// Publishes and activates a policy of one rule about everything, with a word of its own on workspaces.
    pub(crate) fn publish_workspaces(&mut self, version: u64, rule: &Value, workspaces: &Value) {
        let mut rule = rule.clone();
        (rule["id"], rule["reason"]) = (json!("all"), json!("for a test"));
        let settings = json!({"workspaces": workspaces});
        self.publish_document(version, json!([rule]), TrustRules::v2(), settings);
    }

    /// The same with settings.
    pub(crate) fn publish_document(
        &mut self,
        version: u64,
        rules: Value,
        trust: TrustRules,
        settings: Value,
    ) {
        let compiled: Vec<Rule> = serde_json::from_value(rules.clone()).unwrap();
        let policy = Policy::compile(&compiled, &trust).unwrap();
        let settings: PolicySettings = serde_json::from_value(settings).unwrap();
        let digest = policy.with_settings(settings.clone()).unwrap().digest().to_string();
        let mut document =
            json!({"version": version, "digest": digest, "rules": rules, "trust": trust, "author": "me"});
        let settings = serde_json::to_value(settings).unwrap();
        document.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        self.act("policy.published", document).unwrap();
        self.act("policy.activated", json!({"version": version})).unwrap();
    }

    /// An operator's act.
    pub(crate) fn act(
        &mut self,
        kind: &'static str,
        data: Value,
    ) -> Result<Vec<Event<'static>>, ReactorRefusal> {
        let event = self.event(kind, "operator:000000000000", &data);
        self.append(vec![event])
    }

    /// An event by somebody.
    pub(crate) fn event(&mut self, kind: &'static str, actor: &'static str, data: &Value) -> Event<'static> {
        self.ids += 1;
        let mut event = Event::new(format!("e{}", self.ids), "urn:test", kind, "calls");
        event.actor = Some(actor.into());
        event.agent = Some("coder".into());
        event.call = data["call"].as_str().map(|call| call.to_owned().into());
        event.data = Data::Json(Json::check(serde_json::to_vec(data).unwrap()).unwrap());
        event
    }

    /// Asks for a call of a tool with these arguments.
    pub(crate) fn ask(&mut self, call: &str, tool: &str, args: Value) -> DecisionMade {
        self.ask_with(json!({"call": call, "tool": tool, "args": args})).unwrap()
    }

    pub(crate) fn ask_with(&mut self, request: Value) -> Result<DecisionMade, ReactorRefusal> {
        self.ask_as("coder", request)
    }

    /// Asks as another agent.
    pub(crate) fn ask_as(
        &mut self,
        agent: &'static str,
        request: Value,
    ) -> Result<DecisionMade, ReactorRefusal> {
        let mut event = self.event("tool.requested", "agent:111111111111", &request);
        event.agent = Some(agent.into());
        self.append(vec![event]).map(|caused| decision(&caused))
    }

    /// Reports how a call ended.
    pub(crate) fn end(
        &mut self,
        call: &str,
        kind: &'static str,
        status: &str,
    ) -> Result<Vec<Event<'static>>, ReactorRefusal> {
        let event = self.event(kind, "agent:111111111111", &json!({"call": call, "status": status}));
        self.append(vec![event])
    }

    pub(crate) fn ok(&mut self, call: &str) -> Vec<Event<'static>> {
        self.end(call, "tool.completed", "ok").unwrap()
    }

    pub(crate) fn fail(&mut self, call: &str) -> Vec<Event<'static>> {
        self.end(call, "tool.failed", "error").unwrap()
    }

    /// Lets frames take their time from a clock that shows this, as the sequencer does.
    pub(crate) fn clock_shows(&mut self, clock: u64) {
        self.time = self.time.max(clock + self.staged.clock_offset());
    }

    pub(crate) fn pass(&mut self, seconds: u64) {
        self.time += seconds * SECOND;
    }
}

/// Draws the bytes that an event may need: the same for the same number.
pub(crate) fn draw(examination: &mut Examination, number: u64) {
    let mut bytes = [0; APPROVAL_ID_BYTES];
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes());
    let drawn: Result<(), ()> = examination.draw_approval(|| Ok(bytes));
    drawn.unwrap();
}

/// The dimension of calls of no model and task type that name no working folder.
pub(crate) fn here(tool: &str, context: &str) -> Dimension {
    Dimension::new(tool, context, "-", "-").unwrap().in_workspace(Some(&DimensionPart::default()))
}

/// Returns the first event of every ledger.
fn created(version: u32) -> Event<'static> {
    let data = json!({"ledger": "07".repeat(16), "name": "main", "generation": 1, "signingKey": "9f".repeat(32),
                      "limits": {"segmentBytes": 1, "requestBytes": 1}, "reactorVersion": version});
    let mut event = Event::new("created", "urn:bitacora:ledger", "ledger.created", "ledger");
    event.data = Data::Json(Json::check(serde_json::to_vec(&data).unwrap()).unwrap());
    event
}

/// Returns the event as the reactor sees it.
fn sealed(mut event: Event<'static>) -> Event<'static> {
    if event.datasubject.is_some() {
        event.data = Data::None;
    }
    event
}

pub(crate) fn decision(caused: &[Event<'static>]) -> DecisionMade {
    let made = caused.iter().find(|event| event.kind == "decision.made").unwrap();
    data(made)
}

pub(crate) fn data<T: serde::de::DeserializeOwned>(event: &Event<'_>) -> T {
    let Data::Json(json) = &event.data else { panic!("without data") };
    serde_json::from_slice(json.as_bytes()).unwrap()
}

pub(crate) fn kinds<'a>(caused: &'a [Event<'static>]) -> Vec<&'a str> {
    caused.iter().map(|event| event.kind.as_ref()).collect()
}

/// Returns a ledger with one tool and a policy that follows trust.
pub(crate) fn governed() -> TestGovernance {
    let mut desk = TestGovernance::new();
    desk.act("tool.registered", tool("fs.write")).unwrap();
    desk.publish(1, "allow");
    desk
}

/// A tool without much ado.
pub(crate) fn tool(name: &str) -> Value {
    json!({
        "tool": name, "version": "1", "description": "a tool",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        "risk": "write", "blast_radius": "low", "requires_review": false, "allowed_roles": ["agent"],
        "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none",
        "binding_fields": [], "context_from": {"pointer": "/path", "normaliser": "path"}
    })
}

pub(crate) fn verdict(decision: &DecisionMade) -> (Verdict, String) {
    (decision.verdict, decision.reason_code.as_str())
}

/// Returns the scope of a grant: one agent's calls of `fs.write` in a context, of no known project.
pub(crate) fn scope_of(agent: &str, context: &str) -> Value {
    json!({"tool": "fs.write", "agent": agent, "context": context, "workspace": "-"})
}
