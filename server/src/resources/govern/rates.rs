//! `…/rates`: rate limits, and the buckets that are not full.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bitacora_formats::{Micros, format_time};
use bitacora_governance::{RateLevel, ZONE_DATA, has_zone};
use bitacora_vocabulary::{Milliseconds, RateBy, RateConfigured, RateLimit, RateScope, RollingRate};

use crate::api::Api;
use crate::http::query::{Query, bad_query};
use crate::json::{json_of, raw_json};
use crate::problem::Problem;
use crate::requests::act::Act;
use crate::requests::listing::{PageParams, page_answer};
use crate::requests::read_request::ReadRequest;
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, OfPage, Refusals};
use bitacora_api::{ActAnswer, RateBucketAnswer, RateList, RateRequest, RollingRateAnswer, paths};

/// The stream of all limits.
const STREAM: &str = "governance/rates";

#[utoipa::path(
    get,
    path = paths::RATES,
    tag = "governance",
    operation_id = "listRates",
    params(
        InLedger,
        ("by" = Option<String>, Query, description = "Only those of a `tool`, an `agent` or a `role`"),
        ("name" = Option<String>, Query, description = "Only those of this one; with `by`"),
        OfPage,
        AtLeast,
    ),
    responses(
        (status = 200, description = "Limits, and behind them the buckets that are not full, by their scopes", body = RateList),
        Refusals,
    )
)]
pub(crate) async fn list(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    let mut query = request.query()?;
    let meant = Meant::take(&mut query)?;
    let paging = PageParams::<RateKey>::take(&mut query)?;
    query.finish()?;
    let head = request.state(&api).await?;
    let copy = governance(&request.ledger)?.copy();
    let bytes = api
        .read(move || {
            let rates = copy.state.all_rates();
            let limits = rates.limits().map(|(scope, limit)| RateItem::Limit(scope, limit));
            let rolling = rates.rolling().map(|(scope, rolling)| RateItem::Rolling(scope, rolling));
            let buckets = rates.levels(head.time).map(|(scope, level)| RateItem::Bucket(scope, level));
            let behind = |listed: &RateItem<'_>| {
                meant.includes(listed.scope())
                    && paging.after.as_ref().is_none_or(|after| listed.key() > *after)
            };
            let page = paging.page(limits.chain(rolling).chain(buckets).filter(behind), RateItem::key);
            json_of(&list_of(&page.items, head.time, page.next)?)
        })
        .await?;
    Ok(page_answer(&request, &head, bytes))
}

/// An item of the list: all limits, those on the last while, and then the buckets.
enum RateItem<'a> {
    Limit(&'a RateScope, &'a RateLimit),
    Rolling(&'a RateScope, &'a RollingRate),
    Bucket(&'a RateScope, RateLevel),
}

/// The place of an item: the number of its list, and its scope.
type RateKey = (u8, RateScope);

impl RateItem<'_> {
    fn scope(&self) -> &RateScope {
        match self {
            Self::Limit(scope, _) | Self::Rolling(scope, _) | Self::Bucket(scope, _) => scope,
        }
    }

    fn key(&self) -> RateKey {
        let list = match self {
            Self::Limit(..) => 0,
            Self::Rolling(..) => 1,
            Self::Bucket(..) => 2,
        };
        (list, self.scope().clone())
    }
}

/// Lists the items of a page, each kind in an array of its own.
fn list_of(items: &[RateItem<'_>], time: Micros, next: Option<String>) -> Result<RateList, Problem> {
    let evaluated_at = format_time(time);
    let (limits, rolling, buckets) = (Vec::new(), Vec::new(), Vec::new());
    let mut list = RateList { evaluated_at, limits, rolling, buckets, next };
    for item in items {
        match item {
            RateItem::Limit(scope, limit) => list.limits.push(RateRequest {
                scope: (*scope).into(),
                limit: Some((*limit).into()),
                rolling: None,
            }),
            RateItem::Rolling(scope, rolling) => {
                list.rolling.push(RollingRateAnswer { scope: (*scope).into(), rolling: raw_json(rolling)? });
            }
            RateItem::Bucket(scope, level) => list.buckets.push(RateBucketAnswer {
                scope: (*scope).into(),
                left: level.left,
                burst: level.limit.burst,
                retry_after_ms: level.retry_after.map(Milliseconds::get),
                full_at: level.full_at.map(format_time),
            }),
        }
    }
    Ok(list)
}

/// The limits and buckets that are asked for.
struct Meant {
    by: Option<RateBy>,
    name: Option<String>,
}

impl Meant {
    fn take(query: &mut Query<'_>) -> Result<Self, Problem> {
        let by = match query.take("by")?.as_deref() {
            None => None,
            Some("tool") => Some(RateBy::Tool),
            Some("agent") => Some(RateBy::Agent),
            Some("role") => Some(RateBy::Role),
            Some(_) => return Err(bad_query("by", "is none of `tool`, `agent` and `role`")),
        };
        let name = query.take("name")?.map(String::from);
        if name.is_some() && by.is_none() {
            return Err(bad_query("name", "goes with `by`, which says what it is the name of"));
        }
        Ok(Self { by, name })
    }

    fn includes(&self, scope: &RateScope) -> bool {
        self.by.is_none_or(|by| by == scope.by)
            && self.name.as_deref().is_none_or(|name| scope.name.as_deref() == Some(name))
    }
}

#[utoipa::path(
    put,
    path = paths::RATES,
    tag = "governance",
    operation_id = "configureRate",
    params(InLedger),
    request_body(content = RateRequest),
    responses(
        (status = 200, description = "Recorded: the scope's buckets are full again", body = ActAnswer),
        Refusals,
    )
)]
pub(crate) async fn configure(mut act: Act) -> Result<Response, Problem> {
    let configured = act
        .read(|members| {
            let scope: RateScope = members.require("scope")?;
            members.refuse_every("scope", [scope.name.as_deref()])?;
            let (limit, rolling) = (members.take("limit")?, members.take::<RollingRate>("rolling")?);
            if let Some(zone) = rolling.as_ref().and_then(|rolling| rolling.day.as_ref()?.zone.clone())
                && !has_zone(&zone)
            {
                return Err(members.bad(
                    "rolling",
                    &format!("found zone `{zone}`, expected a name of the IANA zone data {ZONE_DATA}"),
                ));
            }
            if rolling.as_ref().is_some_and(RollingRate::is_empty) {
                return Err(members.bad("rolling", &"it limits nothing; give `windows`, `day` or `apart_s`"));
            }
            Ok(RateConfigured { scope, limit, rolling })
        })
        .await?;
    act.record(STREAM, &configured).await?.answer()
}
