//! Lists of a service, page after page.

use bitacora_server::answers::{
    AnnotationList, AnsweredList, AnswererList, ApprovalList, BreakerList, BudgetList, CallList,
    CheckpointList, ContractCheckList, ContractList, GapList, GrantList, ImportList, ModeAnswer,
    PolicyAnswer, RateList, RollbackList, RunList, RunStepList, StopsAnswer, SuggestionList, ToolList,
};
use serde::de::DeserializeOwned;

use crate::arguments::Global;
use crate::error::CommandError;
use crate::output::Output;
use crate::service::Service;
use bitacora_client::percent_encoded;

/// A page of a list.
pub(crate) trait Page: DeserializeOwned {
    /// Where the next one begins.
    fn next(&self) -> Option<&str>;
}

macro_rules! pages {
    ($($page:ty,)*) => {
        $(
            impl Page for $page {
                fn next(&self) -> Option<&str> {
                    self.next.as_deref()
                }
            }
        )*
    };
}

pages! {
    AnnotationList,
    AnsweredList,
    AnswererList,
    ApprovalList,
    BreakerList,
    BudgetList,
    CallList,
    CheckpointList,
    ContractCheckList,
    ContractList,
    GapList,
    GrantList,
    ImportList,
    ModeAnswer,
    PolicyAnswer,
    RateList,
    RollbackList,
    RunList,
    RunStepList,
    StopsAnswer,
    SuggestionList,
    ToolList,
}

/// Shows every page of a list to `each`: as it came, and as it is understood.
pub(crate) fn each_page<T: Page>(
    service: &mut Service,
    path: &str,
    mut each: impl FnMut(&str, T) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let joint = if path.contains('?') { '&' } else { '?' };
    let mut asked = path.to_owned();
    loop {
        let answer = service.get(&asked)?;
        let page: T = answer.read()?;
        let next = page.next().map(|next| format!("{path}{joint}after={}", percent_encoded(next)));
        each(answer.text(), page)?;
        match next {
            // A service that names the same page again would be asked for ever.
            Some(next) if next != asked => asked = next,
            _ => return Ok(()),
        }
    }
}

/// Every page of a list, where it is for people. With `--json` each is written as it came, a line each, and none is returned.
pub(crate) fn pages_to_show<T: Page>(
    service: &mut Service,
    path: &str,
    global: &Global,
    output: &mut Output,
) -> Result<Option<Vec<T>>, CommandError> {
    let mut pages = Vec::new();
    each_page(service, path, |text, page| {
        if global.json {
            return Ok(output.json_text(text)?);
        }
        pages.push(page);
        Ok(())
    })?;
    Ok((!global.json).then_some(pages))
}
