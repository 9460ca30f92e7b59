//! The examination of a call's arguments.
//! It checks whether they fit the tool, and finds the call's context, its places, and the action that an approval is bound to.
//!
//! All of it is computed here from the arguments, never taken from the agent. The findings are recorded. Of the arguments they hold
//! the context, the destinations and digests, and nothing else.

mod command;
mod host;
mod path;
mod reach;
mod recorded;
mod short;

use std::fmt;

use bitacora_formats::check_json;
use bitacora_vocabulary::{BoundedText, DestinationKind, FileAccess, Normaliser, Sha256Text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tools::compiled_schema::{MAX_VIOLATIONS, SchemaMismatch, Violation};
use crate::tools::compiled_tool::{CompiledContext, CompiledDestination, CompiledTool, canonical_digest};
pub(crate) use command::SEVERAL;
use command::read_command;
use host::read_host;
use path::{PathError, read_path};
pub use reach::Reach;
pub(crate) use recorded::recorded_context;

pub(crate) use path::clean_folder;
pub(crate) use short::{is_cut, shortened};

/// Places that one call may reach.
pub const MAX_CALL_DESTINATIONS: usize = 64;
/// The context of a call that has none.
pub const NO_CONTEXT: &str = "-";

/// A context, a part of one, or a destination.
pub type PlaceText = BoundedText<1024>;

/// The findings about a call's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentFindings {
    /// The gravest reason for which the call must be denied, if any.
    pub refusal: Option<ArgumentsRefusal>,
    /// The first few violations of the tool's schema.
    pub violations: Vec<Violation>,
    /// The context of the call, by which trust is kept. `-` where there is none.
    pub context: PlaceText,
    /// Every context that the call has a part in. A command has one for each program that it runs, and one for files that lie
    /// outside. For some programs the context names the subcommand too (`git push`). A rule that denies or reviews applies if it
    /// matches any of them; one that allows, only if it matches all.
    pub parts: Vec<PlaceText>,
    /// `true` if the command can run programs that could not be read from it. It is never better than reviewed.
    pub opaque: bool,
    /// The places that the call reaches: cleaned paths and hosts.
    pub destinations: Vec<PlaceText>,
    /// Its access to those places, and the patterns that it works on. `None` where that was not recorded: before version 6 of the
    /// rules, and for hidden arguments.
    pub reach: Option<Reach>,
    /// `true`: the tool's registration reads no place from the arguments and accepts any member, so the arguments may name other places.
    pub unlisted: bool,
    /// The digest that an approval and an idempotency key are bound to. It is there whenever the arguments could be read.
    pub action_digest: Option<Sha256Text>,
    /// The digest of all arguments, where it is another one: by it calls are known to be the same.
    pub args_digest: Option<Sha256Text>,
}

/// The reason for which a call must be denied for its arguments, the gravest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentsRefusal {
    /// Only a digest came, and the tool binds some of the arguments.
    DigestOnly,
    /// They do not fit the tool's schema, or a place in them cannot be read.
    Invalid,
    /// They name a place that the tool may not reach.
    DestinationOutside,
    /// A path leaves the working folder by `..`.
    PathOutside,
    /// They are not JSON that every reader understands alike.
    NotJson,
    /// Looking at them would take too long.
    TooLarge,
}

impl fmt::Display for ArgumentsRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::DigestOnly => "only a digest came; send the arguments that it binds",
            Self::Invalid => {
                "they do not hold what its schema asks for, or what is read from them is not there"
            }
            Self::DestinationOutside => "they name a place that it may not reach",
            Self::PathOutside => "a path leaves the working folder; stay inside it",
            Self::NotJson => "they are not JSON that every reader understands alike",
            Self::TooLarge => "they are too large to be looked at; split the call",
        })
    }
}

/// Examines a call's arguments.
///
/// Any bytes get an answer; it says so where the call must be denied. `cwd` is the folder that the call works in, as the caller
/// names it.
#[must_use]
pub fn examine(tool: &CompiledTool, args: &[u8], cwd: Option<&str>) -> ArgumentFindings {
    let unlisted = tool.takes_unlisted();
    let mut examined =
        ArgumentFindings { reach: Some(Reach::default()), unlisted, ..ArgumentFindings::unread() };
    let value: Option<Value> = check_json(args).ok().and_then(|()| serde_json::from_slice(args).ok());
    let Some(value) = value else {
        examined.refuse(ArgumentsRefusal::NotJson);
        return examined;
    };
    // Names that only the arguments know are not told: what is found is recorded.
    match tool.schema.check(&value, |pointer| tool.schema.known_pointer(pointer)) {
        Ok(()) => {}
        Err(SchemaMismatch::TooLarge) => {
            examined.refuse(ArgumentsRefusal::TooLarge);
            return examined;
        }
        Err(SchemaMismatch::Untold) => examined.violate("", "input_schema"),
        Err(SchemaMismatch::Told(violations)) => {
            examined.refuse(ArgumentsRefusal::Invalid);
            examined.violations.extend(violations);
        }
    }
    if let Some(context) = &tool.context {
        examined.read_context(context, &value, cwd);
    }
    for destination in &tool.destinations {
        examined.read_destination(destination, &value, cwd);
    }
    examined.action_digest = tool.action_digest(&value);
    examined.args_digest = tool.args_digest(&value);
    examined
}

/// Takes the digest of arguments that are not shown. It will do only for a tool without binding fields; schema, context and
/// destinations stay unknown even then.
#[must_use]
pub fn examine_digest(tool: &CompiledTool, digest: &Sha256Text) -> ArgumentFindings {
    let mut examined = ArgumentFindings { unlisted: tool.takes_unlisted(), ..ArgumentFindings::unread() };
    if tool.has_binding_fields() {
        examined.refuse(ArgumentsRefusal::DigestOnly);
    } else {
        examined.action_digest = Some(digest.clone());
    }
    // A tool whose context or destinations are read from the arguments could do anything, and nobody knows whether they fit.
    examined.opaque =
        tool.context.is_some() || !tool.destinations.is_empty() || !tool.schema.takes_anything();
    examined
}

/// Looks at the arguments of a call whose tool nobody registered: an approval is bound to all of them. Nothing else is known of the
/// call, so it is never better than reviewed.
#[must_use]
pub fn examine_unregistered(args: &[u8]) -> ArgumentFindings {
    let mut examined = unregistered();
    let value: Option<Value> = check_json(args).ok().and_then(|()| serde_json::from_slice(args).ok());
    match value {
        Some(value) => examined.action_digest = canonical_digest(&value),
        None => examined.refuse(ArgumentsRefusal::NotJson),
    }
    examined
}

/// Does the same for hidden arguments: nobody could say what an approval is for.
pub(crate) fn examine_unregistered_digest() -> ArgumentFindings {
    let mut examined = unregistered();
    examined.refuse(ArgumentsRefusal::DigestOnly);
    examined
}

fn unregistered() -> ArgumentFindings {
    ArgumentFindings { opaque: true, parts: Vec::new(), ..ArgumentFindings::unread() }
}

/// Returns the findings about arguments that were not recorded, not even by a digest: none.
pub(crate) fn examine_nothing() -> ArgumentFindings {
    ArgumentFindings { opaque: true, ..ArgumentFindings::unread() }
}

impl ArgumentFindings {
    fn unread() -> Self {
        let context = shortened(NO_CONTEXT);
        Self {
            refusal: None,
            violations: Vec::new(),
            parts: vec![context.clone()],
            context,
            opaque: false,
            destinations: Vec::new(),
            reach: None,
            unlisted: false,
            action_digest: None,
            args_digest: None,
        }
    }

    /// Keeps no place and no digest that could be guessed. A call whose places are hidden could work anywhere: it is never better
    /// than reviewed, as one of which only a digest came.
    pub(crate) fn seal(&mut self, blind: impl Fn(&str) -> [u8; 32]) {
        let has_places = !self.destinations.is_empty()
            || [&self.context].into_iter().chain(&self.parts).any(|place| place.as_str() != NO_CONTEXT);
        self.opaque |= has_places;
        if has_places {
            self.parts.clear();
        }
        self.context = shortened(NO_CONTEXT);
        self.destinations.clear();
        self.reach = None;
        self.violations.clear();
        for digest in [&mut self.action_digest, &mut self.args_digest].into_iter().flatten() {
            *digest = Sha256Text::of_digest(&blind(digest.as_str()));
        }
    }

    fn refuse(&mut self, refusal: ArgumentsRefusal) {
        self.refusal = self.refusal.max(Some(refusal));
    }

    fn violate(&mut self, pointer: &str, keyword: &str) {
        self.refuse(ArgumentsRefusal::Invalid);
        self.note(pointer, keyword);
    }

    fn note(&mut self, pointer: &str, keyword: &str) {
        let violation = Violation { pointer: pointer.to_owned(), keyword: keyword.to_owned() };
        if self.violations.len() < MAX_VIOLATIONS && !self.violations.contains(&violation) {
            self.violations.push(violation);
        }
    }

    fn read_context(&mut self, from: &CompiledContext, args: &Value, cwd: Option<&str>) {
        let text = match args.pointer(&from.pointer) {
            None => {
                if let Some(absent) = &from.when_absent {
                    self.set_context(shortened(absent));
                }
                return;
            }
            Some(Value::String(text)) => text,
            Some(_) => return self.violate(&from.pointer, "context_from"),
        };
        match from.normaliser {
            Normaliser::Path => match read_path(text, cwd) {
                Ok(path) => self.set_context(shortened(&path.context())),
                Err(error) => self.refuse_path(error, &from.pointer, "context_from"),
            },
            Normaliser::Host => match read_host(text) {
                Some(host) => self.set_context(shortened(&host)),
                None => self.violate(&from.pointer, "context_from"),
            },
            Normaliser::Command => {
                let command = read_command(text, cwd);
                self.context = shortened(&command.context());
                self.opaque = command.opaque;
                self.parts = command.parts().map(shortened).collect();
                for (place, access) in &command.places {
                    self.reach_place(shortened(place), Some(*access));
                }
                for (pattern, access) in &command.patterns {
                    self.reach_pattern(shortened(pattern), *access);
                }
                let reach = self.reach.get_or_insert_default();
                reach.is_command = true;
                reach.runs_programs = command.acts();
                reach.shows_tracked = command.shows_tracked;
                reach.reads_stored = command.reads_stored;
                reach.acts_elsewhere = command.acts_elsewhere;
            }
        }
    }

    fn set_context(&mut self, context: PlaceText) {
        self.parts = vec![context.clone()];
        self.context = context;
    }

    fn read_destination(&mut self, from: &CompiledDestination, args: &Value, cwd: Option<&str>) {
        let found = match args.pointer(&from.pointer) {
            None => {
                // A place that is left out stands for a folder, and the call reaches that.
                let absent = from.when_absent.as_deref().and_then(|absent| read_path(absent, cwd).ok());
                if let Some(path) = absent {
                    self.reach_place(shortened(&path.whole()), Some(from.access));
                }
                return;
            }
            Some(Value::Array(list)) => list.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        for value in found {
            let Some(text) = value.as_str() else {
                self.violate(&from.pointer, "destinations");
                continue;
            };
            let place = match from.kind {
                DestinationKind::Path => match read_path(text, cwd) {
                    Ok(path) => path.whole(),
                    Err(error) => {
                        self.refuse_path(error, &from.pointer, "destinations");
                        continue;
                    }
                },
                DestinationKind::Host => match read_host(text) {
                    Some(host) => host,
                    None => {
                        self.violate(&from.pointer, "destinations");
                        continue;
                    }
                },
                DestinationKind::Text if text.is_empty() => {
                    self.violate(&from.pointer, "destinations");
                    continue;
                }
                DestinationKind::Text => text.to_owned(),
                DestinationKind::Pattern => {
                    if text.split(['/', '\\']).any(|step| step == "..") {
                        self.refuse_path(PathError::Leaves, &from.pointer, "destinations");
                        continue;
                    }
                    // A rule that allows what lies inside must not take it.
                    self.parts.extend(reach::outside(text, cwd).map(|place| shortened(&place)));
                    self.reach_pattern(shortened(&reach::whole_pattern(text)), from.access);
                    continue;
                }
            };
            if from.globs.as_ref().is_some_and(|globs| !globs.iter().any(|glob| glob.matches(&place))) {
                self.refuse(ArgumentsRefusal::DestinationOutside);
                self.note(&from.pointer, "destinations");
            }
            self.reach_place(shortened(&place), (from.kind == DestinationKind::Path).then_some(from.access));
        }
    }

    fn reach_place(&mut self, place: PlaceText, access: Option<FileAccess>) {
        let reach = self.reach.get_or_insert_default();
        let is_there =
            self.destinations.iter().zip(&reach.uses).any(|(one, used)| *one == place && *used == access);
        if is_there {
        } else if self.destinations.len() >= MAX_CALL_DESTINATIONS {
            self.refuse(ArgumentsRefusal::TooLarge);
        } else {
            self.destinations.push(place);
            reach.uses.push(access);
        }
    }

    fn reach_pattern(&mut self, pattern: PlaceText, access: FileAccess) {
        let patterns = &mut self.reach.get_or_insert_default().patterns;
        if patterns.len() >= MAX_CALL_DESTINATIONS {
            self.refuse(ArgumentsRefusal::TooLarge);
        } else if !patterns.contains(&(access, pattern.clone())) {
            patterns.push((access, pattern));
        }
    }

    fn refuse_path(&mut self, error: PathError, pointer: &str, keyword: &str) {
        match error {
            PathError::Leaves => {
                self.refuse(ArgumentsRefusal::PathOutside);
                self.note(pointer, keyword);
            }
            PathError::Unreadable => self.violate(pointer, keyword),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
