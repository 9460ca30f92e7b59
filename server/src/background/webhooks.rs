//! Notices to operators, such as an opened breaker, a spent budget or a waiting approval.
//! A ledger that takes no appends is told of too. Each notice is a signed request to one address, sent until that takes it: at least once,
//! in the log's order for each ledger.

mod audit;
mod cursor;
mod notice_follower;
mod webhook;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use self::webhook::Webhook;
pub use self::webhook::{NoticeTarget, NoticeTargetError};
use crate::api::Api;
use crate::background::ticks::Ticks;
use crate::ledgers::slot::Slot;

/// The pause between two looks for ledgers that came, and for those that take no appends.
const EVERY: Duration = Duration::from_secs(1);

/// Tells of the events of every ledger that need a notice, until the service ends.
pub(crate) async fn run(api: Arc<Api>, target: Arc<ArcSwap<NoticeTarget>>) {
    let webhook = Arc::new(Webhook::new(target, Arc::clone(&api.metrics)));
    let (mut followed, mut audit) = (BTreeSet::new(), audit::Audit::default());
    let mut ticks = Ticks::new(&api, Duration::ZERO, EVERY);
    while ticks.next().await {
        let slots = api.ledgers.all();
        for (name, slot) in slots.iter() {
            if let Slot::Open(ledger) = slot
                && followed.insert(name.clone())
            {
                let follower = notice_follower::NoticeFollower::new(
                    Arc::clone(&api),
                    Arc::clone(&webhook),
                    name.clone(),
                    ledger.clone(),
                );
                tokio::spawn(follower.run());
            }
        }
        audit.look(&slots, api.ledgers.now(), &webhook).await;
    }
}
