//! Attributes, read by their meaning. Those that were read are not written again.

use std::borrow::Cow;

use crate::value::{AnyValue, Attribute};

/// Bytes of a name in the data of an event.
pub(super) const MAX_NAME_BYTES: usize = 256;

/// The attributes of a record.
pub(super) struct AttributeReader<'r, 'a> {
    attributes: &'r [Attribute<'a>],
    /// The indexes of those that were read.
    taken: Vec<usize>,
}

impl<'r, 'a> AttributeReader<'r, 'a> {
    pub(super) fn new(attributes: &'r [Attribute<'a>]) -> Self {
        Self { attributes, taken: Vec::new() }
    }

    /// Returns the text of an attribute, which stays.
    pub(super) fn peek(&self, names: &[&str]) -> Option<&'r str> {
        self.find(names, |value| value.as_text().filter(|text| !text.is_empty())).map(|(_, text)| text)
    }

    /// Returns `true` if an attribute has a name that begins so.
    pub(super) fn any_begins(&self, prefix: &str) -> bool {
        self.attributes.iter().any(|attribute| attribute.key.starts_with(prefix))
    }

    /// Takes a name of up to so many bytes.
    pub(super) fn text(&mut self, names: &[&str], max: usize) -> Option<&'r str> {
        self.take(names, |value| value.as_text().filter(|text| is_name(text, max)))
    }

    /// Takes a count of at most this.
    pub(super) fn count(&mut self, names: &[&str], max: u64) -> Option<u64> {
        self.take(names, |value| value.as_count().filter(|count| *count <= max))
    }

    /// Returns an amount, whose attribute stays: an integer may not hold all its digits.
    pub(super) fn amount(&self, names: &[&str]) -> Option<f64> {
        self.find(names, AnyValue::as_amount).map(|(_, amount)| amount)
    }

    /// Takes a truth value.
    pub(super) fn flag(&mut self, names: &[&str]) -> Option<bool> {
        self.take(names, AnyValue::as_bool)
    }

    /// Returns the attributes that were not taken.
    pub(super) fn rest(&self) -> impl Iterator<Item = &'r Attribute<'a>> {
        let attributes = self.attributes.iter().enumerate();
        attributes.filter(|(index, _)| !self.taken.contains(index)).map(|(_, attribute)| attribute)
    }

    /// Returns `true` if every attribute was taken.
    pub(super) fn is_empty(&self) -> bool {
        self.taken.len() == self.attributes.len()
    }

    fn take<T>(&mut self, names: &[&str], read: impl Fn(&'r AnyValue<'a>) -> Option<T>) -> Option<T> {
        let (index, value) = self.find(names, read)?;
        self.taken.push(index);
        Some(value)
    }

    fn find<T>(&self, names: &[&str], read: impl Fn(&'r AnyValue<'a>) -> Option<T>) -> Option<(usize, T)> {
        names.iter().find_map(|name| {
            let (index, attribute) =
                self.attributes.iter().enumerate().find(|(_, attribute)| attribute.key == *name)?;
            let value = (!self.taken.contains(&index)).then(|| read(&attribute.value))??;
            Some((index, value))
        })
    }
}

/// Returns `true` if a text can be a name in an event's data.
pub(super) fn is_name(text: &str, max: usize) -> bool {
    let is_bad = |c: char| c.is_control() && c != '\t' && c != '\n';
    !text.is_empty() && text.len() <= max && !text.contains(is_bad)
}

/// Returns a text as a name, cut to so many bytes, without control characters.
pub(super) fn as_name(text: &str, max: usize) -> Option<Cow<'_, str>> {
    if is_name(text, max) {
        return Some(Cow::Borrowed(text));
    }
    let short = text.get(..text.floor_char_boundary(max)).unwrap_or_default();
    let short: String = short.chars().filter(|c| !c.is_control()).collect();
    (!short.is_empty()).then_some(Cow::Owned(short))
}
