//! Lines of JSON as a table: a column for each member, those of objects within objects by their path.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::ParquetError;

/// Columns of as many rows as there are lines.
pub(crate) struct ColumnTable {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Column>,
}

/// The values of one member.
pub(crate) struct Column {
    /// Names of members, joined by points.
    pub(crate) name: String,
    /// `true` for each row that has a value.
    pub(crate) present: Vec<bool>,
    /// The values of the rows that have one.
    pub(crate) values: Values,
}

/// Values of the narrowest type that holds all of a column; arrays, and what is of several types, are text.
pub(crate) enum Values {
    Integers(Vec<i64>),
    Fractions(Vec<f64>),
    Booleans(Vec<bool>),
    Texts(Vec<String>),
}

impl ColumnTable {
    /// Reads an object a line.
    pub(crate) fn read(text: &[u8]) -> Result<Self, ParquetError> {
        let mut cells: Vec<(String, Vec<Option<Value>>)> = Vec::new();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut rows = 0;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let object: Map<String, Value> = serde_json::from_slice(line)?;
            each_member(object, "", &mut |name, value| {
                let number = *numbers.entry(name.clone()).or_insert_with(|| {
                    cells.push((name, Vec::new()));
                    cells.len() - 1
                });
                cells[number].1.resize(rows, None);
                cells[number].1.push(Some(value));
            });
            rows += 1;
        }
        let column = |(name, mut cells): (String, Vec<Option<Value>>)| {
            cells.resize(rows, None);
            let present = cells.iter().map(Option::is_some).collect();
            Column { name, present, values: Values::of(cells.into_iter().flatten().collect()) }
        };
        Ok(Self { rows, columns: cells.into_iter().map(column).collect() })
    }
}

/// Shows every member that is no object and not `null`.
fn each_member(object: Map<String, Value>, within: &str, show: &mut impl FnMut(String, Value)) {
    for (name, value) in object {
        let path = if within.is_empty() { name } else { format!("{within}.{name}") };
        match value {
            Value::Null => {}
            Value::Object(object) => each_member(object, &path, show),
            value => show(path, value),
        }
    }
}

impl Values {
    fn of(cells: Vec<Value>) -> Self {
        if let Some(numbers) = cells.iter().map(Value::as_i64).collect() {
            return Self::Integers(numbers);
        }
        if let Some(numbers) = cells.iter().map(Value::as_f64).collect() {
            return Self::Fractions(numbers);
        }
        if let Some(values) = cells.iter().map(Value::as_bool).collect() {
            return Self::Booleans(values);
        }
        let text = |cell| match cell {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Self::Texts(cells.into_iter().map(text).collect())
    }
}
