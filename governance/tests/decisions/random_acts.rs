//! Random requests of everything that can be appended to a governed ledger, from one seed.
//! They contain calls, their outcomes, persons' words, operators' settings, and imports. They also depend on the state's answers.

#[path = "random_acts/documents.rs"]
mod documents;
#[path = "random_acts/rows.rs"]
mod rows;

use std::collections::BTreeMap;

use bitacora_formats::{Data, Event, Json, Micros};
use bitacora_governance::State;
use bitacora_testkit::SeededRng;
use bitacora_vocabulary::BreakerCondition;
use documents::{AGENTS, OPERATOR, PATHS, TOOLS, dimension, policy, tool, trust};
use serde_json::{Value, json};

/// A source of requests.
pub(crate) struct RandomRequests {
    numbers: SeededRng,
    ids: u64,
    asked: u64,
    /// The requests, by their calls: to be asked for once more.
    requests: BTreeMap<u64, (usize, Value)>,
    /// Approvals that somebody may have answered, with the call whose arguments are approved.
    answered: Vec<(String, u64)>,
}

/// Events that are appended together.
pub(crate) struct RandomRequest {
    /// The time that passes before.
    pub(crate) seconds: u64,
    pub(crate) events: Vec<Event<'static>>,
}

impl RandomRequests {
    pub(crate) fn new(seed: u64) -> Self {
        Self { numbers: SeededRng::new(seed), ids: 0, asked: 0, requests: BTreeMap::new(), answered: vec![] }
    }

    /// Returns the first events of a ledger, a request each: two tools, two policies, and for one place a quick breaker and trust.
    pub(crate) fn first(&mut self) -> Vec<Event<'static>> {
        let breaker = json!({
            "dimension": dimension("fs.write", "src"), "window": 6, "failure_threshold": 3,
            "recovery_probes": 1, "cooldown_s": 20,
        });
        vec![
            self.act("tool.registered", &tool("fs.write", "1")),
            self.act("tool.registered", &tool("fs.read", "1")),
            self.act("policy.published", &policy(1, "allow")),
            self.act("policy.published", &policy(2, "review")),
            self.act("policy.activated", &json!({"version": 1})),
            self.act("breaker.configured", &breaker),
            self.act("trust.set", &trust(&dimension("fs.write", "src"), 20)),
        ]
    }

    /// The next request to a ledger in this state. Some are refused: that is part of it.
    pub(crate) fn next(&mut self, known: &State, now: Micros) -> RandomRequest {
        let seconds = match self.roll(10) {
            0 => self.roll(500),
            1..=3 => self.roll(5),
            _ => 0,
        };
        let events = match self.roll(48) {
            0..=11 => vec![self.call()],
            12 => vec![self.call(), self.call()],
            13..=19 => vec![self.outcome()],
            20 => self.call_and_outcome(),
            21..=23 => vec![self.resolution(known, now)],
            24..=26 => self.check_repeated_call(),
            27 => vec![self.by_policy(known)],
            28 => vec![self.by_rate()],
            29 => vec![self.by_breaker(known)],
            30 => vec![self.stop(known)],
            31 => vec![self.by_grant(now)],
            32 => vec![self.by_tool()],
            33 => vec![self.by_mode()],
            34 => vec![self.principal(now)],
            35 => vec![self.recorded_elsewhere("tool.requested")],
            36 => vec![self.recorded_elsewhere("tool.completed")],
            37 => vec![self.acceptance()],
            38 => vec![self.registered_type(), self.reserved()],
            39 => vec![self.by_clock(known)],
            40 => vec![self.by_budget()],
            41..=43 => vec![self.told()],
            44 => self.going_round(),
            46 => self.failing_row(),
            _ => vec![self.by_trust(known)],
        };
        RandomRequest { seconds, events }
    }

    /// A jump is soon accepted: nothing is allowed until then.
    fn by_clock(&mut self, known: &State) -> Event<'static> {
        if known.clock_trust().jump().is_some() || self.roll(3) > 0 {
            return self.act("clock.accepted", &json!({"reason": "for a test"}));
        }
        self.act("ledger.clock-jumped", &json!({"from": 2, "to": 1, "direction": "back"}))
    }

    fn call(&mut self) -> Event<'static> {
        self.asked += 1;
        let number = self.asked;
        let (tool, path) = (TOOLS[self.index(4)], PATHS[self.index(5)]);
        let mut request = json!({
            "call": format!("c{number}"), "tool": tool, "args": {"path": path},
        });
        let blast_radius = ["low", "critical"][self.index(2)];
        let optional = [
            ("model", json!("m")),
            ("task_type", json!("edit")),
            ("cwd", json!(["/w", "/w/.worktrees/1", "/v"][self.index(3)])),
            ("deadline_ms", json!(self.roll(90_000))),
            ("blast_radius", json!(blast_radius)),
            ("approval", json!(format!("a{}", self.roll(90)))),
        ];
        for (member, value) in optional {
            if self.roll(6) == 0 {
                request[member] = value;
            }
        }
        // Mostly the key of the same action, now and then of another one.
        if self.roll(3) == 0 {
            let key = if self.roll(6) == 0 { "other" } else { path };
            request["idempotency_key"] = json!(key);
        }
        let asker = [0, 0, 0, 1, 2][self.index(5)];
        self.requests.insert(number, (asker, request.clone()));
        self.requested(asker, &request)
    }

    fn requested(&mut self, asker: usize, request: &Value) -> Event<'static> {
        let (agent, actor) = AGENTS[asker];
        let mut event = self.event("tool.requested", actor, request);
        event.agent = Some(agent.into());
        event.session = (self.roll(3) == 0).then(|| "s1".into());
        event.run = (self.roll(8) == 0).then(|| ["r1", "r2"][self.index(2)].into());
        // Sealed under a person's key, as an executor may ask for it.
        event.datasubject = (self.roll(6) == 0).then(|| "person/1".into());
        event
    }

    fn outcome(&mut self) -> Event<'static> {
        let latest = self.roll(8).min(self.asked);
        let number = self.asked - latest;
        self.outcome_of(number)
    }

    fn outcome_of(&mut self, number: u64) -> Event<'static> {
        let kinds = [
            ("tool.completed", "ok"),
            ("tool.completed", "ok"),
            ("tool.failed", "error"),
            ("tool.failed", "error"),
            ("tool.failed", "timeout"),
            ("tool.failed", "interrupted"),
            ("tool.blocked", "rejected"),
            ("tool.blocked", "blocked"),
        ];
        let (kind, status) = kinds[self.index(8)];
        let mut data =
            json!({"call": format!("c{number}"), "status": status, "duration_ms": self.roll(9_000)});
        if self.roll(5) == 0 {
            data["post_check_passed"] = json!(self.roll(2) == 0);
        }
        if self.roll(3) == 0 {
            data["exit_code"] = json!(self.roll(2));
        }
        if self.roll(5) == 0 {
            data["cost_micro_usd"] = json!(self.roll(1_000_000));
        }
        let asker = self.requests.get(&number).map_or(0, |(asker, _)| *asker);
        let mut event = self.event(kind, AGENTS[asker].1, &data);
        event.agent = Some(AGENTS[asker].0.into());
        event.datasubject = (self.roll(8) == 0).then(|| "person/1".into());
        event
    }

    /// Returns a call and its outcome in one append, in either order.
    fn call_and_outcome(&mut self) -> Vec<Event<'static>> {
        let call = self.call();
        let outcome = self.outcome_of(self.asked);
        if self.roll(3) == 0 { vec![outcome, call] } else { vec![call, outcome] }
    }

    fn resolution(&mut self, known: &State, now: Micros) -> Event<'static> {
        let resolutions = ["approved", "approved", "approved", "rejected", "withdrawn", "edited", "expired"];
        let mut resolution = resolutions[self.index(7)];
        let pending = known.pending_approvals(Micros(0), 0);
        let mut waiting = (!pending.is_empty()).then(|| pending[self.index(pending.len())]);
        if let Some(over) = known.expired_approvals(now).first() {
            (waiting, resolution) = (known.approval(over), "expired");
        }
        let id =
            waiting.map_or_else(|| format!("a{}", self.roll(90)), |one| one.request.approval.to_string());
        let by = [OPERATOR, AGENTS[0].1][usize::from(self.roll(12) == 0)];
        let mut data = json!({"approval": id, "resolution": resolution, "by": by});
        let mut meant = waiting;
        if resolution == "edited" {
            meant = pending.get(self.index(pending.len())).copied();
            if let Some(digest) = meant.and_then(|other| other.request.action_digest.as_ref()) {
                data["action_digest"] = json!(digest);
            }
        }
        let call = meant.and_then(|one| one.request.call.trim_start_matches('c').parse().ok());
        self.answered.extend(call.map(|call| (id, call)));
        self.act("approval.resolved", &data)
    }

    /// Asks again with an approval that was answered; now and then two calls with the same one at once.
    fn check_repeated_call(&mut self) -> Vec<Event<'static>> {
        let Some((approval, number)) = self.answered.pop() else { return vec![self.call()] };
        let Some((asker, mut request)) = self.requests.get(&number).cloned() else {
            return vec![self.call()];
        };
        request["approval"] = json!(approval);
        // Approved was something else.
        if self.roll(8) == 0 {
            request["args"]["path"] = json!("docs/other.md");
        }
        if self.roll(4) == 0 {
            self.answered.push((approval, number));
        }
        let first = self.requested(asker, &request);
        if self.roll(5) != 0 {
            return vec![first];
        }
        self.asked += 1;
        request["call"] = json!(format!("c{}", self.asked));
        vec![first, self.requested(asker, &request)]
    }

    fn by_policy(&mut self, known: &State) -> Event<'static> {
        let next = known.all_policies().next_version();
        let some = self.roll(next + 1);
        match self.roll(8) {
            0 | 1 => {
                let action = ["allow", "review", "deny"][self.index(3)];
                self.act("policy.published", &policy(next, action))
            }
            2 => self.act("policy.retired", &json!({"version": some})),
            3 | 4 => self.act("policy.activated", &json!({"version": 1})),
            5 => self.act("policy.activated", &json!({"version": 2})),
            _ => self.act("policy.activated", &json!({"version": some})),
        }
    }

    fn by_rate(&mut self) -> Event<'static> {
        let scopes = [
            json!({"by": "agent"}),
            json!({"by": "agent", "name": "coder"}),
            json!({"by": "tool", "name": "fs.write"}),
            json!({"by": "role"}),
        ];
        let scope = &scopes[self.index(4)];
        let mut data = json!({"scope": scope});
        if self.roll(3) != 0 {
            let refill = self.roll(3);
            data["limit"] =
                json!({"burst": 1 + self.roll(6), "refill": refill, "period_ms": 1 + self.roll(60_000)});
        } else if scope["by"] == "role" {
            let windows = json!([{"calls": 20, "period_s": 600}]);
            data["rolling"] = json!({"windows": windows, "day": {"calls": 400, "zone": "Asia/Kolkata"}});
        }
        self.act("rate.configured", &data)
    }

    fn by_budget(&mut self) -> Event<'static> {
        let name = ["all", "each-run", "coder"][self.index(3)];
        let mut data =
            json!({"budget": name, "scope": {}, "limits": {}, "period": "day", "on_exceed": "pause"});
        if self.roll(4) != 0 {
            data["limits"] = json!({"calls": 20 + self.roll(60), "cost_micro_usd": self.roll(6_000_000)});
            data["period"] = json!(["run", "session", "day", "seven_days", "thirty_days"][self.index(5)]);
            let last = if data["period"] == "run" { "abort" } else { "deny" };
            data["on_exceed"] = json!(["pause", last][self.index(2)]);
        }
        if name == "coder" {
            data["scope"] = json!({"agent": "coder"});
        }
        self.act("budget.configured", &data)
    }

    /// Returns an unsolicited report: an answer of a model, or the progress of a run.
    fn told(&mut self) -> Event<'static> {
        let run = ["r1", "r2"][self.index(2)];
        let on_exceed = if run == "r1" { "pause" } else { "abort" };
        let budget =
            json!({"steps": 40, "cost_micro_usd": 900_000, "elapsed_ms": 90_000_000, "on_exceed": on_exceed});
        let kinds = [
            (
                "model.called",
                json!({"model": "m", "provider": "p", "tokens": {"in": self.roll(99)},
                                    "cost_micro_usd": self.roll(200_000), "status": "ok"}),
            ),
            ("run.started", json!({"run": run, "kind": "task", "parent": "r1", "budget": budget})),
            ("run.step", json!({"run": run, "node": "n", "node_type": "tool", "status": "ok", "attempt": 1})),
            ("checkpoint.saved", json!({"thread": "t", "checkpoint": "k", "step": 1, "source": "loop"})),
        ];
        let (kind, data) = &kinds[self.index(4)];
        let mut event = self.event(kind, AGENTS[0].1, data);
        event.session = (self.roll(2) == 0).then(|| "s1".into());
        event.run = (self.roll(2) == 0).then(|| run.into());
        event.datasubject = (self.roll(6) == 0).then(|| "person/1".into());
        event
    }

    /// Acts on a dimension that was stopped before all others: else it would never be tried again.
    fn by_trust(&mut self, known: &State) -> Event<'static> {
        let mut stopped =
            known.breakers_after(None).filter(|(_, breaker)| breaker.condition() != BreakerCondition::Closed);
        let of = stopped.next().map(|(dimension, _)| json!(dimension));
        let context = ["src", "docs"][self.index(2)];
        let of = of.unwrap_or_else(|| dimension("fs.write", context));
        let approvals = 10 + self.roll(40);
        let mut data = trust(&of, approvals);
        if self.roll(4) == 0 {
            data["counts"] = json!({"approvals": 1, "rejections": 9, "failures": 0, "streak": 0});
        }
        self.act("trust.set", &data)
    }

    fn by_breaker(&mut self, known: &State) -> Event<'static> {
        let some = known.breakers_after(None).next().map(|(dimension, _)| json!(dimension));
        let dimension = some.unwrap_or_else(|| dimension("fs.write", "src"));
        if self.roll(2) == 0 {
            return self.act("breaker.closed", &json!({"dimension": dimension, "reason": "mended"}));
        }
        let threshold = 1 + self.roll(9);
        let data = json!({
            "dimension": dimension, "window": threshold + self.roll(9), "failure_threshold": threshold,
            "recovery_probes": 1, "cooldown_s": self.roll(120),
        });
        self.act("breaker.configured", &data)
    }

    /// Stops an agent or all, or takes a stop back soon.
    fn stop(&mut self, known: &State) -> Event<'static> {
        let stops = known.all_stops();
        let reason = json!({"reason": "a drill"});
        let agent = json!({"agent": "coder", "reason": "a drill"});
        if stops.panic.is_some() {
            self.act("panic.released", &reason)
        } else if !stops.suspended.is_empty() {
            self.act("agent.resumed", &agent)
        } else if self.roll(2) == 0 {
            self.act("panic.engaged", &reason)
        } else {
            self.act("agent.suspended", &agent)
        }
    }

    fn by_grant(&mut self, now: Micros) -> Event<'static> {
        let grant = format!("g{}", self.roll(8));
        if self.roll(3) == 0 {
            return self.act("grant.revoked", &json!({"grant": grant}));
        }
        let scopes = [
            json!({"tool": "fs.write", "agent": "coder", "context": "src", "workspace": "/w"}),
            json!({"tool": "fs.write", "agent": "coder", "context": "src", "workspace": "/v"}),
            json!({"tool": "fs.write", "agent": "coder", "context": "src", "workspace": "-"}),
        ];
        let scope = &scopes[self.index(3)];
        let expires = now.0.saturating_add((600 + self.roll(900)) * 1_000_000);
        self.act("grant.given", &json!({"grant": grant, "scope": scope, "expires": expires}))
    }

    fn by_tool(&mut self) -> Event<'static> {
        let name = ["fs.write", "fs.read", "fs.other"][self.index(3)];
        let mut document = tool(name, "2");
        document["requires_review"] = json!(self.roll(2) == 0);
        let risk = ["read", "write", "destructive"][self.index(3)];
        document["risk"] = json!(risk);
        match self.roll(4) {
            0 => self.act("tool.revoked", &json!({"tool": "fs.other", "reason": "gone"})),
            1 => self.act("tool.registered", &document),
            _ => self.act("tool.changed", &document),
        }
    }

    fn by_mode(&mut self) -> Event<'static> {
        let scopes = [json!({"tool": "fs.read"}), json!({"agent": "tester"}), json!({"role": "operator"})];
        let mode = ["observe", "enforce", "enforce"][self.index(3)];
        let mut data = json!({"mode": mode});
        if self.roll(4) != 0 {
            data["scope"] = scopes[self.index(3)].clone();
        }
        self.act("mode.configured", &data)
    }

    fn principal(&mut self, now: Micros) -> Event<'static> {
        let number = self.roll(4);
        let principal = format!("p{number}");
        match self.roll(4) {
            0 => self.act("principal.revoked", &json!({"principal": principal})),
            1 => self.act("principal.expired", &json!({"principal": principal})),
            _ => {
                let expires = now.0.saturating_add(1 + self.roll(600) * 1_000_000);
                let hash = format!("{number:064x}");
                let data =
                    json!({"principal": principal, "role": "admin", "token_hash": hash, "expires": expires});
                self.act("principal.created", &data)
            }
        }
    }

    fn recorded_elsewhere(&mut self, kind: &'static str) -> Event<'static> {
        let call = format!("i{}", self.roll(5));
        let mut data = json!({"call": call, "assurance": "imported"});
        if kind == "tool.requested" {
            data["tool"] = json!("fs.write");
            let path = PATHS[self.index(5)];
            data["args"] = json!({"path": path});
        } else {
            data["status"] = json!("ok");
        }
        let mut event = self.event(kind, "admin:444444444444", &data);
        event.stream = ["session/one", "session/two"][self.index(2)].into();
        event.time = Some("2026-01-02T03:04:05Z".into());
        event
    }

    fn acceptance(&mut self) -> Event<'static> {
        let digest = "0".repeat(64);
        if self.roll(2) == 0 {
            return self.act("import.accepted", &json!({"digest": digest}));
        }
        let counts = json!({
            "files": 1, "lines": 1, "bytes": 1, "events": 1, "unmapped": 0, "passed_over": 0,
            "without_outcome": 0, "types": {},
        });
        self.act("import.batch", &json!({"digest": digest, "mapping": "m", "counts": counts, "sources": []}))
    }

    fn registered_type(&mut self) -> Event<'static> {
        let version = 1 + self.roll(3);
        let data = json!({"type": "team.noted", "version": version, "schema": {"type": "object"}});
        self.act("schema.registered", &data)
    }

    /// Returns mostly a harmless act; else one that only the reactor writes, which drops the whole request.
    fn reserved(&mut self) -> Event<'static> {
        if self.roll(2) == 0 {
            return self.act("panic.released", &json!({"reason": "nothing was stopped"}));
        }
        let dimension = dimension("fs.write", "src");
        self.act("trust.observed", &json!({"dimension": dimension, "outcome": "approved"}))
    }

    fn act(&mut self, kind: &'static str, data: &Value) -> Event<'static> {
        self.event(kind, OPERATOR, data)
    }

    fn event(&mut self, kind: &'static str, actor: &'static str, data: &Value) -> Event<'static> {
        self.ids += 1;
        let mut event = Event::new(format!("r{}", self.ids), "urn:test", kind, "calls");
        event.actor = Some(actor.into());
        event.call = data["call"].as_str().map(|call| call.to_owned().into());
        event.data = Data::Json(Json::check(data.to_string().into_bytes()).unwrap());
        event
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.numbers.below(sides.max(1))
    }

    fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.roll(len as u64)).unwrap()
    }
}
