//! A reader that takes data only as its schema has it, and locates the value that does not fit.
//!
//! The deserializer alone would take more: an array in the place of an object, an object in the place of a word. On
//! request this reader also refuses members that the data's type does not know.

use super::members::{KeySeed, Names, UnknownMember};

use std::cell::RefCell;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer, StringDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

/// The way from the outermost value to the one being read.
#[derive(Clone, Copy)]
pub(super) enum ValuePath<'w> {
    Start,
    Member(&'w ValuePath<'w>, &'w str),
    Element(&'w ValuePath<'w>, usize),
}

/// Remembers where the first value stood that did not fit, as a JSON pointer.
#[derive(Default)]
pub(super) struct FaultPointer(RefCell<Option<String>>);

impl FaultPointer {
    pub(super) fn into_pointer(self) -> String {
        self.0.into_inner().unwrap_or_default()
    }
}

impl ValuePath<'_> {
    fn write(&self, pointer: &mut String) {
        match self {
            Self::Start => {}
            Self::Member(parent, name) => {
                parent.write(pointer);
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
            Self::Element(parent, index) => {
                parent.write(pointer);
                pointer.push('/');
                pointer.push_str(&index.to_string());
            }
        }
    }
}

/// The requests to a reader besides the value.
#[derive(Clone, Copy, Default)]
pub(super) struct ReadOptions<'w> {
    /// The place in which to note the value that does not fit. Without it no names are kept.
    pub(super) fault: Option<&'w FaultPointer>,
    /// The place in which to note the first unknown member, which ends the reading. Without it such members are passed over.
    pub(super) unknown: Option<&'w UnknownMember>,
}

/// A reader, or a part of one, with the way to where it stands.
#[derive(Clone, Copy)]
pub(super) struct StrictReader<'w, T> {
    inner: T,
    path: &'w ValuePath<'w>,
    options: ReadOptions<'w>,
    /// The members of the object that is read next, where it is one that has its own.
    known: Option<&'static [&'static str]>,
}

impl<'w, T> StrictReader<'w, T> {
    pub(super) fn new(inner: T, options: ReadOptions<'w>) -> Self {
        Self { inner, path: &ValuePath::Start, options, known: None }
    }

    fn with<U>(&self, inner: U) -> StrictReader<'w, U> {
        StrictReader { inner, path: self.path, options: self.options, known: None }
    }

    fn object<U>(&self, inner: U, known: &'static [&'static str]) -> StrictReader<'w, U> {
        StrictReader { known: self.options.unknown.map(|_| known), ..self.with(inner) }
    }

    fn fault(&self) -> Option<&'w FaultPointer> {
        self.options.fault
    }
}

/// The innermost value is told first; those around it fail for its sake.
fn noted<V, E>(path: &ValuePath<'_>, fault: Option<&FaultPointer>, read: Result<V, E>) -> Result<V, E> {
    if let (Err(_), Some(fault)) = (&read, fault) {
        fault.0.borrow_mut().get_or_insert_with(|| {
            let mut pointer = String::new();
            path.write(&mut pointer);
            pointer
        });
    }
    read
}

macro_rules! read_as {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            let visitor = self.with(visitor);
            noted(self.path, self.fault(), self.inner.$method(visitor))
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for StrictReader<'_, D> {
    type Error = D::Error;

    read_as! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string deserialize_bytes
        deserialize_byte_buf deserialize_option deserialize_unit deserialize_seq deserialize_map
        deserialize_identifier
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_ignored_any(visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserialize_unit(visitor)
    }

    /// Passes on the name, by which the deserializer recognises a request for JSON as it stands.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        noted(self.path, self.fault(), self.inner.deserialize_newtype_struct(name, visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, D::Error> {
        let (path, fault) = (self.path, self.fault());
        let visitor = self.with(visitor);
        noted(path, fault, self.inner.deserialize_tuple(len, visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserialize_tuple(len, visitor)
    }

    /// Only an object is one.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.object(ObjectVisitor(visitor), known);
        noted(self.path, self.fault(), self.inner.deserialize_map(visitor))
    }

    /// Takes a word, or an object of one member for a variant that carries a value.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let (path, fault) = (self.path, self.fault());
        let visitor = EnumVisitor(self.with(visitor));
        noted(path, fault, self.inner.deserialize_any(visitor))
    }
}

/// Names the expected value in a reader's words, not by the name of a type of ours.
struct ObjectVisitor<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for ObjectVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(members)
    }
}

macro_rules! visit_plain {
    ($($method:ident($type:ty))*) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for StrictReader<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit_plain! {
        visit_bool(bool) visit_i64(i64) visit_i128(i128) visit_u64(u64) visit_u128(u128) visit_f64(f64)
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String) visit_bytes(&[u8])
        visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        let value = self.with(value);
        self.inner.visit_some(value)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        let value = self.with(value);
        self.inner.visit_newtype_struct(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        let elements = Elements { reader: self.with(elements), index: 0 };
        self.inner.visit_seq(elements)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        let members = StrictMembers { reader: self.with(members), known: self.known, name: String::new() };
        self.inner.visit_map(members)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for StrictReader<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<S::Value, D::Error> {
        let (path, fault) = (self.path, self.fault());
        let value = self.with(value);
        // Here too, for what is found wrong only once the value is read: a text too long, a number past its bound.
        noted(path, fault, self.inner.deserialize(value))
    }
}

struct Elements<'w, A> {
    reader: StrictReader<'w, A>,
    index: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let path = ValuePath::Element(self.reader.path, self.index);
        self.index += 1;
        let seed = StrictReader { path: &path, ..self.reader.with(seed) };
        self.reader.inner.next_element_seed(seed)
    }
}

struct StrictMembers<'w, A> {
    reader: StrictReader<'w, A>,
    known: Option<&'static [&'static str]>,
    /// Of the member whose value comes next; empty where no place is noted.
    name: String,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for StrictMembers<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let names =
            self.known.zip(self.reader.options.unknown).map(|(known, unknown)| Names { known, unknown });
        let fault = self.reader.fault();
        if fault.is_none() {
            return match names {
                None => self.reader.inner.next_key_seed(seed),
                Some(names) => self.reader.inner.next_key_seed(KeySeed { seed, names }),
            };
        }
        let Some(name) = self.reader.inner.next_key::<String>()? else { return Ok(None) };
        self.name.clone_from(&name);
        let path = ValuePath::Member(self.reader.path, &self.name);
        let known = names.map_or(Ok(()), |names| names.check(&self.name));
        let key = known.and_then(|()| seed.deserialize(StringDeserializer::new(name)));
        noted(&path, fault, key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let path = ValuePath::Member(self.reader.path, &self.name);
        let seed = StrictReader { path: &path, ..self.reader.with(seed) };
        self.reader.inner.next_value_seed(seed)
    }
}

/// Takes a word, or an object of one member.
struct EnumVisitor<T>(T);

impl<'de, V: Visitor<'de>> Visitor<'de> for EnumVisitor<StrictReader<'_, V>> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one of its words")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<V::Value, E> {
        self.0.inner.visit_enum(StrDeserializer::new(word))
    }

    fn visit_borrowed_str<E: Error>(self, word: &'de str) -> Result<V::Value, E> {
        self.0.inner.visit_enum(BorrowedStrDeserializer::new(word))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        let member = self.0.with(members);
        self.0.inner.visit_enum(member)
    }
}

impl<'de, 'w, A: MapAccess<'de>> EnumAccess<'de> for StrictReader<'w, A> {
    type Error = A::Error;
    type Variant = OnlyMember<'w, A>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        mut self,
        seed: S,
    ) -> Result<(S::Value, OnlyMember<'w, A>), A::Error> {
        let Some(name) = self.inner.next_key::<String>()? else {
            return Err(A::Error::invalid_length(0, &"an object of one member"));
        };
        let variant = seed.deserialize(StrDeserializer::new(&name))?;
        Ok((variant, OnlyMember { member: self, name }))
    }
}

/// The value of an object's only member.
pub(super) struct OnlyMember<'w, A> {
    member: StrictReader<'w, A>,
    name: String,
}

impl<'de, A: MapAccess<'de>> OnlyMember<'_, A> {
    fn read<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<S::Value, A::Error> {
        let path = ValuePath::Member(self.member.path, &self.name);
        let seed = StrictReader { path: &path, ..self.member.with(seed) };
        let value = self.member.inner.next_value_seed(seed)?;
        match self.member.inner.next_key::<IgnoredAny>()? {
            None => Ok(value),
            Some(_) => Err(A::Error::invalid_length(2, &"an object of one member")),
        }
    }
}

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for OnlyMember<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        Err(A::Error::invalid_type(Unexpected::Map, &"a word"))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.read(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.read(ListSeed(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.read(ObjectSeed(visitor))
    }
}

struct ListSeed<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for ListSeed<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        value.deserialize_seq(self.0)
    }
}

struct ObjectSeed<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for ObjectSeed<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        value.deserialize_map(ObjectVisitor(self.0))
    }
}
