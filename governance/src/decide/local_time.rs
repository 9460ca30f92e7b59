//! Local times: those that clocks in a zone show at a decision.
//! The decision records them, so that judging again reads no zone.

use bitacora_formats::Micros;
use bitacora_vocabulary::LocalTimes;

use crate::policy::Policy;
use crate::policy::zones::{LocalSource, Zone, local_times_in};
use crate::reactor::examination::CallFacts;
use crate::state::State;

impl State {
    /// Returns the local times that a call is decided by, at a time of day; `None` where no zone has a part in it.
    pub(crate) fn local_times(&self, facts: &CallFacts, time_of_day: Micros) -> Option<LocalTimes> {
        match &facts.local_times {
            LocalSource::Recorded(recorded) => recorded.clone(),
            LocalSource::Zones => {
                let of_policy = self.policy().map(Policy::zones).unwrap_or_default().iter().cloned();
                let mut zones: Vec<Zone> = of_policy.collect();
                if !facts.imported {
                    let of_rates = self.rates().rolling.zones(&facts.rate_question());
                    zones.extend(of_rates.map(|name| Zone::of(&name)));
                }
                local_times_in(&zones, None, time_of_day)
            }
        }
    }
}

impl Policy {
    /// Returns the local times that it would look at: those that are recorded, and of other zones those at this time of day.
    pub(crate) fn local_times(
        &self,
        recorded: Option<&LocalTimes>,
        time_of_day: Micros,
    ) -> Option<LocalTimes> {
        local_times_in(self.zones(), recorded, time_of_day)
    }
}
