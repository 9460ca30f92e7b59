//! The elements of a list, one by one, and the measure of their nesting.

use std::fmt;
use std::ops::ControlFlow;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::not_json;
use crate::error::MalformedRequest;

/// The result of looking at an element.
type Looked = Result<ControlFlow<()>, MalformedRequest>;

/// Gives the elements of a list to `on_element` until it breaks or fails. `None` and `null` are empty lists.
pub(super) fn each(list: Option<&RawValue>, on_element: &mut dyn FnMut(&RawValue) -> Looked) -> Looked {
    let Some(list) = list else { return Ok(ControlFlow::Continue(())) };
    let mut walk = ElementWalk { on_element, ended: None };
    let walked = serde_json::Deserializer::from_str(list.get()).deserialize_seq(&mut walk);
    match (walk.ended, walked) {
        (Some(ended), _) => ended,
        (None, Ok(())) => Ok(ControlFlow::Continue(())),
        (None, Err(error)) => Err(not_json(&error)),
    }
}

struct ElementWalk<'f> {
    on_element: &'f mut dyn FnMut(&RawValue) -> Looked,
    /// The reason for which the walk ended before the list's end.
    ended: Option<Looked>,
}

impl<'de> Visitor<'de> for &mut ElementWalk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element::<&RawValue>()? {
            match (self.on_element)(element) {
                Ok(ControlFlow::Continue(())) => {}
                ended => {
                    self.ended = Some(ended);
                    return Err(A::Error::custom("ended"));
                }
            }
        }
        Ok(())
    }
}

/// The nesting of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NestingMeasure {
    /// Objects and arrays within one another, at most.
    pub(super) depth: usize,
    /// Objects.
    pub(super) objects: usize,
}

impl NestingMeasure {
    /// Measures a text by its brackets outside strings. Only of JSON does the measure mean anything.
    pub(super) fn of(text: &str) -> Self {
        let (mut depth, mut measure) = (0_usize, Self { depth: 0, objects: 0 });
        let (mut is_string, mut is_escaped) = (false, false);
        for byte in text.bytes() {
            if is_string {
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' => is_escaped = true,
                    b'"' => is_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => is_string = true,
                b'{' | b'[' => {
                    depth += 1;
                    measure.depth = measure.depth.max(depth);
                    measure.objects += usize::from(byte == b'{');
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        measure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_do_not_count() {
        let measure = |text| NestingMeasure::of(text);
        assert_eq!(measure(r#"{"a":[{"b":"}]]{{[\"{"}],"c":{}}"#), NestingMeasure { depth: 3, objects: 3 });
        assert_eq!(measure("]]1"), NestingMeasure { depth: 0, objects: 0 });
    }

    #[test]
    fn elements_are_given_until_one_breaks_or_fails() {
        let list: &RawValue = serde_json::from_str("[1, 2, 3]").unwrap();
        let walked = |until: &str| {
            let mut seen = Vec::new();
            let looked = each(Some(list), &mut |element| {
                seen.push(element.get().to_owned());
                match element.get() {
                    it if it == until => Ok(ControlFlow::Break(())),
                    "3" => Err(MalformedRequest::Truncated { at: 3 }),
                    _ => Ok(ControlFlow::Continue(())),
                }
            });
            (looked, seen.len())
        };
        assert_eq!(walked("2"), (Ok(ControlFlow::Break(())), 2));
        assert_eq!(walked("9"), (Err(MalformedRequest::Truncated { at: 3 }), 3));
        let object: &RawValue = serde_json::from_str("{}").unwrap();
        assert!(each(Some(object), &mut |_| Ok(ControlFlow::Continue(()))).is_err());
        assert!(each(None, &mut |_| Ok(ControlFlow::Break(()))).unwrap().is_continue());
    }
}
