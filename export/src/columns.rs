//! The columns of tables: one list for CSV and Parquet.

use std::borrow::Cow;

use bitacora_formats::{Micros, parse_time};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::call_facts::CallFacts;
use crate::stored_row::{StoredRow, TextField};

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Text,
    /// JSON as text.
    Json,
    Integer,
    Boolean,
    /// Microseconds since 1970, UTC.
    Time,
}

/// The value of one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowCell<'a> {
    Missing,
    Text(Cow<'a, str>),
    Integer(i64),
    Boolean(bool),
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExportColumn {
    Position,
    RecordedAt,
    Stream,
    StreamVersion,
    Field(TextField, &'static str),
    Tool,
    Verdict,
    Derived,
    Erased,
    Expired,
    Unreadable,
    Redactions,
    Commitment,
    Extensions,
    Data,
}

/// All columns, in their order.
pub(crate) const COLUMNS: [ExportColumn; 31] = [
    ExportColumn::Position,
    ExportColumn::RecordedAt,
    ExportColumn::Stream,
    ExportColumn::StreamVersion,
    ExportColumn::Field(TextField::Type, "type"),
    ExportColumn::Field(TextField::Id, "id"),
    ExportColumn::Field(TextField::Source, "source"),
    ExportColumn::Field(TextField::Time, "time"),
    ExportColumn::Field(TextField::Actor, "actor"),
    ExportColumn::Field(TextField::Agent, "agent"),
    ExportColumn::Field(TextField::Session, "session"),
    ExportColumn::Field(TextField::Run, "run"),
    ExportColumn::Field(TextField::Call, "call"),
    ExportColumn::Tool,
    ExportColumn::Verdict,
    ExportColumn::Field(TextField::CorrelationId, "correlationid"),
    ExportColumn::Field(TextField::CausationId, "causationid"),
    ExportColumn::Field(TextField::TraceParent, "traceparent"),
    ExportColumn::Field(TextField::DataSubject, "datasubject"),
    ExportColumn::Field(TextField::Tags, "tags"),
    ExportColumn::Field(TextField::DataContentType, "datacontenttype"),
    ExportColumn::Field(TextField::DataSchema, "dataschema"),
    ExportColumn::Derived,
    ExportColumn::Erased,
    ExportColumn::Expired,
    ExportColumn::Unreadable,
    ExportColumn::Redactions,
    ExportColumn::Commitment,
    ExportColumn::Extensions,
    ExportColumn::Data,
    ExportColumn::Field(TextField::DataBase64, "data_base64"),
];

impl ExportColumn {
    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Position => "position",
            Self::RecordedAt => "recorded_at",
            Self::Stream => "stream",
            Self::StreamVersion => "stream_version",
            Self::Field(_, name) => name,
            Self::Tool => "tool",
            Self::Verdict => "verdict",
            Self::Derived => "derived",
            Self::Erased => "erased",
            Self::Expired => "expired",
            Self::Unreadable => "unreadable",
            Self::Redactions => "redactions",
            Self::Commitment => "commitment",
            Self::Extensions => "extensions",
            Self::Data => "data",
        }
    }

    /// Returns the type of its values.
    pub(crate) fn of_type(self) -> ColumnType {
        match self {
            Self::Position | Self::StreamVersion | Self::Redactions => ColumnType::Integer,
            Self::RecordedAt => ColumnType::Time,
            Self::Derived | Self::Erased | Self::Expired | Self::Unreadable => ColumnType::Boolean,
            Self::Extensions | Self::Data => ColumnType::Json,
            Self::Stream | Self::Field(..) | Self::Tool | Self::Verdict | Self::Commitment => {
                ColumnType::Text
            }
        }
    }

    /// Returns its value in a row.
    pub(crate) fn cell<'r>(self, row: &'r StoredRow<'_>, facts: &'r CallFacts<'_>) -> RowCell<'r> {
        let text =
            |value: Option<&'r str>| value.map_or(RowCell::Missing, |value| RowCell::Text(value.into()));
        let integer = |text: &str| text.parse().map_or(RowCell::Missing, RowCell::Integer);
        match self {
            Self::Position => integer(&row.position),
            Self::StreamVersion => integer(&row.stream_version),
            Self::Redactions => RowCell::Integer(row.redactions.into()),
            Self::RecordedAt => {
                let time = parse_time(&row.recorded_at).ok();
                let micros = time.and_then(|Micros(micros)| i64::try_from(micros).ok());
                micros.map_or(RowCell::Missing, RowCell::Integer)
            }
            Self::Stream => text(row.event.text(TextField::Subject)),
            Self::Field(field, _) => text(row.event.text(field)),
            Self::Tool => facts.tool().map_or(RowCell::Missing, RowCell::Text),
            Self::Verdict => facts.verdict().map_or(RowCell::Missing, RowCell::Text),
            Self::Derived => RowCell::Boolean(row.derived),
            Self::Erased => RowCell::Boolean(row.erased),
            Self::Expired => RowCell::Boolean(row.is_expired()),
            Self::Unreadable => RowCell::Boolean(row.unreadable),
            Self::Commitment => RowCell::Text((&*row.commitment).into()),
            Self::Extensions => extensions(row),
            Self::Data => text(row.event.data.map(RawValue::get)),
        }
    }
}

/// Returns the attributes without a column, as one JSON object.
fn extensions<'r>(row: &'r StoredRow<'_>) -> RowCell<'r> {
    if row.event.extensions.is_empty() {
        return RowCell::Missing;
    }
    let mut json = String::from("{");
    for (name, value) in &row.event.extensions {
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&Value::from(&**name).to_string());
        json.push(':');
        json.push_str(value.get());
    }
    json.push('}');
    RowCell::Text(json.into())
}
