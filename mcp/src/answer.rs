//! Answers that the proxy gives itself to a call: results that are errors, in words that a model can act on.

use crate::call::ToolCall;
use crate::frame::Id;
use crate::json_text::quoted;
use crate::limits::MAX_REASON_BYTES;

/// A reason for which a call was not handed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// One word: `denied`, `review`, `rejected`, `undecided`, `drifted`, `timeout`, `unmet`, `busy` or `unread`.
    pub(crate) code: &'static str,
    /// The reason in words.
    pub(crate) text: String,
    /// The call's id in the ledger, where it has one.
    pub(crate) call: Option<String>,
    /// The approval that waits for a person.
    pub(crate) approval: Option<String>,
}

impl Refusal {
    pub(crate) fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), call: None, approval: None }
    }

    pub(crate) fn of_call(self, call: &str) -> Self {
        Self { call: Some(call.to_owned()), ..self }
    }

    pub(crate) fn with_approval(self, approval: &str) -> Self {
        Self { approval: Some(approval.to_owned()), ..self }
    }

    /// Writes it as the result of a call. Clients of 2026-07-28 expect a member more, those before do not know it.
    pub(crate) fn answer(&self, id: &Id, call: Option<&ToolCall>) -> String {
        let members = [
            ("bitacora/refusal", Some(self.code)),
            ("bitacora/call", self.call.as_deref()),
            ("bitacora/approval", self.approval.as_deref()),
        ];
        let meta = members
            .iter()
            .filter_map(|(name, value)| Some(format!("{}:{}", quoted(name), quoted((*value)?))));
        let meta: Vec<String> = meta.collect();
        let kind = if call.is_some_and(|call| call.stateless.is_some()) {
            "\"resultType\":\"complete\","
        } else {
            ""
        };
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{{kind}\"content\":[{{\"type\":\"text\",\"text\":{}}}],\"isError\":true,\"_meta\":{{{}}}}}}}",
            quoted(&cut(&self.text)),
            meta.join(","),
        )
    }
}

/// Cuts a text that is too long for a model, at a character's end.
fn cut(text: &str) -> String {
    let mut end = text.len().min(MAX_REASON_BYTES);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_a_result_that_says_why() {
        let refusal = Refusal::new("review", "ask \"ana\"\n").of_call("c1").with_approval("a7");
        let expected = r#"{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"ask \"ana\"\n"}],"isError":true,"_meta":{"bitacora/refusal":"review","bitacora/call":"c1","bitacora/approval":"a7"}}}"#;
        assert_eq!(refusal.answer(&Id::Text("x".to_owned()), None), expected);
        let stateless = ToolCall::parse(Some(
            r#"{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
        ))
        .unwrap();
        assert!(
            refusal
                .answer(&Id::Number(1), Some(&stateless))
                .contains(r#""result":{"resultType":"complete","content""#)
        );
        assert_eq!(cut(&"ü".repeat(2_000)).len(), 2_000);
    }
}
