//! The outcome of a tool call, in the vocabulary of governance.

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnding {
    Ok,
    /// Its program ended with an exit code that means failure; holds the code, where the source names it.
    ExitCode(Option<i64>),
    /// The harness refused the call as malformed or untimely.
    ToolUseError,
    Error,
    /// A person rejected it.
    Rejected,
    /// A hook blocked it.
    HookBlocked,
    /// A person interrupted it.
    Interrupted,
}

impl CallEnding {
    /// Parses the `outcome` of an action log. `Some(None)` is a call without one.
    pub(crate) fn of_action(outcome: &str) -> Option<Option<Self>> {
        Some(Some(match outcome {
            "none" => return Some(None),
            "ok" => Self::Ok,
            "exit_code" => Self::ExitCode(None),
            "tool_use_error" => Self::ToolUseError,
            "error" => Self::Error,
            "user_rejected" => Self::Rejected,
            "hook_blocked" => Self::HookBlocked,
            "interrupted" => Self::Interrupted,
            _ => return None,
        }))
    }

    /// Classifies a tool result of a transcript, which has only a flag and a text.
    pub(crate) fn of_result(text: &str, is_error: bool) -> Self {
        if !is_error {
            return Self::Ok;
        }
        if let Some(rest) = text.strip_prefix("Exit code ") {
            let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '-').collect();
            return Self::ExitCode(digits.parse().ok());
        }
        let is_hook = |text: &str| {
            let first = text.lines().next().unwrap_or_default();
            first.contains("PreToolUse:") || first.starts_with("Hook ")
        };
        if text.starts_with("The user doesn't want to") || text.contains("doesn't want to proceed") {
            Self::Rejected
        } else if text.starts_with("[Request interrupted by user") {
            Self::Interrupted
        } else if is_hook(text) {
            Self::HookBlocked
        } else if text.starts_with("<tool_use_error>") {
            Self::ToolUseError
        } else {
            Self::Error
        }
    }

    /// Returns the event's type.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Ok => "tool.completed",
            Self::ExitCode(_) | Self::ToolUseError | Self::Error | Self::Interrupted => "tool.failed",
            Self::Rejected | Self::HookBlocked => "tool.blocked",
        }
    }

    /// Returns the member `status`.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ExitCode(_) | Self::ToolUseError | Self::Error => "error",
            Self::Interrupted => "interrupted",
            Self::Rejected => "rejected",
            Self::HookBlocked => "blocked",
        }
    }

    /// Returns the member `error_type`.
    pub(crate) fn error_type(self) -> Option<&'static str> {
        match self {
            Self::ExitCode(_) => Some("exit_code"),
            Self::ToolUseError => Some("tool_use_error"),
            Self::Error => Some("error"),
            Self::Ok | Self::Interrupted | Self::Rejected | Self::HookBlocked => None,
        }
    }

    /// Returns the member `exit_code`.
    pub(crate) fn exit_code(self) -> Option<i64> {
        match self {
            Self::ExitCode(code) => code,
            _ => None,
        }
    }

    /// Returns the member `by`: `person` or `hook`, whichever blocked or interrupted the call.
    pub(crate) fn by(self) -> Option<&'static str> {
        match self {
            Self::Rejected | Self::Interrupted => Some("person"),
            Self::HookBlocked => Some("hook"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_told_by_its_flag_and_its_first_words() {
        let of = |text| CallEnding::of_result(text, true);
        assert_eq!(CallEnding::of_result("Exit code 1", false), CallEnding::Ok);
        assert_eq!(of("Exit code 101\nerror: no"), CallEnding::ExitCode(Some(101)));
        assert_eq!(of("Exit code unknown"), CallEnding::ExitCode(None));
        assert_eq!(of("The user doesn't want to proceed with this tool use."), CallEnding::Rejected);
        assert_eq!(of("[Request interrupted by user for tool use]"), CallEnding::Interrupted);
        assert_eq!(of("PreToolUse:Bash hook error: [x]: no"), CallEnding::HookBlocked);
        assert_eq!(of("Hook PreToolUse:Bash denied this tool"), CallEnding::HookBlocked);
        assert_eq!(of("<tool_use_error>File has not been read yet."), CallEnding::ToolUseError);
        assert_eq!(of("nothing\nPreToolUse: is not the first line"), CallEnding::Error);
    }

    #[test]
    fn an_outcome_that_is_not_known_is_not_guessed() {
        assert_eq!(CallEnding::of_action("none"), Some(None));
        assert_eq!(CallEnding::of_action("approved"), None);
        assert_eq!(
            CallEnding::of_action("user_rejected").flatten().map(CallEnding::kind),
            Some("tool.blocked")
        );
    }
}
