//! Tokens: made, shown once, and revoked here. The ledger gets a hash alone.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bitacora_api::{AppendAnswer, PrincipalAnswer, PrincipalList, paths};
use http::Method;
use maud::{Markup, html};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::at;
use crate::components::{Fact, Tone, act_fields, badge, facts, moment_cell, name, next_link, quoted, text};
use crate::form::FormFields;
use crate::page::{Done, Page, Section};
use crate::page_error::PageError;
use crate::sign_in::{random_bits, random_secret};
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// The source of these events, and their stream: the same as those of `bitacora token`.
const SOURCE: &str = "urn:bitacora:token";
const STREAM: &str = "principals";
/// The prefix of a token.
const PREFIX: &str = "bt_";
/// Hex digits of a principal's id.
const ID_DIGITS: usize = 16;
/// The roles that a token may have.
const ROLES: [&str; 5] = ["agent", "operator", "auditor", "metrics", "admin"];

pub(super) fn table(visit: &Visit, list: &PrincipalList) -> Result<Table, PageError> {
    let rows = list.principals.iter().map(|principal| row(visit, principal)).collect::<Result<_, _>>()?;
    let mut columns = vec![
        TableColumn::text("Holder"),
        TableColumn::text("Role"),
        TableColumn::text("Agent"),
        TableColumn::text("Recorded as"),
        TableColumn::text("State"),
        TableColumn::text("Created"),
        TableColumn::text("Ends"),
    ];
    if visit.may_administer() {
        columns.push(TableColumn::text("Revoke"));
    }
    Ok(Table {
        caption: "Tokens by their holders".to_owned(),
        columns,
        rows,
        empty: "No token exists: every caller on this machine may do everything.",
    })
}

fn row(visit: &Visit, principal: &PrincipalAnswer) -> Result<Vec<TableCell>, PageError> {
    let PrincipalAnswer {
        principal: id, role, actor, state, name, agent, created, expires, ended, note, ..
    } = principal;
    let tone = if state == "valid" { Tone::Good } else { Tone::Plain };
    let shown_name = name.as_deref().unwrap_or("no name");
    let end = ended.as_deref().or(expires.as_deref());
    let mut cells = vec![
        TableCell::new(id, html! { (text(shown_name)) br; code.quiet-text { (text(id)) } }),
        TableCell::text(role),
        TableCell::maybe_chosen(agent.as_deref()),
        TableCell::new(actor, html! { code { (text(actor)) } }),
        TableCell::new(
            state,
            html! { (badge(state, tone)) @if let Some(note) = note { br; span.quiet-text { (text(note)) } } },
        ),
        moment_cell(&visit.zone, created),
        end.map_or_else(|| TableCell::text("when it is revoked"), |end| moment_cell(&visit.zone, end)),
    ];
    if visit.may_administer() {
        cells.push(match state == "valid" {
            true => TableCell::new("", revocation(visit, principal)?),
            false => TableCell::text(""),
        });
    }
    Ok(cells)
}

fn revocation(visit: &Visit, principal: &PrincipalAnswer) -> Result<Markup, PageError> {
    let is_own = principal.actor == visit.caller.actor;
    let holder = principal.name.as_deref().unwrap_or(&principal.principal);
    Ok(html! {
        details.row-act {
            summary { "Revoke" }
            form method="post" action=(visit.page(&["admin", "tokens", &principal.principal, "revoke"])) {
                (act_fields(visit)?)
                @if is_own { p.note { "This is the token that you are signed in with." } }
                label { "Reason " input name="note" maxlength="1000" aria-label=(format!("Reason to revoke {holder}")); }
                button.bad { "Revoke " (name(holder)) }
            }
        }
    })
}

pub(super) fn section(visit: &Visit, list: &PrincipalList) -> Result<Markup, PageError> {
    Ok(html! {
        section #tokens {
            h2 { "Tokens" }
            (table(visit, list)?.markup())
            (next_link(visit, list.next.as_deref()))
            @if visit.may_administer() {
                form.sheet.fields method="post" action=(visit.page(&["admin", "tokens"])) {
                    (act_fields(visit)?)
                    label { "Role " select name="role" { @for role in ROLES { option value=(role) { (role) } } } }
                    label { "Agent " input name="agent" maxlength="1024" placeholder="for role agent"; }
                    label { "Holder " input name="name" maxlength="200" placeholder="who has it"; }
                    label { "Days " input name="days" inputmode="numeric" pattern="[0-9]{1,4}" placeholder="no end"; }
                    button { "Create a token" }
                }
                p.note { "A token is shown once. Each agent gets one of its own, so that its events bear its name." }
            }
        }
    })
}

/// Makes a token, and shows it on this one answer.
pub(crate) async fn create(visit: &Visit, form: &FormFields) -> Result<Page, PageError> {
    visit.must_administer()?;
    let role = form.get("role").filter(|role| ROLES.contains(role));
    let role = role.ok_or_else(|| PageError::Field("Choose one of the roles.".to_owned()))?;
    let agent = form.get("agent");
    if agent.is_some() != (role == "agent") {
        return Err(PageError::Field("Name an agent for the role agent, and for no other role.".to_owned()));
    }
    let expires = form.get("days").map(end_after).transpose()?;
    let token = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random_bits()?));
    let principal = principal_id()?;
    let mut data = json!({
        "principal": principal,
        "role": role,
        "token_hash": hex::encode(Sha256::digest(token.as_bytes())),
    });
    let optional = [
        ("name", form.get("name").map(Value::from)),
        ("agent", agent.map(Value::from)),
        ("expires", expires.map(Value::from)),
    ];
    for (name, value) in optional {
        if let (Some(value), Some(members)) = (value, data.as_object_mut()) {
            members.insert(name.to_owned(), value);
        }
    }
    let appended = append(visit, "principal.created", data).await?;
    let mut page =
        Page::new(Section::Admin, "A new token", shown_once(visit, &token, &principal, role, agent));
    page.position = appended.last.parse().ok();
    Ok(page)
}

fn shown_once(visit: &Visit, token: &str, principal: &str, role: &str, agent: Option<&str>) -> Markup {
    html! {
        p.notice role="status" { "Copy it now: it is shown once. The ledger keeps only its hash." }
        p.copied { code #token { (token) } " " button.quiet type="button" data-copy="token" { "Copy" } }
        (facts([
            Fact::text("Holder", Some(principal)),
            Fact::text("Role", Some(role)),
            Fact::text("Agent", agent),
        ]))
        p { a href=(at(visit, "tokens")) { "Back to the tokens" } }
    }
}

/// Revokes the tokens of a holder.
pub(super) async fn revoke(visit: &Visit, principal: &str, form: &FormFields) -> Result<Done, PageError> {
    visit.must_administer()?;
    let mut data = json!({ "principal": principal });
    if let (Some(note), Some(members)) = (form.get("note"), data.as_object_mut()) {
        members.insert("note".to_owned(), note.into());
    }
    append(visit, "principal.revoked", data).await?;
    Ok(Done { to: at(visit, "tokens"), notice: format!("The token of {} is revoked.", quoted(principal)) })
}

async fn append(visit: &Visit, kind: &str, data: Value) -> Result<AppendAnswer, PageError> {
    let event = json!({
        "specversion": "1.0",
        "id": principal_id()?,
        "source": SOURCE,
        "type": kind,
        "subject": STREAM,
        "data": data,
    });
    visit.send(Method::POST, &visit.api(paths::EVENTS, &[], ""), &event).await
}

fn principal_id() -> Result<String, PageError> {
    let random = random_secret()?;
    Ok(format!("p-{}", random.get(..ID_DIGITS).unwrap_or(&random)))
}

/// Returns the end of a token's life so many days from now, in microseconds since 1970.
fn end_after(days: &str) -> Result<u64, PageError> {
    let refused =
        || PageError::Field(format!("{} is no number of days; write one from 1 to 9999", quoted(days)));
    let days: i64 = days.parse().ok().filter(|days| (1..=9999).contains(days)).ok_or_else(refused)?;
    let end = jiff::Timestamp::now().as_microsecond() + days * 24 * 60 * 60 * 1_000_000;
    u64::try_from(end).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_ends_after_days_or_is_refused() {
        for bad in ["0", "-1", "10000", "x", ""] {
            assert!(end_after(bad).is_err(), "{bad:?}");
        }
        let now = u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap();
        let (day, minute) = (86_400_000_000, 60_000_000);
        assert!((day..day + minute).contains(&(end_after("1").unwrap() - now)));
    }

    #[test]
    fn ids_are_like_those_of_the_command_line() {
        let id = principal_id().unwrap();
        assert_eq!(id.len(), 18);
        assert!(id.starts_with("p-"));
    }
}
