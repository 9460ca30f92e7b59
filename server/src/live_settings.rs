//! The settings of a running service that may change.

use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use bitacora_archiver::Rules;

use crate::api::Api;
use crate::background::archiving::ArchiveSettings;
use crate::background::webhooks::NoticeTarget;
use crate::ledgers::required_models::RequiredModel;

/// The settings that may change while a server runs. Requests and notices that are under way end with those they began with. It keeps
/// neither ledgers nor stores open.
#[derive(Clone)]
pub struct LiveSettings {
    api: Weak<Api>,
    /// `None` where the server sends no notices.
    notices: Option<Weak<ArcSwap<NoticeTarget>>>,
    /// `None` where the server archives nothing.
    archiving: Option<Weak<ArcSwap<ArchiveSettings>>>,
}

/// The outcome of reading the settings again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReloadOutcome {
    /// They were read, and are in effect as far as they may change.
    Done,
    /// They have a fault, and nothing changed.
    Failed,
}

impl LiveSettings {
    pub(crate) fn new(
        api: &Arc<Api>,
        notices: Option<&Arc<ArcSwap<NoticeTarget>>>,
        archiving: Option<&Arc<ArcSwap<ArchiveSettings>>>,
    ) -> Self {
        Self {
            api: Arc::downgrade(api),
            notices: notices.map(Arc::downgrade),
            archiving: archiving.map(Arc::downgrade),
        }
    }

    /// Replaces the read models without which the service is not ready.
    pub fn set_required_models(&self, required: Vec<RequiredModel>) {
        if let Some(api) = self.api.upgrade() {
            api.required_models.store(Arc::new(required));
        }
    }

    /// Replaces the receiver of notices. A server that began without one sends none until its next start.
    pub fn set_notice_target(&self, target: NoticeTarget) {
        if let Some(notices) = self.notices.as_ref().and_then(Weak::upgrade) {
            notices.store(Arc::new(target));
        }
    }

    /// Replaces the rules that say which events are archived, and whether their segments are released. The round of archiving that is under
    /// way ends with those it began with.
    pub fn set_archive_rules(&self, rules: &Rules, releases: bool) {
        if let Some(archiving) = self.archiving.as_ref().and_then(Weak::upgrade) {
            archiving.rcu(|old| ArchiveSettings { rules: rules.clone(), releases, ..(**old).clone() });
        }
    }

    /// Counts a reload in the metrics.
    pub fn count_reload(&self, outcome: ReloadOutcome) {
        let Some(api) = self.api.upgrade() else { return };
        let reloads = &api.metrics.reloads;
        match outcome {
            ReloadOutcome::Done => {
                reloads.count("done");
                reloads.read_at(api.ledgers.now());
            }
            ReloadOutcome::Failed => reloads.count("failed"),
        }
    }
}
