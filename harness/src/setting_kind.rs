//! Kinds of values in settings, and the members that are of another kind or not listed at all.

use std::fmt;

use serde_json::Value;

/// The most members that are told of one file.
const MAX_UNLISTED: usize = 20;
/// The largest whole number that JavaScript tells from its neighbours.
const MAX_WHOLE: u64 = (1 << 53) - 1;
/// A name that JavaScript takes for something else than a member.
const PROTOTYPE: &str = "__proto__";

/// A member of settings that is not listed, or whose value is of another kind than the listed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnlistedMember {
    /// The place of the member in the file.
    pub path: String,
    /// The listed kind; `None` where the member is not listed.
    pub expected: Option<String>,
}

impl fmt::Display for UnlistedMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.expected {
            Some(expected) => write!(f, "`{}` is not {expected}", self.path),
            None => write!(f, "`{}` is not among the members that were seen to let hooks run", self.path),
        }
    }
}

/// A kind of JSON value.
pub(crate) enum SettingKind {
    Bool,
    /// `false` alone: `true` switches something off.
    False,
    Text,
    /// A text that is not empty.
    FullText,
    /// One of these texts.
    Word(&'static [&'static str]),
    /// A text with one of these beginnings.
    TextFrom(&'static [&'static str]),
    /// The address of a web page, of plain characters.
    WebAddress,
    /// A whole number from this on, up to the largest that JavaScript counts by ones.
    WholeFrom(u64),
    /// A number from 0 to 1.
    Share,
    Number,
    List(&'static SettingKind),
    /// An object with members of any name.
    Map(&'static SettingKind),
    /// An object whose members have these names.
    Named(&'static [&'static str], &'static SettingKind),
    Object(&'static [SettingMember]),
    /// An object of any members.
    AnyObject,
    /// One of these kinds.
    Either(&'static [SettingKind]),
}

/// A member of an object in settings.
pub(crate) struct SettingMember {
    pub(crate) name: &'static str,
    pub(crate) kind: SettingKind,
    /// `true` if the object is nothing without it.
    pub(crate) is_needed: bool,
}

impl SettingKind {
    /// Returns the members of a value that are not of this kind.
    pub(crate) fn unlisted(&self, path: &str, value: &Value) -> Vec<UnlistedMember> {
        let mut found = Vec::new();
        self.collect(path, value, &mut found);
        found
    }

    fn collect(&self, path: &str, value: &Value, found: &mut Vec<UnlistedMember>) {
        if found.len() >= MAX_UNLISTED {
            return;
        }
        let place = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let unlisted = |path: String, expected: Option<String>| UnlistedMember { path, expected };
        match (self, value) {
            (Self::List(kind), Value::Array(elements)) => {
                elements.iter().for_each(|element| kind.collect(&format!("{path}[]"), element, found));
            }
            (Self::Map(kind), Value::Object(members)) => {
                for (name, value) in members {
                    match name.as_str() {
                        PROTOTYPE => found.push(unlisted(place(name), None)),
                        _ => kind.collect(&place(name), value, found),
                    }
                }
            }
            (Self::Named(names, kind), Value::Object(members)) => {
                for (name, value) in members {
                    match names.contains(&name.as_str()) {
                        true => kind.collect(&place(name), value, found),
                        false => found.push(unlisted(place(name), None)),
                    }
                }
            }
            (Self::Object(listed), Value::Object(members)) => {
                for (name, value) in members {
                    match listed.iter().find(|member| member.name == name) {
                        Some(member) => member.kind.collect(&place(name), value, found),
                        None => found.push(unlisted(place(name), None)),
                    }
                }
                let is_missing =
                    |member: &&SettingMember| member.is_needed && !members.contains_key(member.name);
                for member in listed.iter().filter(is_missing) {
                    found.push(unlisted(place(member.name), Some(member.kind.name())));
                }
            }
            (Self::Either(kinds), value) => {
                let of_each = kinds.iter().map(|kind| kind.unlisted(path, value));
                if let Some(fewest) = of_each.min_by_key(Vec::len) {
                    found.extend(fewest);
                }
            }
            (kind, value) if kind.is_of(value) => {}
            (kind, _) => found.push(unlisted(path.to_owned(), Some(kind.name()))),
        }
    }

    /// Returns `true` if a value without members is of this kind.
    fn is_of(&self, value: &Value) -> bool {
        match self {
            Self::Bool => value.is_boolean(),
            Self::False => *value == Value::Bool(false),
            // No process takes a text with a zero byte, as a variable or argument.
            Self::Text => value.as_str().is_some_and(|text| !text.contains('\0')),
            Self::FullText => Self::Text.is_of(value) && *value != *"",
            Self::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::TextFrom(beginnings) => value
                .as_str()
                .is_some_and(|text| beginnings.iter().any(|beginning| text.starts_with(beginning))),
            Self::WebAddress => value.as_str().is_some_and(is_web_address),
            Self::WholeFrom(least) => {
                value.as_u64().is_some_and(|number| (*least..=MAX_WHOLE).contains(&number))
            }
            Self::Share => value.as_f64().is_some_and(|number| (0.0..=1.0).contains(&number)),
            Self::Number => value.is_number(),
            Self::AnyObject => value.is_object(),
            Self::List(_) | Self::Map(_) | Self::Named(..) | Self::Object(_) | Self::Either(_) => false,
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Bool => "`true` or `false`".to_owned(),
            Self::False => "`false`".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::FullText => "a text that is not empty".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::TextFrom(beginnings) => format!("a text that begins with {}", beginnings.join(" or ")),
            Self::WebAddress => "a web address".to_owned(),
            Self::WholeFrom(least) => format!("a whole number from {least} to {MAX_WHOLE}"),
            Self::Share => "a number from 0 to 1".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::List(_) => "an array".to_owned(),
            Self::Map(_) | Self::Named(..) | Self::Object(_) | Self::AnyObject => "an object".to_owned(),
            Self::Either(kinds) => kinds.iter().map(Self::name).collect::<Vec<_>>().join(" or "),
        }
    }
}

/// Returns `true` for `http` or `https`, a host of letters, digits, `-` and `.`, perhaps a port, and a path of visible characters.
fn is_web_address(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else {
        return false;
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (place, path) = rest.split_at(end);
    let (host, port) = place.split_once(':').unwrap_or((place, "1"));
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_named =
        host.rsplit('.').next().is_some_and(|last| !last.bytes().all(|byte| byte.is_ascii_digit()));
    let is_number = host.parse::<std::net::Ipv4Addr>().is_ok();
    host.split('.').all(is_label)
        && (is_named || is_number)
        && port.parse::<u16>().is_ok()
        && path.bytes().all(|byte| byte.is_ascii_graphic())
}
