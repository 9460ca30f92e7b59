//! One agent at work: sessions one after another, each with turns of thinking and calling.

use super::calls::{DemoCall, Trade, Workplace};
use super::random::DemoRandom;
use super::words;
use bitacora_import::EventDraft;
use bitacora_import::JsonObject;

/// The number of different outputs of one agent's tools.
const OUTPUTS: usize = 40;

/// An event and its time since the agent began.
pub(super) struct TimedEvent {
    pub(super) at_ms: u64,
    pub(super) draft: EventDraft,
}

pub(super) struct Agent {
    random: DemoRandom,
    trade: Trade,
    name: String,
    actor: String,
    model: &'static str,
    /// The price of a thousand tokens in and out, in micro-dollars.
    prices: (u64, u64),
    harness: (&'static str, String),
    task: &'static str,
    bench: Workplace,
    branch: String,
    /// Digests of outputs. They recur, as those of equal answers do, which keeps the recording small.
    outputs: Vec<String>,
    session: String,
    /// The beginning of the ids that services give out in a session.
    id_prefix: String,
    now_ms: u64,
    told: Vec<TimedEvent>,
    quota: u64,
}

/// The end of a call.
enum DemoOutcome {
    Done,
    Failed(&'static str),
    Blocked(&'static str),
    Interrupted,
}

impl Agent {
    pub(super) fn new(mut random: DemoRandom, number: u64) -> Self {
        let trade = match number % 4 {
            0 | 1 => Trade::Coder,
            2 => Trade::Operator,
            _ if number % 8 == 3 => Trade::Analyst,
            _ => Trade::Support,
        };
        let (model, prices) = match random.below(3) {
            0 => ("claude-opus-4-5", (5_000, 25_000)),
            1 => ("claude-sonnet-4-5", (3_000, 15_000)),
            _ => ("claude-haiku-4-5", (1_000, 5_000)),
        };
        let (kind, harness, task) = match trade {
            Trade::Coder => {
                ("coder", "claude-code", random.pick(&["feature", "bugfix", "refactor", "review"]))
            }
            Trade::Operator => ("operator", "ops-agent", "operations"),
            Trade::Analyst => ("analyst", "langgraph", "analysis"),
            Trade::Support => ("support", "langgraph", "support"),
        };
        let version = format!("{}.{}.{}", random.between(1, 2), random.between(0, 30), random.between(0, 40));
        let bench = Workplace::new(&mut random);
        Self {
            name: format!("{kind}-{}", number + 1),
            actor: format!("agent:{}", random.hex(12)),
            branch: format!("{}/{}", random.pick(&["fix", "feature"]), words::name(&mut random)),
            outputs: (0..OUTPUTS).map(|_| random.hex(64)).collect(),
            session: String::new(),
            id_prefix: String::new(),
            harness: (harness, version),
            now_ms: 0,
            told: Vec::new(),
            quota: 0,
            random,
            trade,
            model,
            prices,
            task,
            bench,
        }
    }

    /// Works until there are this many events, and stops in the middle of the last session.
    pub(super) fn work(&mut self, quota: u64) -> Vec<TimedEvent> {
        self.quota = quota;
        while !self.is_over() {
            self.one_session();
            self.wait(40_000);
        }
        let mut told = std::mem::take(&mut self.told);
        told.truncate(usize::try_from(quota).unwrap_or(usize::MAX));
        told
    }

    fn is_over(&self) -> bool {
        self.told.len() as u64 >= self.quota
    }

    fn wait(&mut self, typical_ms: u64) {
        self.now_ms += self.random.long_tailed(typical_ms / 2);
    }

    fn one_session(&mut self) {
        self.session = self.random.uuid();
        self.id_prefix = self.random.letters(15);
        let data = JsonObject::new()
            .text("harness", self.harness.0)
            .text("version", &self.harness.1)
            .text("model", self.model)
            .text("cwd", &self.bench.folder)
            .text("branch", &self.branch);
        self.tell(self.own("started"), "session.started", data, None);
        let turns = self.random.between(2, 7);
        let calls_before = self.told.len();
        for turn in 1..=turns {
            match self.trade {
                Trade::Analyst | Trade::Support => self.one_run(turn),
                Trade::Coder | Trade::Operator => self.one_turn(turn),
            }
            if self.is_over() {
                return;
            }
            self.wait(9_000);
        }
        let data =
            JsonObject::new().text("reason", self.random.pick(&["exit", "exit", "clear", "timeout"])).raw(
                "totals",
                JsonObject::new().raw("turns", turns).raw("events", self.told.len() - calls_before).end(),
            );
        self.tell(self.own("ended"), "session.ended", data, None);
    }

    fn one_turn(&mut self, turn: u64) {
        let prompt = JsonObject::new()
            .text("sha256", &self.random.hex(64))
            .raw("bytes", self.random.long_tailed(120))
            .end();
        let data =
            JsonObject::new().raw("prompt", prompt).text("source", "user").text("permission_mode", "default");
        self.tell(self.own(&format!("turn-{turn}")), "turn.started", data, None);
        for _ in 0..self.random.between(3, 14) {
            self.think();
            let at_once = if self.random.chance(250) { self.random.between(2, 3) } else { 1 };
            for _ in 0..at_once {
                self.one_call(None);
            }
            if self.trade == Trade::Coder && self.random.chance(25) {
                self.send_out();
            }
            if self.random.chance(60) {
                self.save(turn);
            }
        }
        let stop = if self.random.chance(40) { "interrupted" } else { "end_turn" };
        let data = JsonObject::new().text("stop_reason", stop);
        self.tell(self.own(&format!("turn-{turn}-ended")), "turn.ended", data, None);
    }

    /// Adds a graph's run: nodes in sequence, each followed by a checkpoint.
    fn one_run(&mut self, turn: u64) {
        let run = format!("{}-{}", self.task, self.random.letters(10));
        let data = JsonObject::new()
            .text("run", &run)
            .text("kind", "graph")
            .text("graph", self.task)
            .text("agent", &self.name)
            .raw("budget", JsonObject::new().raw("cost_micro_usd", 500_000).end());
        self.tell_run(&run, "started", "run.started", data);
        let steps = self.random.between(3, 9);
        for step in 1..=steps {
            let node = self.random.pick(&["plan", "retrieve", "act", "act", "check", "write"]);
            self.think();
            self.one_call(Some(&run));
            let failed = self.random.chance(30);
            let data = JsonObject::new()
                .text("run", &run)
                .text("node", node)
                .text("node_type", "agent")
                .text("status", if failed { "error" } else { "ok" })
                .raw("attempt", 1)
                .raw("duration_ms", self.random.long_tailed(1_800));
            self.tell_run(&run, &format!("step-{step}"), "run.step", data);
            self.save(turn * 100 + step);
        }
        let data = JsonObject::new().text("run", &run).text("status", "success").raw("steps", steps);
        self.tell_run(&run, "completed", "run.completed", data);
    }

    fn think(&mut self) {
        self.wait(1_600);
        let (tokens_in, cache_read) = (self.random.long_tailed(900), self.random.between(4_000, 150_000));
        let tokens_out = self.random.long_tailed(260);
        let cost = (tokens_in * self.prices.0 + cache_read * self.prices.0 / 10 + tokens_out * self.prices.1)
            / 1_000;
        let tokens =
            JsonObject::new().raw("in", tokens_in).raw("out", tokens_out).raw("cache_read", cache_read).end();
        let data = JsonObject::new()
            .text("model", self.model)
            .text("provider", "anthropic")
            .raw("tokens", tokens)
            .raw("cost_micro_usd", cost)
            .raw("duration_ms", self.random.long_tailed(1_400))
            .text("status", "ok")
            .text("request", &self.service_id("req"));
        let message = self.service_id("msg");
        self.tell(message, "model.called", data, None);
    }

    fn one_call(&mut self, run: Option<&str>) {
        let call = self.bench.call(self.trade, &mut self.random);
        let agent = self.name.clone();
        self.make(&call, run, &agent);
    }

    fn make(&mut self, call: &DemoCall, run: Option<&str>, agent: &str) {
        let id = self.service_id("toolu");
        let server = call.tool.strip_prefix("mcp__").and_then(|rest| rest.split("__").next());
        let data = JsonObject::new()
            .text("call", &id)
            .text("tool", call.tool)
            .maybe("server", server)
            .raw("args", &call.args)
            .text("model", self.model)
            .text("task_type", self.task)
            .text("cwd", &self.bench.folder)
            .text("branch", &self.branch)
            .text("harness_version", &self.harness.1);
        self.tell_call(&id, "requested", "tool.requested", data, run, agent);
        let ending = self.ending(call);
        let is_person = matches!(ending, DemoOutcome::Blocked("person") | DemoOutcome::Interrupted);
        let duration_ms = self.random.long_tailed(call.typical_ms) + if is_person { 6_000 } else { 0 };
        self.now_ms += duration_ms.min(90_000) / 2;
        let output = JsonObject::new()
            .text("sha256", &self.output())
            .raw("bytes", self.random.long_tailed(1_400))
            .end();
        let (kind, status) = match ending {
            DemoOutcome::Done => ("tool.completed", "ok"),
            DemoOutcome::Failed(_) => ("tool.failed", "error"),
            DemoOutcome::Interrupted => ("tool.failed", "interrupted"),
            DemoOutcome::Blocked("person") => ("tool.blocked", "rejected"),
            DemoOutcome::Blocked(_) => ("tool.blocked", "blocked"),
        };
        let mut data = JsonObject::new().text("call", &id).text("tool", call.tool).text("status", status);
        match ending {
            DemoOutcome::Failed("exit_code") => {
                data = data.text("error_type", "exit_code").raw("exit_code", self.random.between(1, 2));
            }
            DemoOutcome::Failed(what) => data = data.text("error_type", what),
            DemoOutcome::Blocked(by) => data = data.text("by", by),
            DemoOutcome::Interrupted => data = data.text("by", "person"),
            DemoOutcome::Done => {}
        }
        let data = data.text("model", self.model).raw("duration_ms", duration_ms).raw("output", output);
        self.tell_call(&id, "outcome", kind, data, run, agent);
    }

    fn ending(&mut self, call: &DemoCall) -> DemoOutcome {
        // Two fifths into the hour of an operator, a rollout goes wrong.
        let told = self.told.len() as u64 * 100 / self.quota.max(1);
        let is_incident = self.trade == Trade::Operator && (40..52).contains(&told);
        if is_incident && call.is_risky && self.random.chance(750) {
            return DemoOutcome::Failed("timeout");
        }
        if call.is_risky && self.random.chance(25) {
            return DemoOutcome::Blocked(if self.random.chance(700) { "person" } else { "hook" });
        }
        match self.random.between(0, 999) {
            0..45 if call.tool == "Bash" => DemoOutcome::Failed("exit_code"),
            0..25 => DemoOutcome::Failed("tool_use_error"),
            25..35 => DemoOutcome::Failed("timeout"),
            997.. => DemoOutcome::Interrupted,
            _ => DemoOutcome::Done,
        }
    }

    /// Sends out a subagent, which looks something up and returns.
    fn send_out(&mut self) {
        let helper = format!("{}/explorer-{}", self.name, self.random.hex(4));
        let id = self.service_id("toolu");
        let args = JsonObject::new()
            .text("subagent_type", "explorer")
            .text("description", &words::sentence(&mut self.random, 4))
            .text("prompt", &words::sentence(&mut self.random, 40))
            .end();
        let data = JsonObject::new()
            .text("call", &id)
            .text("tool", "Task")
            .raw("args", args)
            .text("model", self.model);
        let name = self.name.clone();
        self.tell_call(&id, "requested", "tool.requested", data, None, &name);
        for _ in 0..self.random.between(3, 10) {
            self.wait(900);
            let call = self.bench.call(Trade::Coder, &mut self.random);
            if !call.is_risky {
                self.make(&call, None, &helper);
            }
        }
        let data = JsonObject::new()
            .text("call", &id)
            .text("tool", "Task")
            .text("status", "ok")
            .raw("duration_ms", self.random.long_tailed(30_000));
        self.tell_call(&id, "outcome", "tool.completed", data, None, &name);
    }

    fn save(&mut self, step: u64) {
        let checkpoint = self.random.uuid();
        let data = JsonObject::new()
            .text("thread", &self.session)
            .text("namespace", "")
            .text("checkpoint", &checkpoint)
            .raw("step", step)
            .text("source", "loop")
            .raw("channel_versions", JsonObject::new().raw("messages", step).raw("plan", step / 3).end());
        self.tell(checkpoint, "checkpoint.saved", data, None);
    }

    fn output(&mut self) -> String {
        self.outputs.get(self.random.below(OUTPUTS)).cloned().unwrap_or_default()
    }

    /// Returns an id that a service gave out.
    fn service_id(&mut self, kind: &str) -> String {
        format!("{kind}_{}{}", self.id_prefix, self.random.letters(5))
    }

    /// Returns an id within the session.
    fn own(&self, part: &str) -> String {
        format!("{}#{part}", self.session)
    }

    fn tell_run(&mut self, run: &str, part: &str, kind: &'static str, data: JsonObject) {
        self.tell(format!("{run}#{part}"), kind, data, Some(run));
    }

    fn tell_call(
        &mut self,
        id: &str,
        part: &str,
        kind: &'static str,
        data: JsonObject,
        run: Option<&str>,
        agent: &str,
    ) {
        // It did not happen here: it is judged as what it would have been, and asks nobody.
        self.tell(format!("{id}#{part}"), kind, data.text("assurance", "imported"), run);
        if let Some(told) = self.told.last_mut() {
            told.draft.call = Some(id.to_owned());
            told.draft.agent = Some(agent.to_owned());
        }
    }

    fn tell(&mut self, id: String, kind: &'static str, data: JsonObject, run: Option<&str>) {
        let draft = EventDraft {
            id,
            source: format!("{}/{}", self.harness.0, self.session),
            kind: kind.into(),
            stream: format!("session/{}", self.session),
            actor: Some(self.actor.clone()),
            agent: Some(self.name.clone()),
            session: Some(self.session.clone()),
            run: run.map(str::to_owned),
            data: data.end(),
            ..EventDraft::default()
        };
        self.told.push(TimedEvent { at_ms: self.now_ms, draft });
        self.now_ms += self.random.between(1, 30);
    }
}
