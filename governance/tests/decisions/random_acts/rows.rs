//! Calls in a row that belong together.

use bitacora_formats::Event;
use serde_json::json;

use super::RandomRequests;
use super::documents::AGENTS;

/// Identical calls of one run: one more than it may have.
const ROUNDS: usize = 4;

impl RandomRequests {
    /// The same call of one run again and again: more often than it may be.
    pub(super) fn going_round(&mut self) -> Vec<Event<'static>> {
        (0..ROUNDS)
            .flat_map(|_| {
                let mut pair = self.call_that_ends(1, ("fs.read", "docs/round.md"), ("tool.completed", "ok"));
                for event in &mut pair {
                    (event.session, event.run) = (Some("s1".into()), Some("r1".into()));
                }
                pair
            })
            .collect()
    }

    /// Calls of one place that fail one after another: enough to open its breaker.
    pub(super) fn failing_row(&mut self) -> Vec<Event<'static>> {
        (0..4)
            .flat_map(|_| {
                let path = format!("src/c{}.rs", self.asked + 1);
                self.call_that_ends(0, ("fs.write", &path), ("tool.failed", "error"))
            })
            .collect()
    }

    fn call_that_ends(
        &mut self,
        asker: usize,
        (tool, path): (&str, &str),
        (kind, status): (&'static str, &str),
    ) -> [Event<'static>; 2] {
        self.asked += 1;
        let call = format!("c{}", self.asked);
        let request = json!({"call": call, "tool": tool, "args": {"path": path}});
        self.requests.insert(self.asked, (asker, request.clone()));
        let (agent, actor) = AGENTS[asker];
        let end = json!({"call": call, "status": status});
        let mut pair = [self.event("tool.requested", actor, &request), self.event(kind, actor, &end)];
        pair.iter_mut().for_each(|event| event.agent = Some(agent.into()));
        pair
    }
}
