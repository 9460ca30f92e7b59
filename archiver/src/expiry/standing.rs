//! The rules of a governed ledger, as archives are looked at by them.

use bitacora_archive_format::Manifest;
use bitacora_formats::Position;
use bitacora_ledger::ExpiryRules;

use super::{RetainedEvent, Retention};

impl Retention for ExpiryRules {
    fn policy(&self) -> Position {
        self.policy()
    }

    fn concerns(&self, manifest: &Manifest) -> bool {
        self.may_concern(manifest.kinds.iter().map(|(kind, _)| kind.as_str()), manifest.times.0)
    }

    fn expires(&self, event: &RetainedEvent<'_>) -> bool {
        self.expires(event.position, event.time, event.record)
    }
}
