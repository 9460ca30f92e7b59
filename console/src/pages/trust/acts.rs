//! Acts on a dimension: set its counts, probe it, close its breaker.

use std::time::Duration;

use bitacora_api::{
    ActAnswer, BreakerCloseRequest, DimensionAnswer, TrustCountsRequest, TrustProbeRequest, TrustSetRequest,
    paths,
};
use http::Method;
use jiff::Timestamp;

use crate::components::{chosen_hours, dimension_address, dimension_of};
use crate::form::FormFields;
use crate::page::Done;
use crate::page_error::PageError;
use crate::visit::Visit;

/// The times for which a probe may last; the interface takes up to seven days.
pub(super) const PROBE_HOURS: [(u32, &str); 4] =
    [(1, "an hour"), (8, "8 hours"), (24, "a day"), (167, "a week")];

/// Puts counts in the place of a dimension's own.
pub(super) async fn set(visit: &Visit, form: &FormFields) -> Result<Done, PageError> {
    let dimension = dimension_of(form)?;
    let counts = TrustCountsRequest {
        approvals: count(form, "approvals")?,
        rejections: count(form, "rejections")?,
        failures: count(form, "failures")?,
        streak: count(form, "streak")?,
    };
    let request = TrustSetRequest { dimension: dimension.clone(), counts, reason: reason_of(form)? };
    visit.send::<ActAnswer>(Method::POST, &visit.api(paths::TRUST_SET, &[], ""), &request).await?;
    Ok(done(visit, &dimension, "These counts hold from now on."))
}

/// Has a blocked dimension reviewed for a while.
pub(super) async fn probe(visit: &Visit, form: &FormFields) -> Result<Done, PageError> {
    let dimension = dimension_of(form)?;
    let hours = chosen_hours(form, &PROBE_HOURS)?;
    let from = form.get("from").and_then(|time| time.parse::<Timestamp>().ok());
    let from =
        from.ok_or_else(|| PageError::Field("the form has no time; open the page again".to_owned()))?;
    let expires = from.checked_add(Duration::from_secs(u64::from(hours) * 60 * 60));
    let expires = expires.map_err(|error| PageError::Field(error.to_string()))?;
    let request = TrustProbeRequest {
        dimension: dimension.clone(),
        expires: expires.to_string(),
        reason: reason_of(form)?,
    };
    visit.send::<ActAnswer>(Method::POST, &visit.api(paths::TRUST_PROBE, &[], ""), &request).await?;
    Ok(done(visit, &dimension, "Calls that its trust would deny are reviewed for that time."))
}

/// Closes the breaker of a dimension.
pub(super) async fn close(visit: &Visit, form: &FormFields) -> Result<Done, PageError> {
    let dimension = dimension_of(form)?;
    let request = BreakerCloseRequest { dimension: dimension.clone(), reason: Some(reason_of(form)?) };
    visit.send::<ActAnswer>(Method::POST, &visit.api(paths::BREAKER_CLOSE, &[], ""), &request).await?;
    Ok(done(visit, &dimension, "The breaker is closed."))
}

fn done(visit: &Visit, dimension: &DimensionAnswer, notice: &str) -> Done {
    Done { to: dimension_address(visit, dimension), notice: notice.to_owned() }
}

fn count(form: &FormFields, name: &str) -> Result<u64, PageError> {
    let value = form.get(name).and_then(|text| text.parse().ok());
    value.ok_or_else(|| PageError::Field(format!("`{name}` is not a whole number; write one from 0 on")))
}

/// Returns the reason that a form gives.
pub(super) fn reason_of(form: &FormFields) -> Result<String, PageError> {
    let missing = || PageError::Field("Say why: the act is recorded with a reason.".to_owned());
    form.get("reason").map(str::to_owned).ok_or_else(missing)
}
