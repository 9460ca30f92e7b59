//! Optional members of event data: a value that is not of the expected kind counts as absent.
//!
//! An event may have members that its type does not know, and those may be anything. A fold that could not read one of them would stop
//! at an event that the ledger has taken.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// For `deserialize_with`: the member, where it is what is looked for.
pub(crate) fn lenient<'de, D: Deserializer<'de>, T: LenientValue<'de>>(
    member: D,
) -> Result<Option<T>, D::Error> {
    member.deserialize_any(Fit(PhantomData))
}

/// The same of a count, which is 0 where none is told.
pub(crate) fn count_or_zero<'de, D: Deserializer<'de>>(member: D) -> Result<u64, D::Error> {
    Ok(lenient(member)?.unwrap_or_default())
}

/// A value that may be looked for.
pub(crate) trait LenientValue<'de>: Sized {
    fn of_text(_: Cow<'de, str>) -> Option<Self> {
        None
    }

    fn of_count(_: u64) -> Option<Self> {
        None
    }

    fn of_negative(_: i64) -> Option<Self> {
        None
    }

    fn of_list<A: SeqAccess<'de>>(mut elements: A) -> Result<Option<Self>, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn of_object<A: MapAccess<'de>>(mut members: A) -> Result<Option<Self>, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

impl<'de> LenientValue<'de> for Cow<'de, str> {
    fn of_text(text: Cow<'de, str>) -> Option<Self> {
        Some(text)
    }
}

impl LenientValue<'_> for String {
    fn of_text(text: Cow<'_, str>) -> Option<Self> {
        Some(text.into_owned())
    }
}

impl LenientValue<'_> for u64 {
    fn of_count(count: u64) -> Option<Self> {
        Some(count)
    }
}

impl LenientValue<'_> for i64 {
    fn of_count(count: u64) -> Option<Self> {
        count.try_into().ok()
    }

    fn of_negative(number: i64) -> Option<Self> {
        Some(number)
    }
}

struct Fit<T>(PhantomData<T>);

impl<'de, T: LenientValue<'de>> Visitor<'de> for Fit<T> {
    type Value = Option<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("anything")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Option<T>, E> {
        Ok(T::of_text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<T>, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Option<T>, E> {
        Ok(T::of_text(Cow::Owned(text)))
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<Option<T>, E> {
        Ok(T::of_count(count))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Option<T>, E> {
        Ok(T::of_negative(number))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<Option<T>, A::Error> {
        T::of_list(elements)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Option<T>, A::Error> {
        T::of_object(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Read<'a> {
        #[serde(borrow, default, deserialize_with = "lenient")]
        text: Option<Cow<'a, str>>,
        #[serde(default, deserialize_with = "lenient")]
        number: Option<i64>,
        #[serde(default, deserialize_with = "count_or_zero")]
        count: u64,
    }

    #[test]
    fn what_fits_is_read_and_all_else_passed_over() {
        for (value, text, number, count) in [
            (r#""a""#, Some("a"), None, 0),
            (r#""a\n""#, Some("a\n"), None, 0),
            ("7", None, Some(7), 7),
            ("-7", None, Some(-7), 0),
            ("18446744073709551615", None, None, u64::MAX),
            ("1.5", None, None, 0),
            ("null", None, None, 0),
            ("true", None, None, 0),
            (r#"[1,["a"]]"#, None, None, 0),
            (r#"{"a":{"b":1}}"#, None, None, 0),
        ] {
            let data = format!(r#"{{"text":{value},"number":{value},"count":{value},"other":1}}"#);
            let read: Read<'_> = serde_json::from_str(&data).unwrap();
            assert_eq!((read.text.as_deref(), read.number, read.count), (text, number, count), "{value}");
        }
        assert!(serde_json::from_str::<Read<'_>>("{}").unwrap().text.is_none());
    }
}
