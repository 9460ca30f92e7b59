//! Parameters and answers that the descriptions of resources share.

use std::collections::BTreeMap;

use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Required, Response, ResponseBuilder};
use utoipa::{IntoParams, IntoResponses};

/// The media type of every error.
pub(crate) const PROBLEM: &str = "application/problem+json";

/// The path's ledger, for resources of one.
pub(crate) struct InLedger;

impl IntoParams for InLedger {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let ledger = ParameterBuilder::new()
            .name("ledger")
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some("The ledger's name"))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)));
        vec![ledger.build()]
    }
}

/// The state that an answer has to rest on, or a later one.
pub(crate) struct AtLeast;

impl IntoParams for AtLeast {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let description = "The position that must be durable; waited for up to 5 s";
        vec![optional("Ledger-Min-Position", ParameterIn::Header, description, Type::String)]
    }
}

/// The parameters that name a page of a list.
pub(crate) struct OfPage;

impl IntoParams for OfPage {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let known =
            "The `ETag` of the page as it is known: answered with 304 while nothing has happened since";
        vec![
            optional("after", ParameterIn::Query, "The `next` of the page before", Type::String),
            optional(
                "limit",
                ParameterIn::Query,
                "At most this many: 100 without it, up to 1,000",
                Type::Integer,
            ),
            optional("If-None-Match", ParameterIn::Header, known, Type::String),
        ]
    }
}

fn optional(name: &str, place: ParameterIn, description: &str, of: Type) -> Parameter {
    let or_none = SchemaType::from_iter([of, Type::Null]);
    let schema = ObjectBuilder::new().schema_type(or_none);
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

/// The refusals that every resource may answer.
pub(crate) struct Refusals;

impl IntoResponses for Refusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let problem = |description: &str| {
            let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("ProblemAnswer")));
            let response = ResponseBuilder::new().description(description).content(PROBLEM, content.build());
            RefOr::T(response.build())
        };
        let failed = "Failed; the member sideEffects says what it may have left behind";
        BTreeMap::from([
            ("4XX".to_owned(), problem("Refused; nothing was changed")),
            ("5XX".to_owned(), problem(failed)),
        ])
    }
}
