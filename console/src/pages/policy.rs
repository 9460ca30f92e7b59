//! Policy: its versions and rules, what another one would change, suggestions, and standing consents.

mod changed_calls;
mod diff;
mod document;
mod editor;
mod grants;
mod overview;
mod places;
mod rules;
mod suggestions;
mod version;
mod what_if;

use maud::{Markup, html};

use crate::form::FormFields;
use crate::page::{Done, Page};
use crate::page_error::PageError;
use crate::visit::Visit;

/// Makes the page at an address of this part.
pub(crate) async fn show(visit: &Visit, rest: &[&str]) -> Result<Page, PageError> {
    match rest {
        [] => overview::show(visit).await,
        ["versions", version] => version::show(visit, version).await,
        ["diff"] => diff::show(visit).await,
        ["edit"] => editor::show(visit).await,
        ["what-if"] => what_if::show(visit).await,
        ["suggestions"] => suggestions::list(visit).await,
        ["grants"] => grants::list(visit).await,
        _ => Err(PageError::NoSuchPage),
    }
}

/// Does the act at an address of this part.
pub(crate) async fn act(visit: &Visit, rest: &[&str], form: &FormFields) -> Result<Done, PageError> {
    if let ["what-if"] = rest {
        return what_if::try_pasted(visit, form).await;
    }
    visit.must_govern()?;
    match rest {
        ["edit"] => editor::publish(visit, form).await,
        ["versions", version, verb @ ("activate" | "retire")] => {
            version::change(visit, version, verb, form).await
        }
        ["suggestions", suggestion, "accept"] => suggestions::accept(visit, suggestion, form).await,
        ["suggestions", suggestion, "reject"] => suggestions::reject(visit, suggestion, form).await,
        ["suggestions"] => suggestions::refresh(visit).await,
        ["grants", grant, "revoke"] => grants::revoke(visit, grant, form).await,
        _ => Err(PageError::NoSuchPage),
    }
}

/// The pages of this part, with their words.
const TABS: [(&str, &str); 5] = [
    ("", "Rules"),
    ("what-if", "What if"),
    ("edit", "Write a version"),
    ("suggestions", "Suggestions"),
    ("grants", "Standing consents"),
];

/// Returns the menu of this part.
fn tabs(visit: &Visit, current: &str) -> Markup {
    let shown = TABS.into_iter().filter(|(part, _)| *part != "edit" || visit.may_govern());
    html! {
        nav.tabs aria-label="Policy" { @for (part, words) in shown {
            @let address = if part.is_empty() { visit.page(&["policy"]) } else { visit.page(&["policy", part]) };
            a href=(address) aria-current=[(part == current).then_some("page")] { (words) }
        } }
    }
}
