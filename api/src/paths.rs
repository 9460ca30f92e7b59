//! Paths of the interface, once: templates for the router and the OpenAPI document, filled in by clients.

/// Declares templates by name: those of the service, then those below one ledger.
macro_rules! templates {
    (service { $($own:ident = $path:literal;)* } ledger { $($name:ident = $below:literal;)* }) => {
        $(#[doc = concat!("`", $path, "`")] pub const $own: &str = $path;)*
        $(
            #[doc = concat!("`/v1/ledgers/{ledger}", $below, "`")]
            pub const $name: &str = concat!("/v1/ledgers/{ledger}", $below);
        )*

        /// Every template with the name of its constant.
        pub const ALL: &[(&str, &str)] =
            &[$((stringify!($own), $own),)* $((stringify!($name), $name),)*];
    };
}

templates! {
    service {
        SIGN_IN = "/";
        LIVEZ = "/livez";
        READYZ = "/readyz";
        METRICS = "/metrics";
        OPENAPI = "/v1/openapi.json";
        LEDGERS = "/v1/ledgers";
        LEDGER = "/v1/ledgers/{ledger}";
        PROJECTIONS = "/v1/projections";
        SCHEMAS = "/v1/schemas";
        SCHEMA = "/v1/schemas/{type}";
        OTLP_TRACES = "/v1/traces";
        OTLP_LOGS = "/v1/logs";
        OTLP_METRICS = "/v1/metrics";
        DRAIN = "/v1/admin/drain";
        SEAL = "/v1/admin/seal";
        READ_ONLY = "/v1/admin/read-only";
    }
    ledger {
        CALLER = "/caller";
        PRINCIPALS = "/principals";
        KEYS = "/keys";
        ARCHIVES = "/archives";
        TIERS = "/tiers";
        VERIFICATIONS = "/verifications";
        VERIFICATION = "/verifications/{verification}";
        HEAD = "/head";
        EVENTS = "/events";
        INGEST = "/events:ingest";
        LEDGER_OTLP_TRACES = "/otlp/v1/traces";
        LEDGER_OTLP_LOGS = "/otlp/v1/logs";
        LEDGER_OTLP_METRICS = "/otlp/v1/metrics";
        STREAM_INGEST = "/streams/{stream}/events:ingest";
        EVENT = "/events/{position}";
        STREAM_EVENTS = "/streams/{stream}/events";
        INCLUSION = "/proofs/inclusion";
        CONSISTENCY = "/proofs/consistency";
        TILE = "/tile/{*tile}";
        RECEIPT = "/receipts/{position}";
        TREE_HEAD = "/treehead";
        TREE_CHECKPOINT = "/checkpoint";
        EVIDENCE = "/evidence";
        DECIDE = "/decide";
        DECIDE_BATCH = "/decide:batch";
        HOOK = "/hooks/{harness}";
        OUTCOME = "/outcome";
        APPROVALS = "/approvals";
        APPROVAL = "/approvals/{approval}";
        DECISIONS = "/decisions";
        DECISION = "/decisions/{position}";
        TOOLS = "/tools";
        TOOL = "/tools/{tool}";
        UNREGISTERED_TOOLS = "/unregistered-tools";
        POLICY = "/policy";
        POLICY_VERSION = "/policy/{version}";
        POLICY_DIFF = "/policy/{version}/diff";
        POLICY_DRY_RUN = "/policy:dry-run";
        STARTER = "/starter";
        STARTER_UPGRADE = "/starter:upgrade";
        POLICY_CACHE = "/policy-cache";
        POLICY_CACHE_WATCH = "/policy-cache:watch";
        REPLAY = "/replay";
        TRUST = "/trust";
        TRUST_RECORD = "/trust/record";
        TRUST_HISTORY = "/trust/history";
        TRUST_MONTHS = "/trust/months";
        TRUST_SET = "/trust:set";
        TRUST_PROBE = "/trust:probe";
        BREAKERS = "/breakers";
        BREAKER_SETTINGS = "/breakers:configure";
        BREAKER_CLOSE = "/breakers:close";
        MODE = "/mode";
        BUDGETS = "/budgets";
        CONTRACTS = "/contracts";
        CONTRACT = "/contracts/{contract}";
        CONTRACT_CHECKS = "/contracts/{contract}/checks";
        ROLLBACKS = "/rollbacks";
        RATES = "/rates";
        GRANTS = "/grants";
        GRANT = "/grants/{grant}";
        IMPORTS = "/imports";
        IMPORT = "/imports/{import}";
        CLOCK = "/clock";
        CLOCK_ACCEPT = "/clock:accept";
        PANIC = "/panic";
        ERASURES = "/erasures";
        HOLDS = "/holds";
        HOLD = "/holds/{hold}";
        RETENTION = "/retention";
        AGENT = "/agents/{agent}";
        GOVERNANCE_STATE = "/projections/governance";
        PROJECTION = "/projections/{projection}";
        CALLS = "/calls";
        CALL = "/calls/{call}";
        COSTS = "/costs";
        TOOL_USAGE = "/tool-usage";
        RESOLUTIONS = "/resolutions";
        ANSWERERS = "/answerers";
        RUNS = "/runs";
        RUN = "/runs/{run}";
        RUN_STEPS = "/runs/{run}/steps";
        SESSIONS = "/sessions";
        SESSION = "/sessions/{session}";
        GAPS = "/gaps";
        CHECKPOINTS = "/checkpoints";
        CHECKPOINT_THREAD = "/checkpoints/{thread}";
        CONTENTS = "/contents";
        SUGGESTIONS = "/suggestions";
        SUGGESTIONS_REFRESH = "/suggestions:refresh";
        SUGGESTION = "/suggestions/{suggestion}";
        ANNOTATIONS = "/annotations";
        BULK_EXPORTS = "/exports";
    }
}

/// The paths of exporters of OpenTelemetry.
pub const EXPORTS: [&str; 6] =
    [OTLP_TRACES, OTLP_LOGS, OTLP_METRICS, LEDGER_OTLP_TRACES, LEDGER_OTLP_LOGS, LEDGER_OTLP_METRICS];

/// Returns a template with its parameters filled in, in order, each percent-encoded as one segment.
///
/// A parameter without a value stays as it is, so that the path names no resource.
#[must_use]
pub fn path(template: &str, values: &[&str]) -> String {
    let mut values = values.iter();
    let mut path = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, (parameter, after))) =
        rest.split_once('{').and_then(|(before, behind)| Some((before, behind.split_once('}')?)))
    {
        path.push_str(before);
        match values.next() {
            Some(value) => path.push_str(&percent_encoded(value)),
            None => path.extend(["{", parameter, "}"]),
        }
        rest = after;
    }
    path + rest
}

/// Returns the path of an act on a resource: `…/approvals/a17:approve`.
#[must_use]
pub fn act(template: &str, values: &[&str], verb: &str) -> String {
    format!("{}:{verb}", path(template, values))
}

/// Returns the text with every byte but letters, digits and `-._~` as `%` and two digits (RFC 3986, unreserved characters).
#[must_use]
pub fn percent_encoded(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().map_or('0', char::from);
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.extend(['%', digit(byte >> 4), digit(byte & 0xF)]);
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_leave_its_place_in_an_address() {
        assert_eq!(percent_encoded("run/7?a&b=c d#é%"), "run%2F7%3Fa%26b%3Dc%20d%23%C3%A9%25");
        assert_eq!(percent_encoded("aZ09-._~"), "aZ09-._~");
    }

    #[test]
    fn templates_are_filled_in_order() {
        assert_eq!(path(LEDGERS, &[]), "/v1/ledgers");
        assert_eq!(path(RUN_STEPS, &["main", "r/1"]), "/v1/ledgers/main/runs/r%2F1/steps");
        assert_eq!(path(RUN, &["main"]), "/v1/ledgers/main/runs/{run}");
        assert_eq!(
            act(CHECKPOINT_THREAD, &["main", "t{1}"], "save"),
            "/v1/ledgers/main/checkpoints/t%7B1%7D:save"
        );
    }

    #[test]
    fn no_two_names_are_of_one_path() {
        let paths: std::collections::BTreeSet<_> = ALL.iter().map(|(_, path)| path).collect();
        assert_eq!(paths.len(), ALL.len());
    }
}
