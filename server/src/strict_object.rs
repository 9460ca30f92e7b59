//! The members of a JSON object in a request: each is known, given once, and refused at its place.

use std::borrow::Cow;
use std::fmt;

use bitacora_governance::CallMembers;
use bitacora_vocabulary::DimensionPart;
use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::problem::{Code, FaultLocation, Problem};

/// Members of one object.
const MAX_MEMBERS: usize = 64;

/// The members of an object that nobody has taken yet, each as the JSON it came in. A member that is `null` is not there.
#[derive(Debug)]
pub(crate) struct ObjectMembers<'a> {
    left: Vec<(Cow<'a, str>, &'a RawValue)>,
    /// The JSON pointer of the object itself.
    at: String,
}

impl<'a> ObjectMembers<'a> {
    /// The object that a body is.
    pub(crate) fn of_body(body: &'a [u8]) -> Result<Self, Problem> {
        let object: Object<'a> = serde_json::from_slice(body).map_err(|error| {
            Problem::new(Code::BadBody, format!("the body is no JSON object that is taken here: {error}"))
        })?;
        Ok(Self { left: object.0, at: String::new() })
    }

    /// The object that stands at this JSON pointer of a body.
    pub(crate) fn of_element(value: &'a RawValue, at: String) -> Result<Self, Problem> {
        let object: Object<'a> = serde_json::from_str(value.get()).map_err(|error| {
            let place = FaultLocation::Body { line: None, pointer: at.clone() };
            Problem::new(Code::BadBody, format!("at {at} stands no JSON object that is taken here: {error}"))
                .with_fault(place, error.to_string())
        })?;
        Ok(Self { left: object.0, at })
    }

    /// The object that is a member of this one.
    pub(crate) fn take_object(&mut self, name: &'static str) -> Result<Option<Self>, Problem> {
        let Some(value) = self.take_json(name) else { return Ok(None) };
        let object: Object<'a> = serde_json::from_str(value.get()).map_err(|error| self.bad(name, &error))?;
        Ok(Some(Self { left: object.0, at: format!("{}/{name}", self.at) }))
    }

    /// A member as the JSON it came in.
    pub(crate) fn take_json(&mut self, name: &'static str) -> Option<&'a RawValue> {
        let at = self.left.iter().position(|(given, _)| given == name)?;
        Some(self.left.swap_remove(at).1).filter(|value| value.get() != "null")
    }

    /// A member that may be left out.
    pub(crate) fn take<T: Deserialize<'a>>(&mut self, name: &'static str) -> Result<Option<T>, Problem> {
        let Some(value) = self.take_json(name) else { return Ok(None) };
        serde_json::from_str(value.get()).map(Some).map_err(|error| self.bad(name, &error))
    }

    /// A member that has to be there.
    pub(crate) fn require<T: Deserialize<'a>>(&mut self, name: &'static str) -> Result<T, Problem> {
        self.take(name)?.ok_or_else(|| self.bad(name, &"it is missing"))
    }

    /// An object that has to be there, with members of which each is known: what it would not be written with again is refused at its
    /// place.
    pub(crate) fn require_known<T: Deserialize<'a> + Serialize>(
        &mut self,
        name: &'static str,
    ) -> Result<T, Problem> {
        let Some(value) = self.take_json(name) else { return Err(self.bad(name, &"it is missing")) };
        let taken: T = serde_json::from_str(value.get()).map_err(|error| self.bad(name, &error))?;
        match unknown_member(value.get(), &taken) {
            None => Ok(taken),
            Some(inner) => Err(unknown(&format!("{}/{}{inner}", self.at, step(name)))),
        }
    }

    /// Refuses `*` in a scope. Elsewhere it stands for every name; here it would be the name of something that is never called.
    pub(crate) fn refuse_every<'n>(
        &self,
        name: &'static str,
        parts: impl IntoIterator<Item = Option<&'n str>>,
    ) -> Result<(), Problem> {
        if parts.into_iter().flatten().any(|part| part == DimensionPart::EVERY) {
            return Err(self.bad(name, &"`*` is no name; leave out what is to be every one"));
        }
        Ok(())
    }

    /// Refuses what nobody took: a misspelt member must not read as none.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        let Some((name, _)) = self.left.first() else { return Ok(()) };
        Err(self.bad(name, &"it is not known here"))
    }

    /// A member that is not what is taken.
    pub(crate) fn bad(&self, name: &str, fault: &dyn fmt::Display) -> Problem {
        let shown: String = name.chars().filter(|character| !character.is_control()).take(64).collect();
        let place = FaultLocation::Body { line: None, pointer: format!("{}/{}", self.at, step(&shown)) };
        Problem::new(Code::BadBody, format!("the member `{shown}` of the body is not taken: {fault}"))
            .with_fault(place, fault.to_string())
    }
}

impl<'a> CallMembers<'a> for ObjectMembers<'a> {
    type Error = Problem;

    fn take<T: Deserialize<'a>>(&mut self, name: &'static str) -> Result<Option<T>, Problem> {
        self.take(name)
    }

    fn bad(&self, name: &'static str, fault: &dyn fmt::Display) -> Problem {
        self.bad(name, fault)
    }
}

/// A body that is one object of which every member is known.
pub(crate) fn read_known<T: DeserializeOwned + Serialize>(body: &[u8], what: &str) -> Result<T, Problem> {
    let text = std::str::from_utf8(body).map_err(|_| Problem::new(Code::BadBody, "the body is no UTF-8"))?;
    let taken: T = serde_json::from_str(text)
        .map_err(|error| Problem::new(Code::BadBody, format!("the body is no {what}: {error}")))?;
    match unknown_member(text, &taken) {
        None => Ok(taken),
        Some(pointer) if pointer.is_empty() => {
            Err(Problem::new(Code::BadBody, format!("the body is no {what}: it is no JSON object")))
        }
        Some(pointer) => Err(unknown(&pointer)),
    }
}

fn unknown(pointer: &str) -> Problem {
    let fault = "it is not known here";
    Problem::new(Code::BadBody, format!("the member at `{pointer}` of the body is not taken: {fault}"))
        .with_fault(FaultLocation::Body { line: None, pointer: pointer.to_owned() }, fault)
}

/// The pointer of the first given member that is missing in the value that was read; one that is `null` counts as absent.
fn unknown_member(given: &str, taken: &impl Serialize) -> Option<String> {
    let (given, taken) = (serde_json::from_str(given).ok()?, serde_json::to_value(taken).ok()?);
    first_missing(&given, &taken)
}

fn first_missing(given: &Value, taken: &Value) -> Option<String> {
    match (given, taken) {
        (Value::Object(given), Value::Object(taken)) => {
            given.iter().filter(|(_, value)| !value.is_null()).find_map(|(name, value)| {
                let inner =
                    taken.get(name).map_or(Some(String::new()), |taken| first_missing(value, taken))?;
                Some(format!("/{}{inner}", step(name)))
            })
        }
        (Value::Array(given), Value::Array(taken)) => {
            given.iter().zip(taken).enumerate().find_map(|(at, (given, taken))| {
                first_missing(given, taken).map(|inner| format!("/{at}{inner}"))
            })
        }
        // Its members by their places, which nobody is asked for.
        (Value::Array(_), Value::Object(_)) => Some(String::new()),
        _ => None,
    }
}

/// A name as a step of a JSON pointer.
fn step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// An object that is read without looking into its members.
struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Object<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut members: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::with_capacity(8);
                while let Some((BorrowedText(name), value)) = map.next_entry()? {
                    if members.len() == MAX_MEMBERS {
                        return Err(serde::de::Error::custom(format!(
                            "an object of more than {MAX_MEMBERS} members"
                        )));
                    }
                    if members.iter().any(|(given, _)| *given == name) {
                        return Err(serde::de::Error::custom("a member is given twice"));
                    }
                    members.push((name, value));
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

/// A text that is borrowed where it holds no escapes.
#[derive(serde::Deserialize)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_taken_once_and_what_is_left_is_refused() {
        let mut members =
            ObjectMembers::of_body(br#"{"a":1,"b":null,"c":{"d":"x"},"\u0065":[1, 2]}"#).unwrap();
        assert_eq!(members.take::<u8>("a").unwrap(), Some(1));
        assert_eq!(members.take::<u8>("a").unwrap(), None);
        assert_eq!(members.take::<u8>("b").unwrap(), None);
        assert_eq!(members.take_json("e").map(RawValue::get), Some("[1, 2]"));
        let mut inner = members.take_object("c").unwrap().unwrap();
        assert!(members.finish().is_ok());
        assert!(inner.take::<u8>("d").unwrap_err().to_json().windows(6).any(|bytes| bytes == b"\"/c/d\""));
        assert!(inner.finish().is_ok());
    }

    #[test]
    fn members_of_members_are_known_or_refused_at_their_place() {
        #[derive(serde::Deserialize, Serialize)]
        struct TestScope {
            #[serde(default, skip_serializing_if = "Option::is_none")]
            tool: Option<String>,
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            inner: Vec<TestScope>,
        }
        let scope =
            |body: &str| ObjectMembers::of_body(body.as_bytes()).unwrap().require_known::<TestScope>("scope");
        assert_eq!(scope(r#"{"scope":{"tool":"t","inner":[{"tool":null}]}}"#).unwrap().inner.len(), 1);
        for (body, pointer) in [
            (r#"{"scope":{"tol":"t"}}"#, "/scope/tol"),
            (r#"{"scope":{"inner":[{},{"a/b":1}]}}"#, "/scope/inner/1/a~1b"),
            (r#"{"scope":1}"#, "/scope"),
            ("{}", "/scope"),
        ] {
            let problem = scope(body).err().unwrap().to_json();
            let problem: Value = serde_json::from_slice(&problem).unwrap();
            assert_eq!(problem["errors"][0]["pointer"], pointer, "{body}");
        }
        assert!(read_known::<TestScope>(br#"{"tool":"t"}"#, "scope").is_ok());
        for body in [&br#"{"tools":"t"}"#[..], b"[]", b"\xff", b""] {
            assert_eq!(
                read_known::<TestScope>(body, "scope").err().map(|problem| problem.code()),
                Some(Code::BadBody)
            );
        }
    }

    #[test]
    fn what_is_no_object_repeated_unknown_or_missing_is_refused() {
        let many = format!("{{{}}}", (0..65).map(|n| format!("\"{n}\":1")).collect::<Vec<_>>().join(","));
        for body in ["", "[]", "1", "{", r#"{"a":1,"a":1}"#, r#"{"a":1} x"#, "{\"a\":\"\u{0}\"}", &many] {
            let code = ObjectMembers::of_body(body.as_bytes()).map(|_| ()).map_err(|problem| problem.code());
            assert_eq!(code, Err(Code::BadBody), "{body}");
        }
        let members = || ObjectMembers::of_body(br#"{"a/b":1}"#).unwrap();
        assert!(members().finish().unwrap_err().detail().contains("a/b"));
        assert!(members().require::<u8>("a").unwrap_err().detail().contains("missing"));
    }
}
