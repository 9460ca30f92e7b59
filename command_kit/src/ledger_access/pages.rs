//! The lists of a service, page after page.

use std::num::NonZeroUsize;

use bitacora_api::{
    AnnotationAnswer, AnnotationList, AnsweredAnswer, AnsweredList, AnswererAnswer, AnswererList,
    ApprovalAnswer, ApprovalList, BreakerAnswer, BreakerList, BudgetAnswer, BudgetList, CallAnswer, CallList,
    CheckpointList, ContractAnswer, ContractCheckAnswer, ContractCheckList, ContractList,
    DecisionMinuteAnswer, DecisionMinuteList, GapAnswer, GapList, GrantAnswer, GrantList, HoldAnswer,
    HoldList, ImportList, ImportListed, ModeAnswer, PolicyAnswer, PolicyVersionAnswer, ProjectionAnswer,
    ProjectionList, RateList, RateRequest, RollbackAnswered, RollbackList, RunAnswer, RunList, RunStepAnswer,
    RunStepList, SavedCheckpoint, ScopedMode, SessionAnswer, SessionList, StopsAnswer, SuggestionAnswer,
    SuggestionList, SuspendedAgent, ToolAnswer, ToolList, UnregisteredToolAnswer, UnregisteredToolList,
};
use serde::de::DeserializeOwned;

use crate::error::CommandError;
use crate::ledger_access::merge_pages::MergedPages;
use crate::ledger_access::service::{ServiceAnswer, ServiceClient, ServiceFailure};
use crate::options::global::Global;
use crate::terminal::output::Output;
use bitacora_client::percent_encoded;

/// The number of items of one page, where a total is given.
const PAGE_ITEMS: usize = 1_000;

/// Parses the number of wanted items on the command line.
pub fn wanted(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "not a number from 1 on")
}

/// A page of a list.
#[expect(
    clippy::len_without_is_empty,
    reason = "nobody asks whether a page is empty, and the lists have no such method"
)]
pub trait ListPage: DeserializeOwned {
    /// An item of the list.
    type Item;

    /// The lists that continue from page to page. All other members are of the whole list.
    const LISTS: &'static [&'static str];

    /// Returns the items of the page, of the first of its lists.
    fn into_items(self) -> Vec<Self::Item>;

    /// Returns the number of items on this page.
    fn len(&self) -> usize;

    /// Returns the position of the next page.
    fn next(&self) -> Option<&str>;
}

macro_rules! pages {
    ($($page:ident { $list:ident: $item:ty $(, $other:ident)* },)*) => {
        $(
            impl ListPage for $page {
                type Item = $item;
                const LISTS: &'static [&'static str] = &[stringify!($list) $(, stringify!($other))*];

                fn into_items(self) -> Vec<$item> {
                    self.$list
                }

                fn len(&self) -> usize {
                    self.$list.len() $(+ self.$other.len())*
                }

                fn next(&self) -> Option<&str> {
                    self.next.as_deref()
                }
            }
        )*
    };
}

pages! {
    AnnotationList { annotations: AnnotationAnswer },
    AnsweredList { resolutions: AnsweredAnswer },
    AnswererList { answerers: AnswererAnswer },
    ApprovalList { approvals: ApprovalAnswer },
    BreakerList { breakers: BreakerAnswer },
    BudgetList { budgets: BudgetAnswer },
    CallList { calls: CallAnswer },
    CheckpointList { checkpoints: SavedCheckpoint },
    ContractCheckList { checks: ContractCheckAnswer },
    ContractList { contracts: ContractAnswer },
    DecisionMinuteList { minutes: DecisionMinuteAnswer },
    GapList { gaps: GapAnswer },
    GrantList { grants: GrantAnswer },
    HoldList { holds: HoldAnswer },
    ImportList { imports: ImportListed },
    ModeAnswer { scopes: ScopedMode },
    PolicyAnswer { versions: PolicyVersionAnswer },
    ProjectionList { projections: ProjectionAnswer },
    RateList { limits: RateRequest, buckets },
    RollbackList { rollbacks: RollbackAnswered },
    RunList { runs: RunAnswer },
    RunStepList { steps: RunStepAnswer },
    SessionList { sessions: SessionAnswer },
    StopsAnswer { suspended: SuspendedAgent },
    SuggestionList { suggestions: SuggestionAnswer },
    ToolList { tools: ToolAnswer },
    UnregisteredToolList { tools: UnregisteredToolAnswer },
}

/// Gives every page of a list to `each`: as it came, and parsed.
pub fn each_page<T: ListPage>(
    service: &mut ServiceClient,
    path: &str,
    each: impl FnMut(&str, T) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    each_page_by(ServiceClient::get, service, path, each)
}

/// Does the same with a given request function, for a list under a ledger or under none.
pub fn each_page_by<T: ListPage>(
    ask: fn(&mut ServiceClient, &str) -> Result<ServiceAnswer, ServiceFailure>,
    service: &mut ServiceClient,
    path: &str,
    mut each: impl FnMut(&str, T) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let joint = if path.contains('?') { '&' } else { '?' };
    let mut asked = path.to_owned();
    loop {
        let answer = ask(service, &asked)?;
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

/// Does the same for at most this many items.
fn each_page_up_to<T: ListPage>(
    service: &mut ServiceClient,
    path: &str,
    most: usize,
    mut each: impl FnMut(&str, T) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let joint = if path.contains('?') { '&' } else { '?' };
    let (mut left, mut behind) = (most, String::new());
    while left > 0 {
        let limit = left.min(PAGE_ITEMS);
        let answer = service.get(&format!("{path}{joint}limit={limit}{behind}"))?;
        let page: T = answer.read()?;
        left = left.saturating_sub(page.len());
        let next = page.next().map(|next| format!("&after={}", percent_encoded(next)));
        each(answer.text(), page)?;
        match next {
            Some(next) if next != behind => behind = next,
            _ => return Ok(()),
        }
    }
    Ok(())
}

/// Returns every page of a list, for people. With `--json` the pages are written as one document, and `None` is returned.
pub fn pages_to_show<T: ListPage>(
    service: &mut ServiceClient,
    path: &str,
    global: &Global,
    output: &mut Output,
) -> Result<Option<Vec<T>>, CommandError> {
    shown(global, output, |each| each_page(service, path, each))
}

/// Does the same for at most this many items.
pub fn pages_to_show_up_to<T: ListPage>(
    service: &mut ServiceClient,
    path: &str,
    most: usize,
    global: &Global,
    output: &mut Output,
) -> Result<Option<Vec<T>>, CommandError> {
    shown(global, output, |each| each_page_up_to(service, path, most, each))
}

fn shown<T: ListPage>(
    global: &Global,
    output: &mut Output,
    all: impl FnOnce(&mut dyn FnMut(&str, T) -> Result<(), CommandError>) -> Result<(), CommandError>,
) -> Result<Option<Vec<T>>, CommandError> {
    let (mut pages, mut merged) = (Vec::new(), MergedPages::new(T::LISTS));
    all(&mut |text, page| {
        if global.json {
            return Ok(merged.take(text)?);
        }
        pages.push(page);
        Ok(())
    })?;
    if global.json {
        output.json_text(&merged.to_json())?;
        return Ok(None);
    }
    Ok(Some(pages))
}

/// Returns all pages of a list as one document.
pub fn joined_pages<T: ListPage>(
    service: &mut ServiceClient,
    path: &str,
) -> Result<MergedPages, CommandError> {
    let mut merged = MergedPages::new(T::LISTS);
    each_page(service, path, |text, _: T| Ok(merged.take(text)?))?;
    Ok(merged)
}
