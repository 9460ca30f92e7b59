//! The filter options of `read` and `tail`.

use bitacora_formats::{format_time, parse_time};
use bitacora_ledger::Filter;
use clap::Args;

use crate::options::time::PastTime;
use bitacora_client::percent_encoded;

/// A filter; every given part must match.
#[derive(Debug, Clone, Default, Args)]
pub struct Filters {
    /// Only events of this type; repeatable for one of several.
    #[arg(long = "type", value_name = "TYPE")]
    kinds: Vec<String>,
    /// Only events of this stream.
    #[arg(long, value_name = "NAME")]
    stream: Option<String>,
    /// Only events with this actor.
    #[arg(long)]
    actor: Option<String>,
    /// Only events with this agent.
    #[arg(long)]
    agent: Option<String>,
    /// Only events with this session.
    #[arg(long)]
    session: Option<String>,
    /// Only events with this run.
    #[arg(long)]
    run: Option<String>,
    /// Only events with this call.
    #[arg(long)]
    call: Option<String>,
    /// Only events with this tag.
    #[arg(long)]
    tag: Option<String>,
    /// Only events recorded at this time or later: 24h, yesterday, 2026-11-20, 2026-11-20T13:00:00Z.
    #[arg(long, value_name = "TIME")]
    since: Option<PastTime>,
    /// Only events recorded before this time.
    #[arg(long, value_name = "TIME")]
    before: Option<PastTime>,
}

impl Filters {
    /// Returns the parameters of a request to the service.
    pub fn to_query(&self) -> Vec<String> {
        let mut query = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            query.extend(value.map(|value| format!("{name}={}", percent_encoded(&value))));
        };
        self.kinds.iter().for_each(|kind| add("type", Some(kind.clone())));
        add("stream", self.stream.clone());
        add("actor", self.actor.clone());
        add("agent", self.agent.clone());
        add("session", self.session.clone());
        add("run", self.run.clone());
        add("call", self.call.clone());
        add("tag", self.tag.clone());
        add("since", self.since.map(|time| format_time(time.0)));
        add("before", self.before.map(|time| format_time(time.0)));
        query
    }

    /// Replaces relative times by those that an earlier command with the same options asked for, in its query.
    pub fn adopt_times(&mut self, query: &str) {
        let named = |name: &str| {
            let value = query.split('&').find_map(|part| part.strip_prefix(name))?;
            parse_time(&value.replace("%3A", ":")).ok().map(PastTime)
        };
        self.since = self.since.map(|time| named("since=").unwrap_or(time));
        self.before = self.before.map(|time| named("before=").unwrap_or(time));
    }

    /// Returns the filter of a query to a ledger.
    pub fn to_filter(&self) -> Filter {
        Filter {
            kinds: self.kinds.clone(),
            stream: self.stream.clone(),
            actor: self.actor.clone(),
            agent: self.agent.clone(),
            session: self.session.clone(),
            run: self.run.clone(),
            call: self.call.clone(),
            tag: self.tag.clone(),
            since: self.since.map(|time| time.0),
            before: self.before.map(|time| time.0),
        }
    }
}
