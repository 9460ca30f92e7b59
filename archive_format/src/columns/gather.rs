//! The records of a group taken apart into columns.

use foldhash::HashMap;

use super::ColumnRow;
use super::form::{DataForm, ExtensionForm, Form, Forms, JsonShape, WHOLE};
use super::limits::{MAX_COLUMNS, MAX_ENTRIES, MAX_FORMS, MAX_FORMS_BYTES, MAX_SHAPES};
use super::node::column;
use super::record_layout::{DataBytes, ExtensionBytes, RecordBytes};
use super::shape::{paths, take_apart};
use super::table::Domain;

/// Rows that a shape needs: with fewer, its description is larger than its savings.
const MIN_SHAPE_ROWS: u32 = 2;

/// A column before it is encoded.
#[derive(Default)]
pub(super) struct Values<'a> {
    pub(super) texts: Vec<&'a [u8]>,
    /// The entries as numbers, where the column holds numbers, or texts that mean some and were encoded so.
    pub(super) numbers: Vec<i64>,
    pub(super) domain: Domain,
}

/// A group taken apart.
pub(super) struct GroupColumns<'a> {
    pub(super) forms: Forms,
    pub(super) form_of_row: Vec<u16>,
    pub(super) columns: Vec<Values<'a>>,
}

/// A record's values among all.
struct RecordValues<'a> {
    /// The number of its form among those seen, `None` for a record that is kept whole.
    form: Option<usize>,
    first: usize,
    /// The index at which the values of its JSON begin.
    data: usize,
    json: &'a [u8],
    redactions: i64,
}

/// A form as it was first seen: shapes are numbered as they came, and extensions have no columns yet.
struct NumberedForm {
    form: Form,
    shape: Option<usize>,
}

#[derive(Default)]
struct FormSurvey<'a> {
    values: Vec<&'a [u8]>,
    taken: Vec<RecordValues<'a>>,
    seen: Vec<NumberedForm>,
    seen_numbers: HashMap<Vec<u8>, usize>,
    shapes: HashMap<Vec<u8>, usize>,
    shape_rows: Vec<u32>,
    key: Vec<u8>,
    shape: Vec<u8>,
}

impl<'a> FormSurvey<'a> {
    fn take(&mut self, record: &mut RecordBytes<'a>, bytes: &'a [u8]) {
        let first = self.values.len();
        let mut taken = RecordValues { form: None, first, data: first, json: &[], redactions: 0 };
        if record.read(bytes).is_some() && first + self.taken.len() + 512 < MAX_ENTRIES {
            taken.redactions = record.redactions;
            self.values.extend([record.id, record.source, record.stream]);
            self.values.extend(record.optional.iter().flatten());
            self.values.extend(&record.tags);
            self.values.extend(record.extensions.iter().filter_map(|(_, value)| value.bytes()));
            taken.data = self.values.len();
            let shape = self.take_data(record.data.unwrap_or(DataBytes::None), &mut taken.json);
            taken.form = self.number(record, shape);
        }
        if taken.form.is_none() {
            self.values.truncate(first);
            self.values.push(bytes);
        }
        self.taken.push(taken);
    }

    /// Takes the data's values, and returns the data's shape.
    fn take_data(&mut self, data: DataBytes<'a>, json: &mut &'a [u8]) -> Option<usize> {
        match data {
            DataBytes::None => {}
            DataBytes::Binary(bytes) => self.values.push(bytes),
            DataBytes::Sealed(key, seal) => self.values.extend([key, seal]),
            DataBytes::Expired(policy, commitment) => self.values.extend([policy, commitment]),
            DataBytes::Json(text) => {
                *json = text;
                let first = self.values.len();
                self.shape.clear();
                if take_apart(text, &mut self.shape, &mut self.values).is_some() {
                    if let Some(number) = self.shapes.get(&self.shape) {
                        if let Some(rows) = self.shape_rows.get_mut(*number) {
                            *rows += 1;
                        }
                        return Some(*number);
                    }
                    let number = self.shapes.len();
                    self.shapes.insert(self.shape.clone(), number);
                    self.shape_rows.push(1);
                    return Some(number);
                }
                self.values.truncate(first);
                self.values.push(text);
            }
        }
        None
    }

    /// The number of the record's form; `None` past the most there may be.
    fn number(&mut self, record: &RecordBytes<'a>, shape: Option<usize>) -> Option<usize> {
        let data = match record.data? {
            DataBytes::None => DataForm::None,
            DataBytes::Json(_) => DataForm::Json,
            DataBytes::Binary(_) => DataForm::Binary,
            DataBytes::Sealed(..) => DataForm::Sealed,
            DataBytes::Expired(..) => DataForm::Expired,
        };
        let bits = record.optional.iter().rev();
        let optional = bits.fold(0, |bits, attribute| bits << 1 | u16::from(attribute.is_some()));
        self.key.clear();
        let numbers = [record.kind.len(), record.tags.len(), shape.map_or(0, |shape| shape + 1)];
        numbers.iter().for_each(|number| self.key.extend_from_slice(&number.to_le_bytes()));
        self.key.extend_from_slice(&optional.to_le_bytes());
        self.key.push(data.tag());
        self.key.extend_from_slice(record.kind);
        for (name, value) in &record.extensions {
            self.key.push(value.form().tag());
            self.key.extend_from_slice(&name.len().to_le_bytes());
            self.key.extend_from_slice(name);
        }
        if let Some(number) = self.seen_numbers.get(&self.key) {
            return Some(*number);
        }
        if self.key.len() > MAX_FORMS_BYTES / 16 {
            return None;
        }
        let extensions =
            record.extensions.iter().map(|(name, value)| (name.to_vec(), value.form())).collect();
        let kind = record.kind.to_vec();
        let form = Form { kind, optional, tags: record.tags.len(), extensions, data };
        self.seen.push(NumberedForm { form, shape });
        self.seen_numbers.insert(self.key.clone(), self.seen.len() - 1);
        Some(self.seen.len() - 1)
    }
}

impl<'a> ExtensionBytes<'a> {
    fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Text(bytes) | Self::Integer(bytes) => Some(bytes),
            Self::Boolean(_) => None,
        }
    }

    fn form(&self) -> ExtensionForm {
        match self {
            Self::Text(_) => ExtensionForm::Text(0),
            Self::Integer(_) => ExtensionForm::Integer(0),
            Self::Boolean(value) => ExtensionForm::Boolean(*value),
        }
    }
}

/// The numbers of the columns that have no fixed number.
#[derive(Default)]
struct Columns(HashMap<Vec<u8>, usize>);

impl Columns {
    /// The column of this name; `None` past the most there may be.
    fn of(&mut self, name: &[u8]) -> Option<usize> {
        let next = column::FIRST_FREE + self.0.len();
        match self.0.get(name) {
            Some(column) => Some(*column),
            None if next < MAX_COLUMNS => {
                self.0.insert(name.to_vec(), next);
                Some(next)
            }
            None => None,
        }
    }
}

/// Takes the rows apart.
pub(super) fn gather<'a>(rows: &[ColumnRow<'a>]) -> GroupColumns<'a> {
    let mut survey = FormSurvey::default();
    let mut record = RecordBytes::default();
    rows.iter().for_each(|row| survey.take(&mut record, row.record));

    let mut columns = Columns::default();
    let mut forms = Forms::default();
    let kept = keep_shapes(&survey, &mut columns, &mut forms);
    let numbers = keep_forms(&survey, &kept, &mut columns, &mut forms);
    let of_form: Vec<Vec<usize>> = (0..=forms.forms.len()).map(|form| forms.columns_of(form)).collect();
    let mut gathered =
        GroupColumns { forms, form_of_row: Vec::with_capacity(rows.len()), columns: Vec::new() };
    gathered.columns.resize_with(column::FIRST_FREE + columns.0.len(), Values::default);
    let ends = survey.taken.iter().skip(1).map(|next| next.first).chain([survey.values.len()]);
    for (((row, at), taken), end) in (0_u16..=u16::MAX).zip(rows).zip(&survey.taken).zip(ends) {
        let form = taken.form.and_then(|form| numbers.get(form).copied()).unwrap_or(WHOLE);
        gathered.form_of_row.push(u16::try_from(form).unwrap_or_default());
        let is_whole_json = gathered.forms.form(form).is_some_and(|form| form.data == DataForm::Json);
        let values = match form {
            WHOLE => &[],
            _ if is_whole_json => survey.values.get(taken.first..taken.data).unwrap_or_default(),
            _ => survey.values.get(taken.first..end).unwrap_or_default(),
        };
        let rest = match form {
            WHOLE => Some(at.record),
            _ => is_whole_json.then_some(taken.json),
        };
        let targets = of_form.get(form).into_iter().flatten();
        for (target, value) in targets.zip(values.iter().copied().chain(rest)) {
            gathered.push(*target, row, value);
        }
        if form != WHOLE {
            gathered.push_number(column::REDACTIONS, row, taken.redactions);
        }
        gathered.push_row(row, at);
    }
    for column in &mut gathered.columns {
        let dense = column.domain.rows.len() == rows.len();
        column.domain.is_dense =
            dense && column.domain.rows.iter().copied().eq((0..=u16::MAX).take(rows.len()));
    }
    gathered
}

impl<'a> GroupColumns<'a> {
    /// The rows with every record kept whole.
    pub(super) fn whole(rows: &[ColumnRow<'a>]) -> Self {
        let forms = Forms::default();
        let mut gathered = Self { forms, form_of_row: vec![0; rows.len()], columns: Vec::new() };
        gathered.columns.resize_with(column::FIRST_FREE, Values::default);
        for (row, at) in (0..=u16::MAX).zip(rows) {
            gathered.push(column::WHOLE_RECORD, row, at.record);
            gathered.push_row(row, at);
        }
        gathered
    }

    fn push(&mut self, column: usize, row: u16, value: &'a [u8]) {
        if let Some(column) = self.columns.get_mut(column) {
            column.texts.push(value);
            column.domain.rows.push(row);
        }
    }

    fn push_number(&mut self, column: usize, row: u16, number: i64) {
        if let Some(column) = self.columns.get_mut(column) {
            column.numbers.push(number);
            column.domain.rows.push(row);
        }
    }

    /// Adds the values that a row has beside its record.
    fn push_row(&mut self, row: u16, at: &ColumnRow<'a>) {
        self.push_number(column::FRAME_TIME, row, at.time.0.cast_signed());
        self.push_number(column::BEGINS_FRAME, row, i64::from(at.begins_frame));
        self.push_number(column::BEGINS_REQUEST, row, i64::from(at.begins_request));
        self.push_number(column::DERIVED, row, i64::from(at.derived));
        self.push_number(column::STREAM_VERSION, row, at.stream_version.get().cast_signed());
        self.push_number(column::HAS_PART, row, i64::from(at.part.is_some()));
        if let Some(part) = at.part {
            self.push(column::PART, row, part);
        }
    }
}

/// Numbers the shapes that are worth it, the most frequent ones first.
fn keep_shapes(survey: &FormSurvey<'_>, columns: &mut Columns, forms: &mut Forms) -> Vec<Option<usize>> {
    let rows_of = |number: usize| survey.shape_rows.get(number).copied().unwrap_or_default();
    let mut by_rows: Vec<(&Vec<u8>, usize)> =
        survey.shapes.iter().map(|(shape, number)| (shape, *number)).collect();
    by_rows.sort_unstable_by_key(|(_, number)| (std::cmp::Reverse(rows_of(*number)), *number));
    let mut kept = vec![None; survey.shapes.len()];
    let mut bytes = 0;
    for (text, number) in by_rows {
        bytes += text.len();
        if rows_of(number) < MIN_SHAPE_ROWS || forms.shapes.len() == MAX_SHAPES || bytes > MAX_FORMS_BYTES {
            break;
        }
        let targets = paths(text).iter().map(|path| columns.of(path)).collect::<Option<_>>();
        let Some(targets) = targets else { break };
        if let Some(place) = kept.get_mut(number) {
            *place = Some(forms.shapes.len());
        }
        forms.shapes.push(JsonShape { text: text.clone(), columns: targets });
    }
    kept
}

/// Numbers the forms, and says which of them each that was seen is.
fn keep_forms(
    survey: &FormSurvey<'_>,
    shapes: &[Option<usize>],
    columns: &mut Columns,
    forms: &mut Forms,
) -> Vec<usize> {
    let mut known: HashMap<Form, usize> = HashMap::default();
    let mut bytes = 0;
    let mut keep = |seen: &NumberedForm| {
        let mut form = seen.form.clone();
        if let Some(shape) = seen.shape.and_then(|shape| shapes.get(shape).copied().flatten()) {
            form.data = DataForm::Shaped(shape);
        }
        for (name, value) in &mut form.extensions {
            let place = columns.of(&[&[value.tag(), 0xFF], name.as_slice()].concat());
            match value {
                ExtensionForm::Text(column) | ExtensionForm::Integer(column) => *column = place?,
                ExtensionForm::Boolean(_) => {}
            }
        }
        if let Some(number) = known.get(&form) {
            return Some(*number);
        }
        bytes += form.kind.len() + form.extensions.iter().map(|(name, _)| name.len() + 8).sum::<usize>() + 16;
        if forms.forms.len() == MAX_FORMS || bytes > MAX_FORMS_BYTES {
            return None;
        }
        forms.forms.push(form.clone());
        known.insert(form, forms.forms.len());
        Some(forms.forms.len())
    };
    survey.seen.iter().map(|seen| keep(seen).unwrap_or(WHOLE)).collect()
}
