//! Forms of records with the same columns; a row names its form, which holds all they share.

use foldhash::HashMap;

use super::ColumnsError;
use super::limits::{MAX_COLUMNS, MAX_FORMS, MAX_SHAPES};
use super::node::column;
use super::record_layout::OPTIONAL_ATTRIBUTES;
use super::shape::holes;
use super::varint::{Input, put, put_bytes};
use bitacora_formats::limits::{MAX_EXTENSIONS, MAX_TAGS};

/// The form of records that are kept whole, before all others.
pub(super) const WHOLE: usize = 0;

const DATA_NONE: u8 = 0;
const DATA_JSON: u8 = 1;
const DATA_BINARY: u8 = 2;
const DATA_SEALED: u8 = 3;
const DATA_SHAPED: u8 = 4;
const DATA_EXPIRED: u8 = 5;

const EXTENSION_TEXT: u8 = 0;
const EXTENSION_INTEGER: u8 = 1;
const EXTENSION_FALSE: u8 = 2;
const EXTENSION_TRUE: u8 = 3;

/// The values that all records of one form share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Form {
    /// The type of the event.
    pub(super) kind: Vec<u8>,
    /// A bit for each optional attribute that there is, from the lowest on.
    pub(super) optional: u16,
    pub(super) tags: usize,
    /// Names of extensions and where their values are.
    pub(super) extensions: Vec<(Vec<u8>, ExtensionForm)>,
    pub(super) data: DataForm,
}

/// The value of an extension: in a column, or in the form itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ExtensionForm {
    Text(usize),
    Integer(usize),
    Boolean(bool),
}

/// The data of a form's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum DataForm {
    None,
    Json,
    Binary,
    Sealed,
    Expired,
    /// JSON of the shape with this number.
    Shaped(usize),
}

/// A shape of JSON, and the column of each of its holes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonShape {
    pub(super) text: Vec<u8>,
    pub(super) columns: Vec<usize>,
}

/// All forms of a group but [`WHOLE`], and the shapes of JSON in them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Forms {
    pub(super) forms: Vec<Form>,
    pub(super) shapes: Vec<JsonShape>,
}

impl Forms {
    /// The form with this number; none for [`WHOLE`].
    pub(super) fn form(&self, number: usize) -> Option<&Form> {
        self.forms.get(number.checked_sub(1)?)
    }

    /// The columns that a record of the form takes its values from, one for each value, in the record's order.
    pub(super) fn columns_of(&self, number: usize) -> Vec<usize> {
        let Some(form) = self.form(number) else { return vec![column::WHOLE_RECORD] };
        let mut columns = vec![column::ID, column::SOURCE, column::STREAM];
        columns.extend(form.optional_columns());
        columns.extend(std::iter::repeat_n(column::TAGS, form.tags));
        columns.extend(form.extensions.iter().filter_map(|(_, value)| value.column()));
        match form.data {
            DataForm::None => {}
            DataForm::Json => columns.push(column::WHOLE_JSON),
            DataForm::Binary => columns.push(column::BINARY),
            DataForm::Sealed | DataForm::Expired => columns.extend([column::SUBSTITUTE, column::DIGEST]),
            DataForm::Shaped(shape) => {
                columns.extend(self.shapes.get(shape).into_iter().flat_map(|shape| &shape.columns));
            }
        }
        columns.push(column::REDACTIONS);
        columns
    }

    /// The number of each form's type among the types, in the order in which forms have them; records that are kept whole
    /// have a type of their own, the first.
    pub(super) fn kinds(&self) -> (Vec<u16>, usize) {
        let mut numbers = HashMap::default();
        let mut kinds = vec![0];
        for form in &self.forms {
            let next = u16::try_from(numbers.len() + 1).unwrap_or(u16::MAX);
            kinds.push(*numbers.entry(form.kind.as_slice()).or_insert(next));
        }
        let count = numbers.len() + 1;
        (kinds, count)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put(self.shapes.len() as u64, out);
        for shape in &self.shapes {
            put_bytes(&shape.text, out);
            shape.columns.iter().for_each(|column| put(*column as u64, out));
        }
        put(self.forms.len() as u64, out);
        self.forms.iter().for_each(|form| form.write(out));
    }

    pub(super) fn read(input: &mut Input<'_>) -> Result<Self, ColumnsError> {
        let mut forms = Self::default();
        for _ in 0..input.count(MAX_SHAPES, "shapes")? {
            let text = input.bytes()?.to_vec();
            let holes = holes(&text);
            // Forms are joined with the columns of their shapes before rows are counted.
            if holes > MAX_COLUMNS {
                return Err(ColumnsError::Malformed { what: "a shape's holes" });
            }
            let columns = (0..holes).map(|_| read_column(input)).collect::<Result<_, _>>()?;
            forms.shapes.push(JsonShape { text, columns });
        }
        for _ in 0..input.count(MAX_FORMS, "forms")? {
            let form = Form::read(input, forms.shapes.len())?;
            forms.forms.push(form);
        }
        Ok(forms)
    }
}

impl Form {
    /// The columns of the optional attributes that there are.
    pub(super) fn optional_columns(&self) -> impl Iterator<Item = usize> + '_ {
        (0..OPTIONAL_ATTRIBUTES)
            .filter(|bit| self.optional >> bit & 1 == 1)
            .map(|bit| column::FIRST_OPTIONAL + bit)
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_bytes(&self.kind, out);
        put(u64::from(self.optional), out);
        put(self.tags as u64, out);
        put(self.extensions.len() as u64, out);
        for (name, value) in &self.extensions {
            put_bytes(name, out);
            out.push(value.tag());
            if let Some(column) = value.column() {
                put(column as u64, out);
            }
        }
        out.push(self.data.tag());
        if let DataForm::Shaped(shape) = self.data {
            put(shape as u64, out);
        }
    }

    fn read(input: &mut Input<'_>, shapes: usize) -> Result<Self, ColumnsError> {
        let kind = input.bytes()?.to_vec();
        let optional = u16::try_from(input.count((1 << OPTIONAL_ATTRIBUTES) - 1, "optional attributes")?)
            .unwrap_or_default();
        let tags = input.count(MAX_TAGS, "tags")?;
        let mut extensions = Vec::new();
        for _ in 0..input.count(MAX_EXTENSIONS, "extensions")? {
            let name = input.bytes()?.to_vec();
            let value = match input.byte()? {
                EXTENSION_TEXT => ExtensionForm::Text(read_column(input)?),
                EXTENSION_INTEGER => ExtensionForm::Integer(read_column(input)?),
                EXTENSION_FALSE => ExtensionForm::Boolean(false),
                EXTENSION_TRUE => ExtensionForm::Boolean(true),
                _ => return Err(ColumnsError::Malformed { what: "an extension's type" }),
            };
            extensions.push((name, value));
        }
        let data = match input.byte()? {
            DATA_NONE => DataForm::None,
            DATA_JSON => DataForm::Json,
            DATA_BINARY => DataForm::Binary,
            DATA_SEALED => DataForm::Sealed,
            DATA_EXPIRED => DataForm::Expired,
            DATA_SHAPED => {
                let shape = input.count(shapes, "a shape's number")?;
                if shape == shapes {
                    return Err(ColumnsError::Malformed { what: "a shape's number" });
                }
                DataForm::Shaped(shape)
            }
            _ => return Err(ColumnsError::Malformed { what: "a form's data" }),
        };
        Ok(Self { kind, optional, tags, extensions, data })
    }
}

impl DataForm {
    /// The tag of such data in a record.
    pub(super) fn record_tag(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Json | Self::Shaped(_) => 1,
            Self::Binary => 2,
            Self::Sealed => 3,
            Self::Expired => 4,
        }
    }

    pub(super) fn tag(self) -> u8 {
        match self {
            Self::None => DATA_NONE,
            Self::Json => DATA_JSON,
            Self::Binary => DATA_BINARY,
            Self::Sealed => DATA_SEALED,
            Self::Expired => DATA_EXPIRED,
            Self::Shaped(_) => DATA_SHAPED,
        }
    }
}

impl ExtensionForm {
    /// The tag of such a value in a record.
    pub(super) fn record_tag(self) -> u8 {
        match self {
            Self::Text(_) => 0,
            Self::Integer(_) => 1,
            Self::Boolean(_) => 2,
        }
    }

    pub(super) fn tag(self) -> u8 {
        match self {
            Self::Text(_) => EXTENSION_TEXT,
            Self::Integer(_) => EXTENSION_INTEGER,
            Self::Boolean(false) => EXTENSION_FALSE,
            Self::Boolean(true) => EXTENSION_TRUE,
        }
    }

    pub(super) fn column(self) -> Option<usize> {
        match self {
            Self::Text(column) | Self::Integer(column) => Some(column),
            Self::Boolean(_) => None,
        }
    }
}

/// The number of a column that is no fixed one.
fn read_column(input: &mut Input<'_>) -> Result<usize, ColumnsError> {
    let column = input.count(MAX_COLUMNS - 1, "a column's number")?;
    if column < column::FIRST_FREE {
        return Err(ColumnsError::Malformed { what: "a column's number" });
    }
    Ok(column)
}
