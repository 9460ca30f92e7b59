//! Events that another event causes, on their way into its request.

use bitacora_formats::{Data, Event, Json};
use bitacora_vocabulary::EventData;

use crate::command::Command;
use crate::reactor::ObservedEvent;
use crate::reactor::derived_event::{DerivedEvent, DerivedValue};
use crate::reactor::event_sources::REACTOR_SOURCE;
use crate::refusal::{ReactorRefusal, RefusalCode};
use crate::trust::breaker::BreakerEvent;

/// Events that are caused by one.
pub(crate) struct Effects<'a> {
    by: &'a ObservedEvent<'a>,
    pub(crate) events: Vec<DerivedEvent>,
}

impl<'a> Effects<'a> {
    pub(crate) fn new(by: &'a ObservedEvent<'a>) -> Self {
        Self { by, events: Vec::new() }
    }

    /// Its id is made of the position of its cause, which no other event has.
    pub(crate) fn push<T: EventData>(&mut self, data: &T) -> Result<(), ReactorRefusal> {
        let unwritable = |error: &dyn std::fmt::Display| {
            ReactorRefusal::new(RefusalCode::Broken, format!("`{}` cannot be written: {error}", T::KIND))
        };
        let json = serde_json::to_vec(data).map_err(|error| unwritable(&error))?;
        let json = Json::check(json).map_err(|error| unwritable(&error))?;
        let cause = self.by.event;
        let owned =
            |text: &Option<std::borrow::Cow<'_, str>>| text.as_ref().map(|text| text.to_string().into());
        let id = format!("{}.{}", self.by.position, self.events.len());
        let mut event = Event::new(id, REACTOR_SOURCE, T::KIND, cause.stream.to_string());
        event.agent = owned(&cause.agent);
        event.session = owned(&cause.session);
        event.run = owned(&cause.run);
        event.call = owned(&cause.call);
        event.time = owned(&cause.time);
        event.data = Data::Json(json);
        self.events.push(event.into());
        Ok(())
    }

    /// Does the same as [`Self::push`] for an event that changes the state in turn.
    pub(crate) fn push_act<T: EventData>(
        &mut self,
        data: T,
        act: impl FnOnce(T) -> Command,
    ) -> Result<(), ReactorRefusal> {
        self.push(&data)?;
        if let Some(pushed) = self.events.last_mut() {
            pushed.meaning = Some(DerivedValue::new(act(data)));
        }
        Ok(())
    }

    pub(crate) fn push_transition(&mut self, event: BreakerEvent) -> Result<(), ReactorRefusal> {
        match event {
            BreakerEvent::Opened(data) => self.push_act(data, Command::Opened),
            BreakerEvent::HalfOpened(data) => self.push_act(data, Command::HalfOpened),
            BreakerEvent::Closed(data) => self.push_act(data, Command::Closed),
        }
    }
}
