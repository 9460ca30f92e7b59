//! `/v1/schemas`: the types of events that have a meaning here, and the schemas of their data.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery};
use axum::http::header;
use axum::response::IntoResponse;
use bitacora_vocabulary::EVENT_TYPES;

use crate::http::query::Query;
use crate::json::json_of;
use crate::problem::{Code, Problem};
use crate::resources::description::PROBLEM;
use bitacora_api::{ProblemAnswer, SchemaAnswer, SchemaList, paths};

/// The media type of a schema.
const SCHEMA_JSON: &str = "application/schema+json";
/// The same for every request of one version of the service.
const CACHE: &str = "public, max-age=300";

/// The types of events, by name.
#[utoipa::path(
    get,
    path = paths::SCHEMAS,
    tag = "schemas",
    operation_id = "listSchemas",
    responses(
        (status = 200, description = "Every type of the vocabulary", body = SchemaList),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn list(RawQuery(parameters): RawQuery) -> Result<impl IntoResponse, Problem> {
    static LIST: LazyLock<SchemaList> = LazyLock::new(schema_list);
    Query::parse(parameters.as_deref())?.finish()?;
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, CACHE)];
    Ok((headers, json_of(&*LIST)?))
}

/// Returns the JSON Schema (draft 2020-12) of the data of one type.
#[utoipa::path(
    get,
    path = paths::SCHEMA,
    tag = "schemas",
    operation_id = "showSchema",
    params(("type" = String, Path, description = "The type of event, such as `tool.completed`")),
    responses(
        (status = 200, description = "Its schema", body = Object, content_type = SCHEMA_JSON),
        (status = "4XX", description = "Refused; nothing was changed", body = ProblemAnswer, content_type = PROBLEM),
    )
)]
pub(crate) async fn show(
    kind: Result<Path<String>, axum::extract::rejection::PathRejection>,
    RawQuery(parameters): RawQuery,
) -> Result<impl IntoResponse, Problem> {
    static SCHEMAS: LazyLock<BTreeMap<&str, Bytes>> = LazyLock::new(|| {
        EVENT_TYPES.iter().map(|listed| (listed.kind, Bytes::from(listed.schema().to_string()))).collect()
    });
    Query::parse(parameters.as_deref())?.finish()?;
    let schema = kind.ok().and_then(|Path(kind)| SCHEMAS.get(kind.as_str()).cloned());
    let Some(schema) = schema else {
        return Err(Problem::new(
            Code::NoSuchResource,
            "the vocabulary has no such type; /v1/schemas lists those it has",
        ));
    };
    Ok(([(header::CONTENT_TYPE, SCHEMA_JSON), (header::CACHE_CONTROL, CACHE)], schema))
}

fn schema_list() -> SchemaList {
    let schemas = EVENT_TYPES.iter().map(|listed| SchemaAnswer {
        kind: listed.kind.to_owned(),
        version: listed.version,
        written_by: listed.writer.as_str().to_owned(),
        description: listed.description.to_owned(),
        schema: listed.schema_id(),
    });
    SchemaList { schemas: schemas.collect() }
}
