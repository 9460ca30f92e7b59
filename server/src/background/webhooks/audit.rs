//! Notices about ledgers that take no appends: nothing is recorded then, so the log cannot tell of it.

use std::collections::BTreeMap;
use std::time::Duration;

use bitacora_formats::{LedgerName, Micros};

use super::webhook::{DeliveryFailure, Notice, Webhook};
use crate::json::JsonWriter;
use crate::ledgers::readiness::why_slot_is_not_ready;
use crate::ledgers::slot::Slot;
use crate::limits::{IMPAIRED_PATIENCE, MAX_NOTICE_PAUSE, MIN_NOTICE_PAUSE};

/// The ledgers that take no appends, or took none.
#[derive(Default)]
pub(super) struct Audit {
    impaired: BTreeMap<LedgerName, LedgerOutage>,
}

struct LedgerOutage {
    since: Micros,
    /// The latest reason; `None` once it takes appends again.
    why: Option<String>,
    /// `true` if the receiver was told.
    is_told: bool,
    /// No earlier than this is it tried again, after so long a pause.
    next_try: Micros,
    pause: Duration,
}

impl Audit {
    /// Looks at every ledger, and tells of one that takes no appends for a while, or takes them again.
    pub(super) async fn look(&mut self, slots: &BTreeMap<LedgerName, Slot>, now: Micros, webhook: &Webhook) {
        for (name, slot) in slots {
            match why_slot_is_not_ready(slot) {
                Some(why) => {
                    let known = self.impaired.entry(name.clone()).or_insert_with(|| LedgerOutage::since(now));
                    known.why = Some(why);
                }
                None => {
                    if let Some(known) = self.impaired.get_mut(name) {
                        known.why = None;
                    }
                }
            }
        }
        // A ledger that recovered before anybody was told of it is not worth a word.
        self.impaired
            .retain(|name, known| slots.contains_key(name) && (known.why.is_some() || known.is_told));
        let mut over = Vec::new();
        for (name, known) in &mut self.impaired {
            if known.notify(name, now, webhook).await {
                over.push(name.clone());
            }
        }
        over.iter().for_each(|name| {
            self.impaired.remove(name);
        });
    }
}

impl LedgerOutage {
    fn since(now: Micros) -> Self {
        Self { since: now, why: None, is_told: false, next_try: now, pause: MIN_NOTICE_PAUSE }
    }

    /// Tells what there is to tell; whether that was the last word.
    async fn notify(&mut self, name: &LedgerName, now: Micros, webhook: &Webhook) -> bool {
        let is_restored = self.why.is_none();
        let is_due =
            is_restored || (!self.is_told && now.0.saturating_sub(self.since.0) >= micros(IMPAIRED_PATIENCE));
        if !is_due || now < self.next_try {
            return false;
        }
        let notice = self.notice(name, now);
        let sent = webhook.send(&notice, now).await;
        if let Err(unwanted @ DeliveryFailure::Unwanted) = &sent {
            webhook.give_up(&notice, &unwanted.to_string());
        }
        match sent {
            Ok(()) | Err(DeliveryFailure::Unwanted) => {
                self.is_told = true;
                self.pause = MIN_NOTICE_PAUSE;
                is_restored
            }
            Err(DeliveryFailure::Yet(error)) => {
                tracing::warn!(notice = notice.id, %error, "a notice was not taken; it is sent again");
                self.next_try = Micros(now.0.saturating_add(micros(self.pause)));
                self.pause = (self.pause * 2).min(MAX_NOTICE_PAUSE);
                false
            }
        }
    }

    fn notice(&self, name: &LedgerName, now: Micros) -> Notice {
        let (kind, time) = match self.why {
            Some(_) => ("audit.impaired", self.since),
            None => ("audit.restored", now),
        };
        let mut json = JsonWriter::with_capacity(256);
        json.begin_object();
        json.text_member("ledger", name.as_str());
        if let Some(why) = &self.why {
            json.text_member("why", why);
        }
        json.end_object();
        let id = format!("{name}-{kind}-{}", self.since.0);
        Notice { id, kind: kind.to_owned(), time, data: json.into_bytes() }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
