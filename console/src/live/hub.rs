//! One stream of the interface for all browsers that follow a ledger.
//!
//! It carries types and positions alone, which every reader of the ledger may know. So it is asked for once, with the token of whoever came
//! first; each browser's own right is looked at when it begins to follow, and again and again while it does.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bitacora_api::{HeadAnswer, paths};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use tokio::sync::broadcast::{Receiver, Sender, channel};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::CLOSING;
use super::messages::{Messages, StreamMessage};
use crate::interface::{InterfaceBody, InterfaceClient, InterfaceError};
use crate::limits::{
    CHANGES_EVERY, LONGEST_PACE, PACE_PER_BROWSER, SHORTEST_PACE, TYPES_OF_A_CHANGE, WAITING_CHANGES,
};

/// The groups of types of which open pages are told within [`CHANGES_EVERY`]: those that `console.js` names.
const PROMPT: [&str; 8] = ["agent", "approval", "breaker", "budget", "mode", "panic", "policy", "trust"];
/// Types of those groups that any call may bring.
const ORDINARY: [&str; 2] = ["budget.charged", "trust.observed"];
/// Messages about other types in the time after which an open page asks again.
const MESSAGES_A_PACE: u32 = 10;

/// The streams of all ledgers, by name.
#[derive(Clone, Default)]
pub(crate) struct ChangeHubs(Arc<Mutex<HashMap<String, Sender<Bytes>>>>);

impl ChangeHubs {
    /// Follows a ledger. The stream is opened with this client where nobody follows yet.
    pub(super) fn follow(&self, ledger: &str, client: &InterfaceClient) -> Receiver<Bytes> {
        let mut hubs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = hubs.get(ledger) {
            return sender.subscribe();
        }
        let (sender, receiver) = channel(WAITING_CHANGES);
        hubs.insert(ledger.to_owned(), sender.clone());
        let hub = Hub { hubs: self.clone(), ledger: ledger.to_owned(), client: client.clone(), sender };
        tokio::spawn(hub.run());
        receiver
    }
}

/// The stream of one ledger.
struct Hub {
    hubs: ChangeHubs,
    ledger: String,
    client: InterfaceClient,
    sender: Sender<Bytes>,
}

impl Hub {
    async fn run(self) {
        if let Ok(stream) = self.open().await {
            self.pass_on(stream).await;
        }
        self.remove();
    }

    async fn open(&self) -> Result<InterfaceBody, InterfaceError> {
        let ledger = [self.ledger.as_str()];
        let head = self.client.get::<HeadAnswer>(&paths::path(paths::HEAD, &ledger)).await?.value;
        let path = format!("{}?after={}", paths::path(paths::EVENTS, &ledger), head.position);
        Ok(self.client.open(http::Method::GET, &path, "text/event-stream").await?.into_body())
    }

    /// Passes on what the interface tells, some of it at a time, until nobody listens or it ends.
    async fn pass_on(&self, mut stream: InterfaceBody) {
        let (mut messages, mut change, mut told) = (Messages::default(), Change::default(), Instant::now());
        let mut pace = interval(CHANGES_EVERY);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                frame = stream.frame() => {
                    let Some(Ok(frame)) = frame else { return };
                    let Ok(data) = frame.into_data() else { continue };
                    for message in messages.take(&data) {
                        match message {
                            StreamMessage::Event { position, kind } => change.add(position, kind),
                            StreamMessage::Ended => return,
                            StreamMessage::Closing => {
                                let _nobody = self.sender.send(CLOSING);
                                return;
                            }
                        }
                    }
                }
                _ = pace.tick() => {
                    let browsers = self.sender.receiver_count();
                    let is_due = change.is_prompt() || told.elapsed() >= self::pace(browsers) / MESSAGES_A_PACE;
                    if is_due && let Some(message) = change.take(browsers) {
                        let _nobody = self.sender.send(message);
                        told = Instant::now();
                    }
                    if self.is_left() {
                        return;
                    }
                }
            }
        }
    }

    /// Returns `true` if nobody follows any more; then nobody finds this stream either.
    fn is_left(&self) -> bool {
        let mut hubs = self.hubs.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_left = self.sender.receiver_count() == 0;
        if is_left {
            hubs.remove(&self.ledger);
        }
        is_left
    }

    fn remove(&self) {
        let mut hubs = self.hubs.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hubs.get(&self.ledger).is_some_and(|sender| sender.same_channel(&self.sender)) {
            hubs.remove(&self.ledger);
        }
    }
}

/// The changes since the last message.
#[derive(Default)]
struct Change {
    position: u64,
    types: BTreeSet<String>,
}

impl Change {
    fn add(&mut self, position: u64, kind: Option<String>) {
        self.position = position;
        // Agents make types of their own, and these take no place from one that is shown at once.
        if let Some(kind) = kind
            && (is_prompt(&kind) || self.types.len() < TYPES_OF_A_CHANGE)
        {
            self.types.insert(kind);
        }
    }

    fn is_prompt(&self) -> bool {
        self.types.iter().any(|kind| is_prompt(kind))
    }

    /// Returns the message to this many browsers, if anything changed.
    fn take(&mut self, browsers: usize) -> Option<Bytes> {
        if self.position == 0 {
            return None;
        }
        let Self { position, types } = std::mem::take(self);
        let pace = u64::try_from(pace(browsers).as_millis()).unwrap_or(u64::MAX);
        let message = serde_json::json!({ "position": position.to_string(), "types": types, "pace": pace });
        Some(format!("data: {message}\n\n").into())
    }
}

/// Returns `true` if a page shows events of this type at once: what waits for a person, or was stopped. Any call brings other types.
fn is_prompt(kind: &str) -> bool {
    let is_of = |group: &str| kind.strip_prefix(group).is_some_and(|rest| rest.starts_with('.'));
    !ORDINARY.contains(&kind) && PROMPT.into_iter().any(is_of)
}

/// Returns the time after which an open page asks again while there are changes all the time. All pages together ask for so many a second
/// that appending does not feel it.
fn pace(browsers: usize) -> Duration {
    let shared = PACE_PER_BROWSER.saturating_mul(u32::try_from(browsers).unwrap_or(u32::MAX));
    shared.clamp(SHORTEST_PACE, LONGEST_PACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_ask_more_seldom_the_more_of_them_are_open() {
        let seconds = [0, 1, 50, 51, 200, usize::MAX].map(|browsers| pace(browsers).as_secs_f64());
        assert_eq!(seconds, [5.0, 5.0, 5.0, 5.1, 20.0, 60.0]);
        let mut change = Change::default();
        assert_eq!(change.take(1), None);
        change.add(7, Some("approval.requested".to_owned()));
        let told = r#"data: {"pace":20000,"position":"7","types":["approval.requested"]}"#;
        assert_eq!(change.take(200).unwrap(), format!("{told}\n\n"));
        assert_eq!(change.take(1), None, "it is told once");
        for (kind, is_prompt) in [
            ("tool.requested", false),
            ("trust.observed", false),
            ("approvals.x", false),
            ("panic.engaged", true),
        ] {
            let mut change = Change::default();
            change.add(8, Some(kind.to_owned()));
            assert_eq!(change.is_prompt(), is_prompt, "{kind}");
        }
        let mut flooded = Change::default();
        (0..2 * TYPES_OF_A_CHANGE).for_each(|number| flooded.add(9, Some(format!("x.a{number}"))));
        flooded.add(10, Some("approval.requested".to_owned()));
        assert!(flooded.is_prompt(), "types of agents hide it");
        assert_eq!(flooded.types.len(), TYPES_OF_A_CHANGE + 1);
    }
}
