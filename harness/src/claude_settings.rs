//! The members of Claude Code's settings with which it was seen to run the hooks of the file, and the kinds of their values.
//!
//! Claude Code ignores a whole file in which a member that it knows is of another kind. Names and kinds follow its published
//! schema. `tests/harnesses/run` gives values of each kind to the program itself.

use crate::claude_variables::VARIABLES;
use crate::setting_kind::SettingKind::{
    AnyObject, Bool, Either, False, FullText, List, Map, Named, Number, Object, Share, Text, TextFrom,
    WebAddress, WholeFrom, Word,
};
use crate::setting_kind::{SettingKind, SettingMember};

const fn may(name: &'static str, kind: SettingKind) -> SettingMember {
    SettingMember { name, kind, is_needed: false }
}

const fn must(name: &'static str, kind: SettingKind) -> SettingMember {
    SettingMember { name, kind, is_needed: true }
}

const TEXTS: SettingKind = List(&Text);
const DISABLE: SettingKind = Word(&["disable"]);
const COMMAND: SettingKind = Word(&["command"]);

/// All members. What only whoever governs the machine can set is not listed, if it decides about hooks or other settings.
pub(crate) const CLAUDE_SETTINGS: SettingKind = Object(&[
    may("$schema", Text),
    may("advisorModel", Text),
    may("agent", Text),
    may("agentPushNotifEnabled", Bool),
    may("allowAllClaudeAiMcps", Bool),
    may("allowManagedMcpServersOnly", Bool),
    may("allowManagedPermissionRulesOnly", Bool),
    may("allowedHttpHookUrls", TEXTS),
    may("allowedMcpServers", MCP_SERVERS),
    may("alwaysThinkingEnabled", Bool),
    may("apiKeyHelper", Text),
    may("attribution", Object(&[may("commit", Text), may("pr", Text), may("sessionUrl", Bool)])),
    may("autoCompactEnabled", Bool),
    may("autoMemoryDirectory", Text),
    may("autoMemoryEnabled", Bool),
    may("autoMode", AUTO_MODE),
    may("autoScrollEnabled", Bool),
    may("autoUpdatesChannel", Word(&["latest", "stable"])),
    may("availableModels", TEXTS),
    may("awaySummaryEnabled", Bool),
    may("awsAuthRefresh", Text),
    may("awsCredentialExport", Text),
    may("axScreenReader", Bool),
    may("channelsEnabled", Bool),
    may("claudeMd", Text),
    may("claudeMdExcludes", TEXTS),
    may("cleanupPeriodDays", WholeFrom(1)),
    may("companyAnnouncements", TEXTS),
    may("defaultShell", Word(&["bash", "powershell"])),
    may("deniedMcpServers", MCP_SERVERS),
    may("disableAgentView", Bool),
    may("disableAllHooks", False),
    may("disableArtifact", Bool),
    may("disableAutoMode", DISABLE),
    may("disableBundledSkills", Bool),
    may("disableClaudeAiConnectors", Bool),
    may("disableDeepLinkRegistration", DISABLE),
    may("disableRemoteControl", Bool),
    may("disableSkillShellExecution", Bool),
    may("disableWorkflows", Bool),
    may("disabledMcpjsonServers", TEXTS),
    may("editorMode", Word(&["normal", "vim"])),
    may("effortLevel", Word(&["low", "medium", "high", "xhigh"])),
    may("enableAllProjectMcpServers", Bool),
    may("enabledMcpjsonServers", TEXTS),
    may("enabledPlugins", Map(&Either(&[Bool, TEXTS]))),
    may("enforceAvailableModels", Bool),
    may("env", Named(VARIABLES, &Text)),
    may("extraKnownMarketplaces", Map(&MARKETPLACE)),
    may("fallbackModel", TEXTS),
    may("fastMode", Bool),
    may("fastModePerSessionOptIn", Bool),
    may("feedbackSurveyRate", Share),
    may("fileCheckpointingEnabled", Bool),
    may("fileSuggestion", Object(&[must("type", COMMAND), must("command", Text)])),
    may("footerLinksRegexes", List(&FOOTER_LINK)),
    may("forceLoginMethod", Word(&["claudeai", "console"])),
    may("forceLoginOrgUUID", Text),
    may("gcpAuthRefresh", Text),
    may("hooks", Named(EVENTS, &List(&HOOK_GROUP))),
    may("httpHookAllowedEnvVars", TEXTS),
    may("includeCoAuthoredBy", Bool),
    may("includeGitInstructions", Bool),
    may("inputNeededNotifEnabled", Bool),
    may("language", Text),
    may("minimumVersion", Text),
    may("model", Text),
    may("modelOverrides", Map(&Text)),
    may("otelHeadersHelper", Text),
    may("outputStyle", Text),
    may("permissions", PERMISSIONS),
    may("plansDirectory", Text),
    may("pluginSuggestionMarketplaces", TEXTS),
    may("pluginTrustMessage", Text),
    may("prUrlTemplate", Text),
    may("preferredNotifChannel", Word(NOTIFICATION_CHANNELS)),
    may("prefersReducedMotion", Bool),
    may("remoteControlAtStartup", Bool),
    may("requiredMaximumVersion", Text),
    may("requiredMinimumVersion", Text),
    may("respectGitignore", Bool),
    may("respondToBashCommands", Bool),
    may("sandbox", SANDBOX),
    may("showClearContextOnPlanAccept", Bool),
    may("showThinkingSummaries", Bool),
    may("showTurnDuration", Bool),
    may("skillOverrides", Map(&Word(&["on", "name-only", "user-invocable-only", "off"]))),
    may("skipDangerousModePermissionPrompt", Bool),
    may("skipWebFetchPreflight", Bool),
    may("skippedMarketplaces", TEXTS),
    may("skippedPlugins", TEXTS),
    may("spinnerTipsEnabled", Bool),
    may("spinnerTipsOverride", Object(&[must("tips", TEXTS), may("excludeDefault", Bool)])),
    may("spinnerVerbs", Object(&[must("mode", Word(&["append", "replace"])), must("verbs", TEXTS)])),
    may("statusLine", STATUS_LINE),
    may("subagentStatusLine", Object(&[must("type", COMMAND), must("command", Text)])),
    may("syntaxHighlightingDisabled", Bool),
    may("teammateMode", Word(&["auto", "in-process", "tmux", "iterm2"])),
    may("terminalProgressBarEnabled", Bool),
    may("theme", Either(&[Word(THEMES), TextFrom(&["custom:"])])),
    may("tui", Word(&["fullscreen", "default"])),
    may("useAutoModeDuringPlan", Bool),
    may("verbose", Bool),
    may("viewMode", Word(&["default", "verbose", "focus"])),
    may("voice", VOICE),
    may("voiceEnabled", Bool),
    may("wheelScrollAccelerationEnabled", Bool),
    may("worktree", WORKTREE),
]);

const AUTO_MODE: SettingKind = Object(&[
    may("allow", TEXTS),
    may("classifyAllShell", Bool),
    may("environment", TEXTS),
    may("hard_deny", TEXTS),
    may("soft_deny", TEXTS),
]);

const FOOTER_LINK: SettingKind = Object(&[
    must("type", Word(&["regex"])),
    must("pattern", Text),
    must("url", WebAddress),
    may("label", Text),
]);

const MCP_SERVERS: SettingKind = List(&Either(&[
    Object(&[must("serverName", Text)]),
    Object(&[must("serverCommand", TEXTS)]),
    Object(&[must("serverUrl", Text)]),
]));

const MARKETPLACE: SettingKind = Object(&[must("source", MARKETPLACE_SOURCE), may("autoUpdate", Bool)]);
const MARKETPLACE_SOURCE: SettingKind = Either(&[
    Object(&[must("source", Word(&["github"])), must("repo", Text), may("ref", Text), may("path", Text)]),
    Object(&[must("source", Word(&["git"])), must("url", WebAddress), may("ref", Text), may("path", Text)]),
    Object(&[must("source", Word(&["url"])), must("url", WebAddress)]),
    Object(&[must("source", Word(&["file", "directory"])), must("path", Text)]),
]);

const PERMISSIONS: SettingKind = Object(&[
    may("additionalDirectories", TEXTS),
    may("allow", TEXTS),
    may("ask", TEXTS),
    may("defaultMode", Word(&["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"])),
    may("deny", TEXTS),
    may("disableAutoMode", DISABLE),
    may("disableBypassPermissionsMode", DISABLE),
]);

const SANDBOX: SettingKind = Object(&[
    may("allowAppleEvents", Bool),
    may("allowUnsandboxedCommands", Bool),
    may("autoAllowBashIfSandboxed", Bool),
    may("credentials", SANDBOX_CREDENTIALS),
    may("enableWeakerNestedSandbox", Bool),
    may("enableWeakerNetworkIsolation", Bool),
    may("enabled", Bool),
    may("enabledPlatforms", List(&Word(&["macos", "linux", "wsl", "windows"]))),
    may("excludedCommands", TEXTS),
    may("failIfUnavailable", Bool),
    may("filesystem", SANDBOX_FILES),
    may("ignoreViolations", Map(&TEXTS)),
    may("network", SANDBOX_NETWORK),
    may("ripgrep", Object(&[must("command", Text), may("args", TEXTS)])),
]);
const SANDBOX_CREDENTIALS: SettingKind =
    Object(&[may("files", List(&Object(&[must("path", FullText), must("mode", Word(&["deny"]))])))]);
const SANDBOX_FILES: SettingKind = Object(&[
    may("allowManagedReadPathsOnly", Bool),
    may("allowRead", TEXTS),
    may("allowWrite", TEXTS),
    may("denyRead", TEXTS),
    may("denyWrite", TEXTS),
]);
const SANDBOX_NETWORK: SettingKind = Object(&[
    may("allowAllUnixSockets", Bool),
    may("allowLocalBinding", Bool),
    may("allowMachLookup", TEXTS),
    may("allowManagedDomainsOnly", Bool),
    may("allowUnixSockets", TEXTS),
    may("allowedDomains", TEXTS),
    may("deniedDomains", TEXTS),
    may("httpProxyPort", WholeFrom(1)),
    may("socksProxyPort", WholeFrom(1)),
]);

const STATUS_LINE: SettingKind = Object(&[
    must("type", COMMAND),
    must("command", Text),
    may("hideVimModeIndicator", Bool),
    may("padding", Number),
    may("refreshInterval", WholeFrom(1)),
]);

const VOICE: SettingKind =
    Object(&[may("autoSubmit", Bool), may("enabled", Bool), may("mode", Word(&["hold", "tap"]))]);

const WORKTREE: SettingKind = Object(&[
    may("baseRef", Word(&["fresh", "head"])),
    may("bgIsolation", Word(&["worktree", "none"])),
    may("sparsePaths", TEXTS),
    may("symlinkDirectories", TEXTS),
]);

const NOTIFICATION_CHANNELS: &[&str] =
    &["auto", "terminal_bell", "iterm2", "iterm2_with_bell", "kitty", "ghostty", "notifications_disabled"];
const THEMES: &[&str] =
    &["auto", "dark", "light", "dark-daltonized", "light-daltonized", "dark-ansi", "light-ansi"];

/// The events of which hooks may stand beside ours.
const EVENTS: &[&str] = &[
    "ConfigChange",
    "CwdChanged",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "Notification",
    "PermissionDenied",
    "PermissionRequest",
    "PostCompact",
    "PostToolBatch",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "PreToolUse",
    "SessionEnd",
    "SessionStart",
    "Setup",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "UserPromptSubmit",
    "WorktreeCreate",
    "WorktreeRemove",
];
const HOOK_GROUP: SettingKind = Object(&[may("matcher", Text), must("hooks", List(&HOOK))]);
const HOOK: SettingKind = Either(&[
    Object(&[
        must("type", COMMAND),
        must("command", Text),
        may("args", TEXTS),
        may("async", Bool),
        may("asyncRewake", Bool),
        may("if", Text),
        may("once", Bool),
        may("rewakeMessage", FullText),
        may("shell", Word(&["bash", "powershell"])),
        may("statusMessage", Text),
        may("timeout", WholeFrom(1)),
    ]),
    Object(&[
        must("type", Word(&["prompt", "agent"])),
        must("prompt", Text),
        may("continueOnBlock", Bool),
        may("if", Text),
        may("model", Text),
        may("once", Bool),
        may("statusMessage", Text),
        may("timeout", WholeFrom(1)),
    ]),
    Object(&[
        must("type", Word(&["http"])),
        must("url", WebAddress),
        may("allowedEnvVars", TEXTS),
        may("headers", Map(&Text)),
        may("if", Text),
        may("once", Bool),
        may("statusMessage", Text),
        may("timeout", WholeFrom(1)),
    ]),
    Object(&[
        must("type", Word(&["mcp_tool"])),
        must("server", Text),
        must("tool", Text),
        may("if", Text),
        may("input", AnyObject),
        may("once", Bool),
        may("statusMessage", Text),
        may("timeout", WholeFrom(1)),
    ]),
]);
