//! One agent's session: the events that it and the reactor append, request by request.

use bitacora_formats::{Data, Event, Json, Micros, format_time};

use super::foreign::{Dialect, asked, told};
use super::json_text::Object;
use super::random::SplitMix;
use super::tools::{ArgumentSources, GeneratedCall};
use super::words::Vocabulary;

/// The events of one append and how many of them the client submitted; the rest were derived from those.
pub(crate) struct Request {
    pub(crate) submitted: usize,
    pub(crate) events: Vec<Event<'static>>,
}

pub(crate) struct GeneratedSession {
    pub(crate) words: Vocabulary,
    pub(crate) id: String,
    run: String,
    pub(crate) agent: String,
    source: String,
    pub(crate) model: &'static str,
    pub(crate) task: &'static str,
    pub(crate) home: String,
    pub(crate) folder: String,
    pub(crate) branch: String,
    pub(crate) harness: (&'static str, String),
    /// `true` if this client writes JSON with spaces.
    pub(crate) spaced: bool,
    pub(crate) dialect: Dialect,
    pub(crate) time_ms: u64,
    calls: u64,
    steps_left: u64,
    open_call: Option<(String, GeneratedCall)>,
}

impl GeneratedSession {
    pub(crate) fn start(random: &mut SplitMix, words: Vocabulary) -> Self {
        let (project, person) = (words.name(random, "-"), words.person(random));
        let agent = words.name(random, "-");
        let home = format!("{}/{person}", random.pick(&["/home", "/Users", "/workspace"]));
        Self {
            words,
            id: random.uuid4(),
            run: random.uuid4(),
            source: match random.between(0, 3) {
                0 => format!("/agents/{agent}"),
                1 => format!("urn:agent:{agent}"),
                2 => format!("https://agents.example.com/{agent}"),
                _ => agent.clone(),
            },
            agent,
            model: random.pick(&[
                "claude-opus-4-5-20251101",
                "claude-sonnet-4-5-20250929",
                "claude-haiku-4-5",
                "gpt-5.1",
                "gpt-5.1-codex",
                "gemini-2.5-pro",
                "mistral-large-latest",
            ]),
            task: random.pick(&[
                "refactor",
                "bugfix",
                "feature",
                "review",
                "research",
                "support",
                "migration",
                "-",
            ]),
            folder: format!(
                "{home}/{}/{project}",
                random.pick(&["src", "Projects", "work", "code", "repos"])
            ),
            home,
            branch: format!(
                "{}/{}",
                random.pick(&["feature", "fix", "main", "chore"]),
                words.name(random, "-")
            ),
            harness: (
                random.pick(&["claude-code", "codex", "gemini-cli", "cursor", "langgraph"]),
                format!("{}.{}.{}", random.between(0, 2), random.between(0, 40), random.between(0, 99)),
            ),
            spaced: random.chance(30),
            dialect: Dialect::choose(random),
            time_ms: random.between(1_790_000_000_000, 1_830_000_000_000),
            calls: 0,
            steps_left: random.between(8, 60),
            open_call: None,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.steps_left == 0
    }

    pub(crate) fn next_request(&mut self, random: &mut SplitMix) -> Request {
        self.time_ms += random.between(20, 30_000);
        self.steps_left -= 1;
        let mut events = Vec::new();
        if let Some((id, call)) = self.open_call.take() {
            events.push(self.outcome(random, &id, &call));
            let submitted = events.len();
            events.extend(self.trust(random, &id, &call));
            return Request { submitted, events };
        }
        if self.calls == 0 {
            events.push(self.started(random));
        }
        match random.between(0, 9) {
            0 => events.push(self.model_called(random)),
            1 => events.push(self.turn(random)),
            2 => events.push(self.checkpoint(random)),
            3 => events.push(self.step(random)),
            4 if self.steps_left < 5 => events.push(self.ended(random)),
            _ => return self.tool_requested(random, events),
        }
        Request { submitted: events.len(), events }
    }

    fn tool_requested(&mut self, random: &mut SplitMix, mut events: Vec<Event<'static>>) -> Request {
        let mut desk =
            ArgumentSources { random, words: self.words, folder: &self.folder, spaced: self.spaced };
        let call = desk.call();
        self.calls += 1;
        let id = match self.harness.0 {
            "claude-code" => format!("toolu_01{}", random.letters(22)),
            "codex" | "cursor" => format!("call_{}", random.letters(24)),
            _ => format!("c{}", self.calls),
        };
        events.push(self.requested(random, &id, &call));
        let submitted = events.len();
        events.push(self.decision(random, &id, &call));
        self.open_call = Some((id, call));
        Request { submitted, events }
    }

    fn requested(&self, random: &mut SplitMix, id: &str, call: &GeneratedCall) -> Event<'static> {
        let data = asked(self, random, id, call);
        self.event(random, "tool.requested", data, Some(id))
    }

    fn decision(&self, random: &mut SplitMix, id: &str, call: &GeneratedCall) -> Event<'static> {
        let verdict = random.pick(&["allow", "allow", "allow", "review", "deny"]);
        let approvals = random.between(0, 300);
        let inputs = Object::new(false)
            .raw("approvals", approvals)
            .raw("rejections", random.between(0, 9))
            .raw("failures", random.between(0, 12))
            .raw("recent_failures", random.between(0, 5))
            .raw("streak", approvals.min(random.between(0, 60)))
            .text("last_updated", &format_time(Micros(self.time_ms * 1_000)))
            .text("breaker", random.pick(&["closed", "closed", "open", "half_open"]))
            .text("policy_version", &random.between(1, 9).to_string())
            .raw("reactor_version", 1)
            .end();
        let ladder =
            ["registry", "role", "arguments", "rate", "budget", "loop", "breaker", "policy", "trust"]
                .map(|step| Object::new(false).text("step", step).text("verdict", "allow").end());
        let data = Object::new(false)
            .text("call", id)
            .text("verdict", verdict)
            .text("mode", random.pick(&["enforce", "observe"]))
            .text(
                "reason_code",
                random.pick(&["rule-allow", "trust-require-review", "no-rule", "breaker-open"]),
            )
            .text("reason", &self.words.sentence(random, 7))
            .list("ladder", &ladder)
            .raw("inputs", inputs)
            .text("expires", &format_time(Micros((self.time_ms + 60_000) * 1_000)))
            .raw("obligations", "{\"timeout_ms\":120000,\"retry\":{\"max\":1}}")
            .maybe(random.chance(10), "context", &call.context);
        self.derived(random, "decision.made", format!("call/{id}"), data.end(), Some(id))
    }

    fn outcome(&self, random: &mut SplitMix, id: &str, call: &GeneratedCall) -> Event<'static> {
        let failed = random.chance(12);
        let data = told(self, random, id, call, failed);
        self.event(random, if failed { "tool.failed" } else { "tool.completed" }, data, Some(id))
    }

    fn trust(&self, random: &mut SplitMix, id: &str, call: &GeneratedCall) -> Vec<Event<'static>> {
        let dimension = Object::new(false)
            .text("tool", call.tool)
            .text("context", &call.context)
            .text("model", self.model)
            .text("task_type", self.task)
            .end();
        let stream = format!("dimension/{}", random.hex(32));
        let observed = Object::new(false)
            .raw("dimension", &dimension)
            .text("outcome", random.pick(&["auto_approved", "approved", "error", "timeout", "rejected"]))
            .raw("post_check_passed", "true")
            .raw("duration_ms", random.between(2, 60_000))
            .raw("cost_micro_usd", random.between(10, 9_000))
            .text("call", id)
            .text("assurance", "self_reported")
            .end();
        let mut events = vec![self.derived(random, "trust.observed", stream.clone(), observed, Some(id))];
        if random.chance(5) {
            let opened = Object::new(false)
                .raw("dimension", &dimension)
                .raw("window", "{\"ok\":15,\"bad\":5}")
                .text("cooldown_until", &format_time(Micros((self.time_ms + 300_000) * 1_000)))
                .end();
            events.push(self.derived(random, "breaker.opened", stream, opened, Some(id)));
        }
        events
    }

    fn started(&self, random: &mut SplitMix) -> Event<'static> {
        let data = self
            .object()
            .text("harness", self.harness.0)
            .text("version", &self.harness.1)
            .text("model", self.model)
            .text("cwd", &self.folder)
            .text("branch", &self.branch)
            .end();
        self.event(random, "session.started", data, None)
    }

    fn ended(&self, random: &mut SplitMix) -> Event<'static> {
        let data =
            self.object().text("reason", random.pick(&["exit", "clear", "logout"])).raw("calls", self.calls);
        self.event(random, "session.ended", data.end(), None)
    }

    fn turn(&self, random: &mut SplitMix) -> Event<'static> {
        let (kind, object) = if random.chance(50) {
            ("turn.started", self.object().text("prompt_sha256", &random.hex(64)).text("source", "user"))
        } else {
            (
                "turn.ended",
                self.object().text("stop_reason", random.pick(&["end_turn", "max_tokens", "tool_use"])),
            )
        };
        self.event(random, kind, object.end(), None)
    }

    fn model_called(&self, random: &mut SplitMix) -> Event<'static> {
        let data = self
            .object()
            .text("model", self.model)
            .text("provider", random.pick(&["anthropic", "openai", "google", "mistral"]))
            .raw(
                "tokens",
                format!("{{\"in\":{},\"out\":{}}}", random.between(1, 9_000), random.between(1, 4_000)),
            )
            .text("cost_usd", &format!("0.{:04}", random.between(1, 900)))
            .raw("duration_ms", random.between(300, 90_000))
            .text("status", "ok")
            .text("request", &format!("req_011{}", random.letters(21)));
        self.event(random, "model.called", data.end(), None)
    }

    fn checkpoint(&self, random: &mut SplitMix) -> Event<'static> {
        let data = self
            .object()
            .text("thread", &self.id)
            .text("namespace", "")
            .text("checkpoint", &random.uuid7(self.time_ms))
            .text("parent", &random.uuid7(self.time_ms))
            .raw("step", self.calls)
            .text("source", random.pick(&["loop", "input", "update"]))
            .raw("channel_versions", format!("{{\"messages\":\"{:032}\"}}", self.calls));
        self.event(random, "checkpoint.saved", data.end(), None)
    }

    fn step(&self, random: &mut SplitMix) -> Event<'static> {
        let data = self
            .object()
            .text("run", &self.run)
            .text("node", self.words.word(random))
            .text("node_type", random.pick(&["agent", "tool", "router", "human"]))
            .text("status", random.pick(&["started", "ok", "error", "skipped"]))
            .raw("attempt", 1)
            .raw("duration_ms", random.between(1, 20_000));
        self.event(random, "run.step", data.end(), None)
    }

    fn object(&self) -> Object {
        Object::new(self.spaced)
    }

    /// An event of the client's.
    fn event(
        &self,
        random: &mut SplitMix,
        kind: &'static str,
        data: String,
        call: Option<&str>,
    ) -> Event<'static> {
        let stream =
            if random.chance(80) { format!("session/{}", self.id) } else { format!("run/{}", self.run) };
        let mut event = Event::new(random.uuid7(self.time_ms), self.source.clone(), kind, stream);
        event.time = Some(format_time(Micros(self.time_ms * 1_000)).into());
        event.datacontenttype = random.chance(60).then(|| "application/json".into());
        event.agent = random.chance(70).then(|| self.agent.clone().into());
        event.actor = random.chance(40).then(|| format!("agent:{}", random.hex(12)).into());
        event.session = Some(self.id.clone().into());
        event.run = random.chance(50).then(|| self.run.clone().into());
        event.call = call.map(|call| call.to_owned().into());
        let trace = format!("00-{}-{}-01", random.hex(32), random.hex(16));
        event.traceparent = random.chance(25).then(|| trace.into());
        if random.chance(15) {
            event.tags = vec![format!("project:{}", self.words.word(random)).into(), "env:dev".into()];
        }
        event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
        event
    }

    /// An event that the reactor derived.
    fn derived(
        &self,
        random: &mut SplitMix,
        kind: &'static str,
        stream: String,
        data: String,
        call: Option<&str>,
    ) -> Event<'static> {
        let mut event = Event::new(random.uuid7(self.time_ms), "bitacora/reactor", kind, stream);
        event.datacontenttype = Some("application/json".into());
        event.session = Some(self.id.clone().into());
        event.call = call.map(|call| call.to_owned().into());
        event.causationid = Some(random.uuid7(self.time_ms).into());
        event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
        event
    }
}
