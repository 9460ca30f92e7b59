//! Dimensions: in words, in addresses, in hidden fields of forms.

use bitacora_api::DimensionAnswer;
use maud::{Markup, html};

use super::text::code_name;
use crate::form::{FormFields, query};
use crate::page_error::PageError;
use crate::visit::Visit;

/// The parts of a dimension, as queries and forms name them.
pub(crate) const DIMENSION_PARTS: [&str; 5] = ["tool", "context", "model", "task_type", "workspace"];
/// A part that is not known.
const UNKNOWN: &str = "-";
/// The mark for every value of a part.
const EVERY: &str = "*";

/// Returns the parts of a dimension with their names.
pub(crate) fn dimension_parts(of: &DimensionAnswer) -> impl Iterator<Item = (&str, &str)> {
    let DimensionAnswer { tool, context, model, task_type, workspace } = of;
    let all = [Some(tool), Some(context), Some(model), Some(task_type), workspace.as_ref()];
    DIMENSION_PARTS.into_iter().zip(all).filter_map(|(name, value)| Some((name, value?.as_str())))
}

/// Returns the query that names a dimension.
pub(crate) fn dimension_query(of: &DimensionAnswer) -> String {
    query(dimension_parts(of))
}

/// Returns the address of its page.
pub(crate) fn dimension_address(visit: &Visit, of: &DimensionAnswer) -> String {
    visit.page(&["trust", "record"]) + &dimension_query(of)
}

/// Returns the dimension of a query or a form.
pub(crate) fn dimension_of(fields: &FormFields) -> Result<DimensionAnswer, PageError> {
    let part = |name| fields.exact(name).unwrap_or(UNKNOWN).to_owned();
    let tool =
        fields.exact("tool").ok_or_else(|| PageError::Field("the address names no tool".to_owned()))?;
    if DIMENSION_PARTS.iter().any(|part| fields.exact(part) == Some(EVERY)) {
        return Err(PageError::Field("`*` stands for many dimensions; name one".to_owned()));
    }
    Ok(DimensionAnswer {
        tool: tool.to_owned(),
        context: part("context"),
        model: part("model"),
        task_type: part("task_type"),
        workspace: fields.exact("workspace").map(str::to_owned),
    })
}

/// Returns a context in a box with the word before it; nothing where it is not known.
pub(crate) fn on_context(context: &str) -> Markup {
    html! { @if context != UNKNOWN { " on " (code_name(context)) } }
}

/// Returns the hidden fields that name a dimension.
pub(crate) fn dimension_fields(of: &DimensionAnswer) -> Markup {
    html! { @for (name, value) in dimension_parts(of) { input type="hidden" name=(name) value=(value); } }
}

/// Returns a dimension in one line: the parts that are known.
pub(crate) fn dimension_words(of: &DimensionAnswer) -> String {
    let known = |part: &str| (part != UNKNOWN).then(|| part.to_owned());
    let mut words = of.tool.clone();
    for (joint, part) in [(" · ", &of.context), (" · ", &of.model), (" · ", &of.task_type)] {
        if let Some(part) = known(part) {
            words.push_str(joint);
            words.push_str(&part);
        }
    }
    if let Some(workspace) = of.workspace.as_deref().and_then(known) {
        words.push_str(" in ");
        words.push_str(&workspace);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_that_is_not_known_is_left_out() {
        assert_eq!(on_context("-").into_string(), "");
        assert!(on_context("src").into_string().starts_with(" on <bdi>"));
    }

    #[test]
    fn a_dimension_goes_through_an_address_and_back() {
        let fields = FormFields::parse(b"tool=Bash&context=git+push+--force&model=&workspace=%2Fhome%2Fana");
        let found = dimension_of(&fields).unwrap();
        assert_eq!(dimension_words(&found), "Bash · git push --force in /home/ana");
        let again = dimension_query(&found);
        assert_eq!(again, "?tool=Bash&context=git+push+--force&model=-&task_type=-&workspace=%2Fhome%2Fana");
        assert_eq!(
            dimension_query(&dimension_of(&FormFields::parse(&again.as_bytes()[1..])).unwrap()),
            again
        );
        let read = FormFields::parse(b"tool=+Read&context=a+");
        assert_eq!(
            dimension_query(&dimension_of(&read).unwrap()),
            "?tool=+Read&context=a+&model=-&task_type=-"
        );
        assert!(dimension_of(&FormFields::default()).is_err());
        assert!(dimension_of(&FormFields::parse(b"tool=Bash&context=*")).is_err());
    }
}
