//! A stored event, as pages read it.

use bitacora_api::StoredEvent;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The data as it is written, byte for byte.
#[derive(Default, Deserialize)]
struct Written<'a> {
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

/// The arguments of a call, as they are written.
#[derive(Default, Deserialize)]
struct WrittenArguments<'a> {
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

/// A stored event with its contents read.
pub(crate) struct Event<'a> {
    pub(crate) stored: &'a StoredEvent,
    contents: Value,
}

impl<'a> Event<'a> {
    pub(crate) fn read(stored: &'a StoredEvent) -> Self {
        Self { stored, contents: serde_json::from_str(stored.event.get()).unwrap_or_default() }
    }

    /// Returns an attribute of the event.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.contents.get(name)?.as_str()
    }

    /// Returns every attribute but the data.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (&str, &Value)> {
        let members = self.contents.as_object().into_iter().flatten();
        members
            .filter(|(name, _)| !name.starts_with("data") || *name == "datasubject")
            .map(|(name, value)| (name.as_str(), value))
    }

    pub(crate) fn kind(&self) -> &str {
        self.attribute("type").unwrap_or("-")
    }

    /// Returns the data, where it is JSON.
    pub(crate) fn data(&self) -> Option<&Value> {
        self.contents.get("data")
    }

    /// Returns the data as it is written, where it is JSON.
    pub(crate) fn written(&self) -> Option<&'a str> {
        let written: Written<'a> = serde_json::from_str(self.stored.event.get()).unwrap_or_default();
        written.data.map(RawValue::get)
    }

    /// Returns the arguments of a request as they are written.
    pub(crate) fn written_arguments(&self) -> Option<&'a str> {
        let written: WrittenArguments<'a> = serde_json::from_str(self.written()?).unwrap_or_default();
        written.args.map(RawValue::get)
    }

    /// Returns the data in base64, where it is no JSON.
    pub(crate) fn binary(&self) -> Option<&str> {
        self.attribute("data_base64")
    }

    /// Returns a member of the data.
    pub(crate) fn member(&self, name: &str) -> Option<&Value> {
        self.data()?.get(name)
    }

    /// Returns a text of the data.
    pub(crate) fn word(&self, name: &str) -> Option<&str> {
        self.member(name)?.as_str()
    }

    /// Returns a number of the data.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.member(name)?.as_u64()
    }

    /// Returns the call that the event is of.
    pub(crate) fn call(&self) -> Option<&str> {
        self.attribute("call").or_else(|| self.word("call"))
    }
}

/// Returns the beginning of a text, on one line.
pub(crate) fn clipped(of: &str, characters: usize) -> String {
    let line = |letter: char| if letter == '\n' || letter == '\r' { ' ' } else { letter };
    let mut letters = of.trim().chars();
    let mut text: String = letters.by_ref().take(characters).map(line).collect();
    if letters.next().is_some() {
        text.push('…');
    }
    text
}
