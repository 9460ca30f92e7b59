//! The server's list of tools, as the proxy asks for it itself.

use std::collections::HashSet;

use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::Proxy;
use super::client_side::TOOLS_LIST;
use super::in_flight::Waiting;
use crate::call::ToolCall;
use crate::definitions::{DefinitionStatus, ListedTools};
use crate::frame::{Id, written};
use crate::gate::note;
use crate::json_text::quoted;
use crate::limits::{LIST_PATIENCE, MAX_LIST_PAGES};

impl Proxy {
    /// Returns the standing of a call's tool. The server is asked for its tools where the client has not asked since they changed.
    pub(super) async fn standing(&self, call: &ToolCall) -> DefinitionStatus {
        if self.definitions.must_ask(&call.name) {
            self.definitions.begin_whole();
            let listed = timeout(LIST_PATIENCE, self.list_tools(call.stateless.as_deref())).await;
            if listed != Ok(true) {
                self.definitions.changed();
                note("the server does not list its tools; their definitions cannot be compared");
            }
        }
        self.definitions.standing(&self.gate, &call.name).await
    }

    /// Asks for all pages of the list. Returns `false` where the server gives none.
    async fn list_tools(&self, stateless: Option<&str>) -> bool {
        let mut names = HashSet::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_LIST_PAGES {
            let meta = stateless.map(|meta| format!("\"_meta\":{meta}"));
            let from = cursor.as_deref().map(|cursor| format!("\"cursor\":{}", quoted(cursor)));
            let params = [meta, from].into_iter().flatten().collect::<Vec<_>>().join(",");
            let Some(result) = self.ask_server(TOOLS_LIST, &format!("{{{params}}}")).await else {
                return false;
            };
            let Some(listed) = ListedTools::read(&result) else { return false };
            names.extend(listed.tools.iter().map(|tool| tool.name.clone()));
            self.definitions.take(&self.gate, &listed.tools).await;
            match listed.next {
                Some(next) => cursor = Some(next),
                None => {
                    self.definitions.end_whole(&names);
                    return true;
                }
            }
        }
        false
    }

    /// Sends a request of the proxy's own. Its answer never reaches the client.
    async fn ask_server(&self, method: &str, params: &str) -> Option<Box<RawValue>> {
        let id = Id::Text(self.new_id());
        let (tell, told) = oneshot::channel();
        self.in_flight.add(id.clone(), Waiting::Own(tell)).ok()?;
        let text = written(Some(&id), method, Some(params));
        self.to_server(&text).await;
        told.await.ok().flatten()
    }
}
