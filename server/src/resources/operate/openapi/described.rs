//! Additions to the handlers' descriptions: summaries, and grammars and bounds of parameters.
//! Each act gets a path of its own too, so that programs that read the document can name it.

#![expect(
    clippy::indexing_slicing,
    reason = "a JSON value without a member reads as null; only the document's own objects are written to, and a test makes them"
)]

use serde_json::{Map, Value, json};

use super::bodies;
use crate::MAX_LEDGERS;
use crate::limits::{DEFAULT_LISTED, DEFAULT_PAGE_EVENTS, MAX_LISTED, MAX_PAGE_TOOLS, MAX_WHAT_IF_CALLS};

/// A position from 1, as a decimal string.
pub(super) const POSITION: &str = "^[1-9][0-9]{0,18}$";
/// A position, or 0 before the first.
const AFTER: &str = "^(0|[1-9][0-9]{0,18})$";
/// The name of a ledger.
pub(super) const LEDGER: &str = "^[a-z0-9][a-z0-9-]{0,63}$";
/// Up to 60 s.
const WAIT: &str = "^(0|[0-9]{1,4}ms|[0-5]?[0-9]s|60s)$";
/// From 1970 on, where the ledger's times begin.
pub(super) const LEDGER_TIMES: &str = "^(19[7-9]|[2-9][0-9])[0-9]";
/// A tool by its name; `-` is none that is known.
const TOOL: &str = "^(?!-$)[^\u{0}-\u{1f}\u{7f}-\u{9f}\u{fdd0}-\u{fdef}\u{fffe}\u{ffff}]+$";
/// The tag of a stream's version.
const VERSION_TAG: &str = "^\"v[1-9][0-9]{0,18}\"$";

/// A text without control characters and noncharacters.
pub(super) const TEXT: &str = "^[^\u{0}-\u{1f}\u{7f}-\u{9f}\u{fdd0}-\u{fdef}\u{fffe}\u{ffff}]+$";
/// Parameters that are one of some words, by operation.
const WORDS: &[(&str, &str, &[&str])] = &[
    ("listBreakers", "state", &["closed", "open", "half_open"]),
    ("listRuns", "state", &["running", "paused", "completed", "failed", "aborted"]),
    ("listCalls", "verdict", &["allow", "review", "deny", "none"]),
    ("deleteCheckpoints", "keep", &["newest"]),
    (
        "listCalls",
        "outcome",
        &[
            "open",
            "pending",
            "ok",
            "error",
            "timeout",
            "interrupted",
            "rejected",
            "blocked",
            "denied",
            "expired",
            "withdrawn",
        ],
    ),
    ("listRates", "by", &["tool", "agent", "role"]),
    ("listResolutions", "resolution", &["approved", "rejected", "edited", "expired", "withdrawn"]),
    ("listRollbacks", "state", &["pending", "approved", "rejected", "expired", "withdrawn", "executed"]),
    ("listSessions", "state", &["open", "ended"]),
    ("listSuggestions", "state", &["open", "accepted", "rejected", "candidate", "imported"]),
    ("listTrust", "order", &["top", "bottom"]),
    ("runHook", "harness", &["claude", "codex", "gemini", "cursor"]),
    ("runHook", "failure", &["deny", "error"]),
];

/// Verbs behind the colon of a path, with operation ids and summaries.
type Acts = &'static [(&'static str, &'static str, &'static str)];

/// Acts that the router knows as one path, by operation.
const ACTS: &[(&str, Acts)] = &[
    (
        "stopAgent",
        &[
            ("suspend", "suspendAgent", "Deny every call of an agent"),
            ("resume", "resumeAgent", "Decide calls of a suspended agent again"),
        ],
    ),
    (
        "resolveApproval",
        &[
            ("approve", "approveRequest", "Approve a call"),
            ("reject", "rejectRequest", "Reject a call"),
            ("edit", "editRequest", "Approve a call with other arguments"),
            ("withdraw", "withdrawRequest", "Withdraw a request for approval"),
        ],
    ),
    ("acceptImport", &[("accept", "acceptImport", "Count an import as history")]),
    (
        "changePolicy",
        &[
            ("activate", "activatePolicy", "Activate a version of the policy"),
            ("retire", "retirePolicy", "Retire a version of the policy"),
        ],
    ),
    (
        "answerSuggestion",
        &[
            ("accept", "acceptSuggestion", "Accept a suggestion"),
            ("reject", "rejectSuggestion", "Reject a suggestion"),
        ],
    ),
    ("rebuildProjection", &[("rebuild", "rebuildProjection", "Fold a read model again")]),
    (
        "actOnCheckpoints",
        &[
            ("save", "saveCheckpoint", "Save a checkpoint"),
            ("writes", "saveCheckpointWrites", "Save writes of a checkpoint"),
            ("copy", "copyThread", "Copy a thread"),
            ("fork", "forkThread", "Begin a thread at a checkpoint of another"),
        ],
    ),
];

/// A summary of each operation.
const SUMMARIES: &[(&str, &str)] = &[
    ("signIn", "Lead a browser to the console"),
    ("livez", "Tell that the process lives"),
    ("metrics", "Read the metrics"),
    ("readyz", "Tell whether appends can be made durable"),
    ("drain", "End the service in order"),
    ("setReadOnly", "Stop or resume appends to a ledger"),
    ("seal", "End the live segment of a ledger"),
    ("listLedgers", "List ledgers"),
    ("createLedger", "Create a ledger"),
    ("showLedger", "Show a ledger"),
    ("listAnnotations", "List notes"),
    ("annotate", "Add a note"),
    ("recordExport", "Record an export of events"),
    ("listAnswerers", "List the people and programs that answer approvals"),
    ("listApprovals", "List approvals that wait"),
    ("showApproval", "Show an approval, or wait for its answer"),
    ("listBreakers", "List circuit breakers"),
    ("closeBreaker", "Close a circuit breaker"),
    ("configureBreaker", "Set a circuit breaker"),
    ("listBudgets", "List budgets"),
    ("configureBudget", "Set a budget"),
    ("listCalls", "List calls"),
    ("showCall", "Show a call"),
    ("readCheckpoint", "Read the tree head as a checkpoint of a transparency log"),
    ("listCheckpoints", "List checkpoints of agents' threads"),
    ("showCheckpoint", "Show a checkpoint of a thread"),
    ("deleteCheckpoints", "Delete checkpoints of a thread"),
    ("showCaller", "Show whom the ledger knows the caller as"),
    ("showClock", "Show whether the clock is trusted"),
    ("acceptClock", "Accept the clock after a jump"),
    ("storeContent", "Store a content"),
    ("listContracts", "List contracts"),
    ("showContract", "Show a contract"),
    ("listContractChecks", "List checks of a contract"),
    ("listCosts", "Sum costs"),
    ("listToolUsage", "Sum the use of tools"),
    ("countDecisions", "Count decisions by minute"),
    ("decide", "Decide about a call"),
    ("decideBatch", "Decide about several calls"),
    ("runHook", "Answer the hook of a coding agent"),
    ("showDecision", "Show a decision"),
    ("readEvents", "Read or follow events"),
    ("append", "Append events"),
    ("readEvent", "Read an event"),
    ("ingest", "Upload events of any number"),
    ("exportTraces", "Export spans over OTLP"),
    ("exportLogs", "Export log records over OTLP"),
    ("exportMetrics", "Export metrics over OTLP, which are dropped"),
    ("exportTracesToLedger", "Export spans over OTLP to a ledger"),
    ("exportLogsToLedger", "Export log records over OTLP to a ledger"),
    ("exportMetricsToLedger", "Export metrics over OTLP, which are dropped"),
    ("listGaps", "List gaps of recordings"),
    ("listHolds", "List the legal holds in force"),
    ("placeHold", "Place a legal hold"),
    ("releaseHold", "Release a legal hold"),
    ("showRetention", "Show the retention policy"),
    ("setRetention", "Set the retention policy"),
    ("listGrants", "List grants"),
    ("giveGrant", "Give a grant"),
    ("revokeGrant", "Revoke a grant"),
    ("readHead", "Read the head"),
    ("listImports", "List imports"),
    ("showImport", "Show an import"),
    ("showMode", "Show the enforcement mode"),
    ("setMode", "Set the enforcement mode"),
    ("reportOutcome", "Report the outcome of a call"),
    ("showStops", "Show what is stopped"),
    ("engagePanic", "Deny every call"),
    ("releasePanic", "Decide calls again"),
    ("showPolicy", "Show the policy"),
    ("publishPolicy", "Publish a version of the policy"),
    ("showPolicyCache", "Read what an executor keeps of the state"),
    ("watchPolicyCache", "Follow what an executor keeps of the state"),
    ("showPolicyVersion", "Show a version of the policy"),
    ("comparePolicies", "Compare two versions of the policy"),
    ("tryPolicy", "Try a policy on recorded calls"),
    ("showGovernanceState", "Show the digest of the governing state"),
    ("proveConsistency", "Prove that one tree extends another"),
    ("proveInclusion", "Prove that an event is in the tree"),
    ("listRates", "List rates"),
    ("configureRate", "Set a rate"),
    ("readEvidence", "Read an evidence bundle: events with their proofs, in a file"),
    ("listArchives", "List archives"),
    ("listPrincipals", "List who has a token, or had one"),
    ("showKeys", "Show the public keys of a ledger"),
    ("showTiers", "Show what lies in memory, on this disk and in archives"),
    ("listVerifications", "List the last verifications"),
    ("startVerification", "Start a verification of a ledger's files"),
    ("showVerification", "Show a verification's progress, or its outcome"),
    ("readReceipt", "Read the receipt of an event"),
    ("replayUnderPolicy", "Try a published policy on recorded calls"),
    ("listResolutions", "List answers to approvals"),
    ("listRollbacks", "List rollbacks"),
    ("listRuns", "List runs"),
    ("showRun", "Show a run"),
    ("listRunSteps", "List steps of a run"),
    ("listSessions", "List sessions"),
    ("showSession", "Show a session"),
    ("showStarter", "Show the state of the starter policy"),
    ("upgradeStarter", "Upgrade the starter policy"),
    ("readStream", "Read or follow a stream"),
    ("appendToStream", "Append events to a stream"),
    ("ingestToStream", "Upload events of any number to a stream"),
    ("listSuggestions", "List suggestions"),
    ("refreshSuggestions", "Look for suggestions now"),
    ("readTile", "Read a tile of the tree"),
    ("listTools", "List tools"),
    ("putTool", "Register a tool"),
    ("revokeTool", "Revoke a tool"),
    ("readTreeHead", "Read the signed tree head"),
    ("listTrust", "List trust"),
    ("readTrustHistory", "Read how trust came about"),
    ("listTrustMonths", "List trust by month"),
    ("showTrust", "Show the trust of a dimension"),
    ("probeTrust", "Let the next call of a dimension be a probe"),
    ("setTrust", "Set the trust of a dimension"),
    ("listUnregisteredTools", "List tools that were asked for and nobody registered"),
    ("listProjections", "List read models and indexes"),
    ("listSchemas", "List types of events"),
    ("showSchema", "Show the schema of a type"),
];

/// Completes the document.
pub(super) fn complete(document: &mut Value) {
    let schemas = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut);
    if let Some(schemas) = schemas {
        bodies::close(schemas);
    }
    let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) else { return };
    divide_acts(paths);
    for operation in operations(paths) {
        let id = operation.get("operationId").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some((_, summary)) = SUMMARIES.iter().find(|(of, _)| *of == id) {
            operation.insert("summary".to_owned(), json!(summary));
        }
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        for parameter in parameters.into_iter().flatten() {
            bound(&id, parameter);
        }
        bodies::complete(&id, operation);
    }
}

fn operations(paths: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let items = paths.values_mut().filter_map(Value::as_object_mut);
    items.flat_map(|item| item.values_mut().filter_map(Value::as_object_mut))
}

/// Puts each act on a path of its own: `…/approvals/{approval}:approve`.
fn divide_acts(paths: &mut Map<String, Value>) {
    let mut divided = Vec::new();
    for (path, item) in paths.iter_mut() {
        let Some(post) = item.get("post").cloned() else { continue };
        let Some((_, acts)) = ACTS.iter().find(|(of, _)| post["operationId"] == *of) else { continue };
        for (verb, id, summary) in *acts {
            let mut act = post.clone();
            (act["operationId"], act["summary"]) = (json!(id), json!(summary));
            for parameter in act["parameters"].as_array_mut().into_iter().flatten() {
                if parameter["in"] == "path" && parameter["name"] != "ledger" {
                    parameter["description"] = json!("Its name, percent-encoded once");
                }
            }
            divided.push((format!("{path}:{verb}"), act));
        }
        if let Some(item) = item.as_object_mut() {
            item.remove("post");
        }
    }
    paths.retain(|_, item| item.as_object().is_none_or(|item| !item.is_empty()));
    paths.extend(divided.into_iter().map(|(path, act)| (path, json!({"post": act}))));
}

/// Takes `null` out of the types: absent values are left out.
pub(super) fn without_null(schema: &mut Value) {
    if let Some(kinds) = schema.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            schema["type"] = only;
        }
    }
    for combined in ["oneOf", "anyOf"] {
        if let Some(choices) = schema.get_mut(combined).and_then(Value::as_array_mut) {
            choices.retain(|choice| choice["type"] != "null");
        }
    }
}

/// One of these words, or several with commas between.
fn several_of(words: &str) -> String {
    format!("^({words})(,({words}))*$")
}

/// Says what a parameter may be. None is ever `null`: it is left out.
fn bound(operation: &str, parameter: &mut Value) {
    let (name, place) =
        (parameter["name"].as_str().unwrap_or_default(), parameter["in"].as_str().unwrap_or_default());
    let whole = |maximum: usize| json!({"type": "integer", "minimum": 1, "maximum": maximum});
    let listed =
        |default: usize| json!({"type": "integer", "minimum": 1, "maximum": MAX_LISTED, "default": default});
    let text = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let reads_events = matches!(operation, "readEvents" | "readStream");
    let schema = match (name, place) {
        ("ledger", "path") => text(LEDGER),
        ("at" | "position" | "until" | "size" | "from" | "to", _) if operation != "comparePolicies" => {
            text(POSITION)
        }
        ("after", "query") if reads_events => text(AFTER),
        ("after", "query") if matches!(operation, "listLedgers" | "listProjections") => text(LEDGER),
        ("limit", "query") if reads_events => {
            json!({"type": "integer", "minimum": 1, "default": DEFAULT_PAGE_EVENTS})
        }
        ("limit", "query") if matches!(operation, "tryPolicy" | "replayUnderPolicy") => {
            whole(MAX_WHAT_IF_CALLS)
        }
        ("limit", "query") if matches!(operation, "listLedgers" | "listProjections") => whole(MAX_LEDGERS),
        ("limit", "query") if operation == "listTools" => whole(MAX_PAGE_TOOLS),
        ("limit", "query") => listed(DEFAULT_LISTED),
        ("wait", "query") => text(WAIT),
        ("since" | "before", "query") if matches!(operation, "listCosts" | "listToolUsage") => {
            json!({"type": "string", "format": "date", "pattern": LEDGER_TIMES})
        }
        ("since" | "before" | "recorded_since" | "recorded_before", "query")
            if operation != "listCheckpoints" =>
        {
            json!({"type": "string", "format": "date-time", "pattern": LEDGER_TIMES})
        }
        // The `next` of the page before, and nothing else: what is in it is no one's but the service's.
        ("after", "query") => json!({"type": "string", "format": "cursor"}),
        ("by", "query") if operation == "listCosts" => {
            text(&several_of("model|task|agent|tool|role|run|session|case|day"))
        }
        ("by", "query") if operation == "listToolUsage" => text(&several_of("tool|context|role|agent|day")),
        ("filter", "query") if operation == "listCheckpoints" => {
            let content = json!({"application/json": {"schema": {"type": "object"}}});
            if let Some(parameter) = parameter.as_object_mut() {
                parameter.remove("schema");
                parameter.insert("content".to_owned(), content);
            }
            return;
        }
        ("tool", "query") if parameter["required"] == true => text(TOOL),
        ("dir", "query") => json!({"type": "string", "enum": ["forward", "backward"], "default": "forward"}),
        ("Ledger-Min-Position", _) => text(POSITION),
        ("If-Match", _) if operation != "publishPolicy" => text(VERSION_TAG),
        ("If-None-Match", _) if matches!(operation, "append" | "appendToStream") => {
            json!({"type": "string", "enum": ["*"]})
        }
        ("Content-Encoding", _) => json!({"type": "string", "enum": ["identity", "gzip", "zstd"]}),
        _ => {
            let words = WORDS.iter().find(|(of, parameter, _)| *of == operation && *parameter == name);
            let words = words.map(|(.., words)| *words);
            without_null(&mut parameter["schema"]);
            let schema = &mut parameter["schema"];
            match words {
                Some(words) => schema["enum"] = json!(words),
                None if schema["type"] == "string" => schema["pattern"] = json!(TEXT),
                None if schema["type"] == "array" => schema["items"]["pattern"] = json!(TEXT),
                None => (),
            }
            return;
        }
    };
    parameter["schema"] = schema;
}
