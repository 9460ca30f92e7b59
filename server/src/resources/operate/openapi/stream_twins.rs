//! The paths of one stream: each is a path of all events with the stream in it, and has the same handler.

use bitacora_api::paths;
use utoipa::Modify;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{OpenApi, RefOr, Required};

/// A path of all events, and that of one stream.
const TWINS: [(&str, &str); 2] =
    [(paths::EVENTS, paths::STREAM_EVENTS), (paths::INGEST, paths::STREAM_INGEST)];
/// The operations of the first, and those of the second.
const OPERATIONS: [(&str, &str); 3] =
    [("readEvents", "readStream"), ("append", "appendToStream"), ("ingest", "ingestToStream")];
/// The parameter that names the stream: in the query of the first, in the path of the second.
const STREAM: &str = "stream";

/// Describes the paths of one stream.
pub(super) struct StreamTwins;

impl Modify for StreamTwins {
    fn modify(&self, document: &mut OpenApi) {
        for (path, of_stream) in TWINS {
            let Some(mut twin) = document.paths.paths.get(path).cloned() else { continue };
            [&mut twin.get, &mut twin.post].into_iter().flatten().for_each(restrict);
            document.paths.paths.insert(of_stream.to_owned(), twin);
        }
    }
}

/// Makes an operation on all events one on a stream.
fn restrict(operation: &mut Operation) {
    let id = operation.operation_id.as_deref().unwrap_or_default();
    let twin = OPERATIONS.iter().find(|(of_all, _)| *of_all == id);
    operation.operation_id = twin.map(|(_, of_stream)| (*of_stream).to_owned());
    let stream = ParameterBuilder::new()
        .name(STREAM)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("The stream's name, percent-encoded once"))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)));
    let parameters = operation.parameters.get_or_insert_default();
    parameters.retain(|parameter| !matches!(parameter, RefOr::T(parameter) if parameter.name == STREAM));
    // Behind the ledger.
    parameters.insert(parameters.len().min(1), RefOr::T(stream.build()));
}
