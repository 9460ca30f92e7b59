//! Fields of queries and forms.

use std::borrow::Cow;

use crate::limits::MAX_FORM_FIELDS;
use crate::page_error::PageError;

/// The fields of a query or a form, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct FormFields(Vec<(String, String)>);

impl FormFields {
    /// Reads `application/x-www-form-urlencoded`, of at most [`MAX_FORM_FIELDS`].
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, PageError> {
        let owned = |text: Cow<'_, str>| text.into_owned();
        let fields = form_urlencoded::parse(bytes).map(|(name, value)| (owned(name), owned(value)));
        let fields: Vec<_> = fields.take(MAX_FORM_FIELDS + 1).collect();
        if fields.len() > MAX_FORM_FIELDS {
            return Err(PageError::TooManyFields);
        }
        Ok(Self(fields))
    }

    /// The same, where the fields are a test's own.
    #[cfg(test)]
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        Self::read(bytes).unwrap()
    }

    /// Returns a field without the blanks around it, unless it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.raw(name).map(str::trim).filter(|value| !value.is_empty())
    }

    /// Returns a field as it was sent, unless it is empty: of a name, blanks around it are a part.
    pub(crate) fn exact(&self, name: &str) -> Option<&str> {
        self.raw(name).filter(|value| !value.is_empty())
    }

    /// Returns a field as it was sent.
    pub(crate) fn raw(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Returns these fields, in this order, as a query with its `?`; nothing where none is there.
    pub(crate) fn query_of(&self, names: &[&str]) -> String {
        let found = names.iter().filter_map(|name| Some((*name, self.exact(name)?)));
        query(found)
    }

    /// Returns the names of all fields, also of those that say nothing.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns all fields that say something, but for some.
    pub(crate) fn without<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
        let kept = self.0.iter().filter(|(name, value)| !value.is_empty() && !names.contains(&name.as_str()));
        kept.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns all fields but this one, with another value in its place.
    pub(crate) fn with(&self, name: &str, value: Option<&str>) -> String {
        let others = self.0.iter().filter(|(found, value)| found != name && !value.is_empty());
        let others = others.map(|(name, value)| (name.as_str(), value.as_str()));
        query(others.chain(value.map(|value| (name, value))))
    }
}

/// Returns fields as a query with its `?`; nothing where there are none.
pub(crate) fn query<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(fields);
    let text = text.finish();
    if text.is_empty() { text } else { format!("?{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_written() {
        let fields = FormFields::parse(b"agent=coder%2F1&tool=+&tool=x&after=&q=a+b%26c");
        assert_eq!(fields.get("agent"), Some("coder/1"));
        assert_eq!(fields.get("tool"), None);
        assert_eq!([fields.raw("tool"), fields.exact("tool")], [Some(" "); 2]);
        assert_eq!([fields.exact("after"), fields.exact("none")], [None; 2]);
        assert_eq!(fields.query_of(&["tool", "after"]), "?tool=+");
        assert_eq!(fields.query_of(&["q", "agent", "none"]), "?q=a+b%26c&agent=coder%2F1");
        assert_eq!(fields.with("agent", None), "?tool=+&tool=x&q=a+b%26c");
        assert_eq!(FormFields::default().with("after", Some("x y")), "?after=x+y");
        assert_eq!(FormFields::default().with("after", None), "");
    }

    #[test]
    fn more_fields_than_any_page_has_are_refused() {
        assert!(FormFields::read("a&".repeat(MAX_FORM_FIELDS).as_bytes()).is_ok());
        assert!(FormFields::read("a&".repeat(MAX_FORM_FIELDS + 1).as_bytes()).is_err());
    }
}
