//! The table of all event types, in the order of their names.

use super::{EventType, EventWriter};
use crate::*;

/// Every type of the vocabulary, sorted by name.
pub static EVENT_TYPES: &[EventType] = &[
    EventType::governing::<AgentResumed>(
        EventWriter::Operators,
        "Calls of a suspended agent are decided again.",
        r#"{"agent":"coder-7","reason":"the loop is understood"}"#,
    ),
    EventType::governing::<AgentSuspended>(
        EventWriter::Operators,
        "Every call of one agent is denied from here on, in every mode.",
        r#"{"agent":"coder-7","by":"on-call","reason":"deletes what it should read"}"#,
    ),
    EventType::of::<AnnotationAdded>(
        EventWriter::Anyone,
        "A note beside the record; it changes nothing of what it is about.",
        r#"{"on":{"position":"918275"},"text":"this was the outage of the 5th","tags":["incident"]}"#,
    ),
    EventType::governing::<ApprovalConsumed>(
        EventWriter::Reactor,
        "An approval is used up by the call that it allowed.",
        r#"{"approval":"a-17","call":"c1"}"#,
    ),
    EventType::governing::<ApprovalRequested>(
        EventWriter::Reactor,
        "A call waits for a person.",
        r#"{"approval":"a-17","call":"c1","tool":"fs.write","action_digest":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","policy_version":2,"approvers":["operator"],"requested_by":"agent:0c4b1f2a9d3e","agent":"coder-7","expires":1795000000000000}"#,
    ),
    EventType::governing::<ApprovalResolved>(
        EventWriter::Operators,
        "A person, or the end of its time, has answered a request.",
        r#"{"approval":"a-17","resolution":"approved","by":"operator:77aa01f2c3d4","note":"once"}"#,
    ),
    EventType::of::<ArchiveSealed>(
        EventWriter::Service,
        "A range of events lies in an archive that was read back and found whole.",
        r#"{"archive":"main-1-918275","first":"1","last":"918275","bytes":61203944,"manifest_sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","store":"s3://evidence/main"}"#,
    ),
    EventType::governing::<BreakerClosed>(
        EventWriter::Reactor,
        "Calls in a dimension pass again.",
        r#"{"dimension":{"tool":"fs.write","context":"src/api","model":"claude-opus-4-5","task_type":"feature"},"by":"ana","reason":"the server is mended"}"#,
    ),
    EventType::governing::<BreakerConfigured>(
        EventWriter::Operators,
        "How a circuit breaker is set.",
        r#"{"dimension":{"tool":"fs.write","context":"src/api","model":"claude-opus-4-5","task_type":"feature"},"window":20,"failure_threshold":5,"recovery_probes":3,"cooldown_s":300}"#,
    ),
    EventType::governing::<BreakerHalfOpened>(
        EventWriter::Reactor,
        "Calls in a dimension pass as probes, each reviewed.",
        r#"{"dimension":{"tool":"fs.write","context":"src/api","model":"claude-opus-4-5","task_type":"feature"}}"#,
    ),
    EventType::governing::<BreakerOpened>(
        EventWriter::Reactor,
        "No call in a dimension passes until the cooldown is over.",
        r#"{"dimension":{"tool":"fs.write","context":"src/api","model":"claude-opus-4-5","task_type":"feature"},"outcomes":20,"bad":5,"cooldown_until":1795000300000000}"#,
    ),
    EventType::governing::<BudgetCharged>(
        EventWriter::Reactor,
        "An estimate was reserved for a call, settled by its outcome, or given back.",
        r#"{"budget":"coders","call":"c1","charge":"settled","amounts":{"cost_micro_usd":2300,"tokens":1800,"calls":1}}"#,
    ),
    EventType::governing::<BudgetConfigured>(
        EventWriter::Operators,
        "A budget has these limits from here on; without any it is lifted.",
        r#"{"budget":"coders","scope":{"role":"agent","task_type":"feature"},"limits":{"cost_micro_usd":50000000},"period":"thirty_days","on_exceed":"pause"}"#,
    ),
    EventType::governing::<BudgetExceeded>(
        EventWriter::Reactor,
        "A budget is spent, and a call has met its limit.",
        r#"{"budget":"coders","scope":{"role":"agent"},"limits":{"cost_micro_usd":50000000},"amounts":{"cost_micro_usd":50002300},"on_exceed":"pause","call":"c1"}"#,
    ),
    EventType::of::<CheckpointCopied>(
        EventWriter::Anyone,
        "What a thread of work holds is in another one, too.",
        r#"{"thread":"t1","to":"t2","namespace":"","checkpoint":"1f0c"}"#,
    ),
    EventType::of::<CheckpointDeleted>(
        EventWriter::Anyone,
        "A checkpoint, or a whole thread, is not to be gone on from.",
        r#"{"thread":"t1","namespace":"","checkpoint":"1f0c","keep_newest":false,"reason":"superseded"}"#,
    ),
    EventType::of::<CheckpointSaved>(
        EventWriter::Anyone,
        "The state of a thread of work was kept.",
        r#"{"thread":"t1","namespace":"sub:1","checkpoint":"1f0c","parent":"1f0b","step":3,"source":"loop","channel_versions":{"messages":4,"plan":"00000000000000000000000000000002.0.7"},"blobs":[{"channel":"messages","version":4,"digest":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","encoding":"msgpack","bytes":1834},{"channel":"plan","version":"00000000000000000000000000000002.0.7","encoding":"msgpack","inline":"a474657374","bytes":5}],"writes":[{"task":"act","path":"~__pregel_pull, act","replace":false,"writes":[{"channel":"messages","encoding":"msgpack","inline":"a474657374","bytes":5,"index":0}]}],"metadata":{"run_id":"r1"},"document":{"v":4,"versions_seen":{}}}"#,
    ),
    EventType::of::<CheckpointWrites>(
        EventWriter::Anyone,
        "What a task wrote behind a checkpoint, before the next one.",
        r#"{"thread":"t1","namespace":"sub:1","checkpoint":"1f0c","task":"act","path":"~__pregel_pull, act","replace":false,"writes":[{"channel":"messages","pieces":["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],"bytes":97,"index":0}]}"#,
    ),
    EventType::governing::<ClockAccepted>(
        EventWriter::Operators,
        "The time that the clock shows is taken, and calls are decided again.",
        r#"{"reason":"the machine had no network since noon"}"#,
    ),
    EventType::governing::<ClockCorrected>(
        EventWriter::Reactor,
        "Governed time goes on from the latest one, at the pace of the clock that was accepted.",
        r#"{"offset_us":86400000000}"#,
    ),
    EventType::governing::<ContractChecked>(
        EventWriter::Anyone,
        "What the checks of a contract found, before or after a step.",
        r#"{"contract":"edit","call":"c1","run":"r1","node":"act","phase":"post","checks":[{"type":"tests_pass","params":{"suite":"unit"},"passed":false,"found":"2 of 40 failed"}]}"#,
    ),
    EventType::governing::<ContractDefined>(
        EventWriter::Operators,
        "What is to hold before and after a step, and what is to be done where it does not. Who runs the step checks it.",
        r#"{"contract":"edit","pre":[{"type":"tree_clean","params":{}}],"post":[{"type":"tests_pass","params":{"suite":"unit"}}],"rollback":[{"type":"git_restore","params":{}}],"blast_radius":"low"}"#,
    ),
    EventType::of::<CoverageGap>(
        EventWriter::Anyone,
        "A call was seen elsewhere, and half of its record is missing here.",
        r#"{"call":"c1","evidence":"line 40 of the transcript of session 42","missing":"decision"}"#,
    ),
    EventType::governing::<DecisionMade>(
        EventWriter::Reactor,
        "What was said of a call, by which step, and what it rests on.",
        r#"{"call":"c1","verdict":"review","mode":"enforce","reason_code":"trust-require-review","reason":"12 of 14 calls like this were good; a person has to say so","rule":"edit-src","ladder":["panic",{"step":"trust","verdict":"review","code":"trust-require-review"}],"inputs":{"dimension":{"tool":"fs.write","context":"src/**","model":"-","task_type":"feature"},"approvals":12,"rejections":2,"failures":0,"recent_failures":0,"streak":2,"role":"agent","last_updated":1794999999000000,"score":7892,"breaker":"closed","policy_version":2,"registry_revision":9,"reactor_version":1,"action_digest":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},"approval":"a-17","expires":1795000000000000,"deadline":1795000030000000,"obligations":{"timeout_ms":5000,"max_retries":1,"backoff_ms":200}}"#,
    ),
    EventType::of::<ExportMade>(
        EventWriter::Service,
        "Events were written to a file; its manifest has this digest.",
        r#"{"format":"jsonl","selection":"type=tool.requested","rows":4012,"first":"7","last":"918275","bytes":2113041,"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","manifest_sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}"#,
    ),
    EventType::governing::<GrantGiven>(
        EventWriter::Operators,
        "A person consents to calls within a scope, until a time.",
        r#"{"grant":"g-3","scope":{"tool":"fs.write","context":"src/**","agent":"coder-7"},"expires":1795000000000000,"note":"for the release"}"#,
    ),
    EventType::governing::<GrantRevoked>(
        EventWriter::Operators,
        "That consent holds no longer.",
        r#"{"grant":"g-3","note":"released"}"#,
    ),
    EventType::governing::<HoldPlaced>(
        EventWriter::Service,
        "What it covers is neither removed nor erased while it holds.",
        r#"{"hold":"case-7","scope":{"key":"8d2f0c5e9b7a41633e5d0f1c2b4a6978","first":"1","last":"918275","stream":"orders"},"by":"counsel","reason":"the proceedings of case 7"}"#,
    ),
    EventType::governing::<HoldReleased>(
        EventWriter::Service,
        "What a hold covered may be removed and erased again.",
        r#"{"hold":"case-7","by":"counsel","reason":"case 7 is closed"}"#,
    ),
    EventType::governing::<ImportAccepted>(
        EventWriter::Admins,
        "From here on an import counts towards trust.",
        r#"{"digest":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","note":"its report was read"}"#,
    ),
    EventType::governing::<ImportBatch>(
        EventWriter::Admins,
        "An import came to its end.",
        r#"{"digest":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","mapping":"claude-code","counts":{"files":1,"lines":40,"bytes":91822,"events":71,"unmapped":0,"passed_over":3,"without_outcome":1,"types":{"tool.requested":31,"tool.completed":30}},"sources":[{"name":"s.jsonl","mapping":"claude-code","sha256":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","bytes":91822,"lines":40,"events":71}]}"#,
    ),
    EventType::of::<KeyRotated>(
        EventWriter::Service,
        "Another key is used from here on; the old one stays, for reading.",
        r#"{"purpose":"encryption","key":"k-2","previous":"k-1","reason":"once a year"}"#,
    ),
    EventType::governing::<LedgerClockJumped>(
        EventWriter::Service,
        "The machine's clock jumped: calls are denied until an operator accepts its time.",
        r#"{"from":1795305600000000,"to":1795309200000000,"direction":"forward"}"#,
    ),
    EventType::governing::<LedgerCreated>(
        EventWriter::Service,
        "The first event of every ledger.",
        r#"{"ledger":"07070707070707070707070707070707","name":"main","generation":1,"signingKey":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","limits":{"segmentBytes":67108864,"requestBytes":16777216},"reactorVersion":0}"#,
    ),
    EventType::of::<LedgerFramesPutBack>(
        EventWriter::Service,
        "Frames that the disk turned out not to have are back in their places, from quarantine.",
        r#"{"segment":"0000000002.seg","offset":4096,"bytes":211,"quarantine":"0000000002.seg@4096.0.g1","hash":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}"#,
    ),
    EventType::of::<LedgerHeaded>(
        EventWriter::Service,
        "A tree head is about to be signed.",
        r#"{"size":"918275","hash":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}"#,
    ),
    EventType::governing::<LedgerOpened>(
        EventWriter::Service,
        "The ledger was opened for writing.",
        r#"{"epoch":3,"reactorVersion":0,"serviceVersion":"0.1.0"}"#,
    ),
    EventType::of::<LedgerReadOnly>(
        EventWriter::Service,
        "Appends are not taken any more.",
        r#"{"reason":"the disk is full"}"#,
    ),
    EventType::of::<LedgerRecovered>(
        EventWriter::Service,
        "A generation begins, after a loss that was declared.",
        r#"{"generation":2,"lostHead":{"size":"918275","root":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","note":"main\n918275\n"},"anchored":"main\n918275\n","retained":{"size":"900000","root":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","hash":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}}"#,
    ),
    EventType::of::<LedgerTailCut>(
        EventWriter::Service,
        "An opening cut torn bytes off.",
        r#"{"segment":"00000001.seg","offset":4096,"bytes":211,"quarantine":"00000001.seg@4096"}"#,
    ),
    EventType::of::<LedgerWritable>(EventWriter::Service, "Appends are taken again.", r#"{}"#),
    EventType::governing::<LoopDetected>(
        EventWriter::Reactor,
        "The same call again and again, or too many steps.",
        r#"{"call":"c3","kind":"identical_calls","tool":"fs.read","args_digest":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","count":3,"session":"s1","run":"r1"}"#,
    ),
    EventType::governing::<ModeConfigured>(
        EventWriter::Operators,
        "Whether verdicts are meant, or only recorded.",
        r#"{"mode":"enforce","scope":{"tool":"fs.write"},"note":"two weeks observed"}"#,
    ),
    EventType::of::<ModelCalled>(
        EventWriter::Anyone,
        "A model was asked, and how that ended.",
        r#"{"model":"claude-opus-4-5","provider":"anthropic","tokens":{"in":900,"out":260,"cache_read":41000,"cache_write":0},"cost_micro_usd":31500,"duration_ms":1400,"status":"ok"}"#,
    ),
    EventType::governing::<PanicEngaged>(
        EventWriter::Operators,
        "Every call is denied from here on, in every mode.",
        r#"{"by":"on-call","reason":"production is down"}"#,
    ),
    EventType::governing::<PanicReleased>(
        EventWriter::Operators,
        "Calls are decided again.",
        r#"{"reason":"it is up again"}"#,
    ),
    EventType::governing::<PolicyActivated>(
        EventWriter::Operators,
        "From here on calls are judged by a policy, and by no other.",
        r#"{"version":2,"note":"from Monday on"}"#,
    ),
    EventType::governing::<PolicyPublished>(
        EventWriter::Operators,
        "A policy is there to be activated; it never changes again.",
        r#"{"version":2,"digest":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","rules":[{"id":"edit-src","match":{"tool":"fs.write","context":["src/**","tests/**"],"arguments":[{"pointer":"/path","glob":"*.rs"}],"risk":"write"},"action":"allow","reason":"sources are reviewed later","min_trust_score":9000}],"trust":{"auto_approve_score":9000,"auto_approve_approvals":20,"review_score":5000,"blocking_failures":5,"failures_counted":"recent","min_observations":5,"streak_bonus":100,"max_streak_bonus":1000,"half_life_s":2592000,"blocked_may_be_probed":true},"key_life_s":86400,"author":"operator:77aa01f2c3d4","parent":1,"note":"tests too"}"#,
    ),
    EventType::governing::<PolicyRetired>(
        EventWriter::Operators,
        "A policy cannot be activated any more.",
        r#"{"version":1,"note":"too wide"}"#,
    ),
    EventType::governing::<PrincipalCreated>(
        EventWriter::Admins,
        "Whoever shows the token may use the ledger from here on, in one role.",
        r#"{"principal":"coder-7-laptop","role":"agent","name":"the laptop of coder-7","agent":"coder-7","token_hash":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","expires":1797592000000000}"#,
    ),
    EventType::governing::<PrincipalExpired>(
        EventWriter::Admins,
        "A token's time was over; it was not taken from then on.",
        r#"{"principal":"coder-7-laptop"}"#,
    ),
    EventType::governing::<PrincipalRevoked>(
        EventWriter::Admins,
        "A token is not taken any more.",
        r#"{"principal":"coder-7-laptop","note":"the laptop is lost"}"#,
    ),
    EventType::governing::<RateConfigured>(
        EventWriter::Operators,
        "How many calls are taken in a time.",
        r#"{"scope":{"by":"tool","name":"http.fetch"},"limit":{"burst":20,"refill":10,"period_ms":60000}}"#,
    ),
    EventType::of::<RetentionApplied>(
        EventWriter::Service,
        "A segment whose events lie in archives is let go here. It is recorded before the segment goes, of each once.",
        r#"{"first":"1","last":"400000","segments":1,"bytes":67108864,"reason":"every event of them was read back from an archive"}"#,
    ),
    EventType::governing::<RetentionChanged>(
        EventWriter::Service,
        "The whole retention policy from here on: how long events are kept. Without a rule everything is kept.",
        r#"{"rules":[{"rule":"outcomes","keep_days":90,"types":["tool.completed","tool.failed"],"streams":["agent/*"],"subjects":true,"shorter_because":"the works council's agreement of May"}],"by":"privacy","reason":"ticket 4711"}"#,
    ),
    EventType::of::<RetentionExpired>(
        EventWriter::Service,
        "Events whose time under the retention policy was over were removed from an archive.",
        r#"{"first":"1","last":"918275","events":4012,"archive":"main-1-918275.r2","revision":2,"manifest_sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","policy":"918301"}"#,
    ),
    EventType::of::<RollbackExecuted>(
        EventWriter::Anyone,
        "What a broken contract was answered with. It is recorded as it is told; nothing is rolled back here.",
        r#"{"contract":"edit","call":"c1","run":"r1","node":"act","status":"ok","steps":[{"type":"git_restore","params":{},"passed":true}],"reason":"2 of 40 tests failed"}"#,
    ),
    EventType::of::<RunAborted>(
        EventWriter::Anyone,
        "Somebody ended a run.",
        r#"{"run":"r1","by":"ana","reason":"the wrong branch"}"#,
    ),
    EventType::of::<RunCompleted>(
        EventWriter::Anyone,
        "A run came to its end.",
        r#"{"run":"r1","status":"success","steps":7,"tokens":{"in":9000,"out":2600},"cost_micro_usd":310000,"duration_ms":61000}"#,
    ),
    EventType::of::<RunFailed>(
        EventWriter::Anyone,
        "An error ended a run.",
        r#"{"run":"r1","node":"act","error_type":"timeout","reason":"the tool did not answer in 30 s"}"#,
    ),
    EventType::governing::<RunOverdue>(
        EventWriter::Reactor,
        "A run has told no end for the time that the policy gives it. It goes on; who runs it should look.",
        r#"{"run":"r1","began":1795305600000000}"#,
    ),
    EventType::of::<RunPaused>(
        EventWriter::Anyone,
        "A run waits.",
        r#"{"run":"r1","node":"act","reason":"approval a-17"}"#,
    ),
    EventType::of::<RunResumed>(
        EventWriter::Anyone,
        "A run goes on.",
        r#"{"run":"r1","checkpoint":"1f0c","reason":"approved"}"#,
    ),
    EventType::of::<RunStarted>(
        EventWriter::Anyone,
        "A graph or a task began.",
        r#"{"run":"r1","kind":"graph","graph":"support","agent":"support-3","case":"3","subtask":"refund","budget":{"cost_micro_usd":500000,"tokens":200000,"calls":40},"parent":"r0"}"#,
    ),
    EventType::of::<RunStep>(
        EventWriter::Anyone,
        "A node of a run began, or came to its end.",
        r#"{"run":"r1","node":"act","node_type":"agent","status":"ok","attempt":1,"iteration":3,"action":"edit_file","duration_ms":1800,"input":{"bytes":52},"output":{"bytes":17},"summary":"14 bytes written","model":"claude-opus-4-5","tokens":{"in":900,"out":260},"cost_micro_usd":31500}"#,
    ),
    EventType::governing::<SchemaRegistered>(
        EventWriter::Operators,
        "Events of a type outside this vocabulary are taken where their data fits a schema.",
        r#"{"type":"ticket.opened","version":1,"description":"a customer wrote","schema":{"type":"object","required":["ticket"],"properties":{"ticket":{"type":"string","maxLength":64}}}}"#,
    ),
    EventType::of::<SessionEnded>(
        EventWriter::Anyone,
        "A session is over.",
        r#"{"reason":"exit","totals":{"turns":4,"calls":31,"events":71,"tokens":{"in":9000,"out":2600},"cost_micro_usd":310000,"duration_ms":610000}}"#,
    ),
    EventType::of::<SessionStarted>(
        EventWriter::Anyone,
        "An agent began to work with its harness.",
        r#"{"harness":"claude-code","version":"2.0.76","model":"claude-opus-4-5","cwd":"/home/ana/ledger"}"#,
    ),
    EventType::of::<SubjectErased>(
        EventWriter::Service,
        "The key of a data subject was destroyed, and what was sealed under it is unreadable everywhere.",
        r#"{"key":"8d2f0c5e9b7a41633e5d0f1c2b4a6978","authority":"ticket 4711","by":"privacy","reason":"the subject asked for it"}"#,
    ),
    EventType::of::<SuggestionAccepted>(
        EventWriter::Operators,
        "An operator takes a suggestion; recorded by answering it, together with the policy that has its rule.",
        r#"{"suggestion":"s-5","by":"ana","note":"from Monday on"}"#,
    ),
    EventType::of::<SuggestionMade>(
        EventWriter::Reactor,
        "A rule is proposed that the history speaks for; nothing changes by it.",
        r#"{"suggestion":"s-5","evidence":["918275","918301"],"rule":{"id":"edit-src","match":{"tool":"fs.write","context":["src/**","tests/**"],"arguments":[{"pointer":"/path","glob":"*.rs"}],"risk":"write"},"action":"allow","reason":"sources are reviewed later","min_trust_score":9000},"reason":"400 of 400 were good","kind":"promote","dimension":{"tool":"fs.write","context":"src","model":"-","task_type":"-"},"observations":400}"#,
    ),
    EventType::of::<SuggestionRejected>(
        EventWriter::Operators,
        "An operator does not take a suggestion; recorded by answering it.",
        r#"{"suggestion":"s-5","note":"too wide"}"#,
    ),
    EventType::of::<TelemetryAgent>(
        EventWriter::Anyone,
        "An agent or a workflow was made or called, as its own telemetry says.",
        r#"{"assurance":"self_reported","signal":"span","name":"invoke_agent planner","operation":"invoke_agent","agent":"planner","agent_id":"a-7","model":"gpt-5","provider":"openai","tokens":{"in":1200,"out":80},"status":"error","error_type":"timeout","duration_ms":5120,"ended":"2026-11-20T13:00:05.12Z","service":"support","scope":"my.agents","parent":"00f067aa0ba902b7","body":"x","attributes":{"gen_ai.output.type":"text"}}"#,
    ),
    EventType::of::<TelemetryDecision>(
        EventWriter::Anyone,
        "A coding agent's own rules or user decided about a call, as its own telemetry says.",
        r#"{"assurance":"self_reported","signal":"log","name":"claude_code.tool_decision","tool":"Bash","call":"toolu_01","decision":"reject","by":"user_reject","status":"ok","error_type":"none","duration_ms":1,"ended":"2026-11-20T13:00:05Z","service":"claude-code","scope":"com.anthropic.claude_code.events","parent":"00f067aa0ba902b7","body":"x","attributes":{"event.sequence":3}}"#,
    ),
    EventType::of::<TelemetryEvent>(
        EventWriter::Anyone,
        "Another record of an agent's telemetry.",
        r#"{"assurance":"self_reported","signal":"log","name":"claude_code.user_prompt","operation":"plan","status":"ok","error_type":"none","duration_ms":1,"ended":"2026-11-20T13:00:05Z","service":"claude-code","scope":"com.anthropic.claude_code.events","parent":"00f067aa0ba902b7","body":"x","attributes":{"prompt_length":34}}"#,
    ),
    EventType::of::<TelemetryModel>(
        EventWriter::Anyone,
        "A model was called, as its caller's telemetry says.",
        r#"{"assurance":"self_reported","signal":"span","name":"chat gpt-5","operation":"chat","model":"gpt-5","provider":"openai","tokens":{"in":1200,"out":80,"cache_read":1000,"cache_write":10},"cost_micro_usd":1830,"status":"ok","error_type":"none","duration_ms":900,"ended":"2026-11-20T13:00:05Z","service":"support","scope":"my.agents","parent":"00f067aa0ba902b7","body":"x","attributes":{"gen_ai.response.id":"r1"}}"#,
    ),
    EventType::of::<TelemetryTool>(
        EventWriter::Anyone,
        "A tool ran, as its caller's telemetry says.",
        r#"{"assurance":"self_reported","signal":"span","name":"execute_tool get_weather","tool":"get_weather","call":"call_1","status":"ok","error_type":"none","duration_ms":12,"ended":"2026-11-20T13:00:05Z","service":"support","scope":"my.agents","parent":"00f067aa0ba902b7","body":"x","attributes":{"gen_ai.tool.type":"function"}}"#,
    ),
    EventType::governing::<ToolBlocked>(
        EventWriter::Anyone,
        "A call was not made.",
        r#"{"call":"c1","tool":"fs.write","status":"rejected","by":"person"}"#,
    ),
    EventType::governing::<ToolChanged>(
        EventWriter::Operators,
        "A registered tool is this from here on, as a whole.",
        r#"{"tool":"fs.write","version":"4","description":"writes a file","input_schema":{"type":"object"},"risk":"write","blast_radius":"low","requires_review":false,"allowed_roles":["agent"],"estimated_cost_micro_usd":0,"timeout_ms":5000,"retry":{"max":1,"backoff_ms":200},"idempotency":"keyed","binding_fields":["/path","/content"],"context_from":{"pointer":"/path","normaliser":"path"},"destinations":[{"pointer":"/path","kind":"path","globs":["src/**"]}]}"#,
    ),
    EventType::governing::<ToolCompleted>(
        EventWriter::Anyone,
        "A call was made, and did what it should.",
        r#"{"call":"c1","tool":"fs.write","status":"ok","exit_code":0,"duration_ms":40,"tokens":{"in":900,"out":260},"cost_micro_usd":2300,"input":{"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","bytes":52},"output":{"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","bytes":17},"summary":"14 bytes written","artifacts":["src/a.rs",{"path":"target/report.html","type":"text/html","digest":"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}],"post_check_passed":true}"#,
    ),
    EventType::of::<ToolDescribed>(
        EventWriter::Anyone,
        "A server defines a tool that it did not define before.",
        r#"{"tool":"mcp__files__write","digest":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","definition":"{\"description\":\"writes a file\",\"inputSchema\":{\"type\":\"object\"},\"name\":\"write\"}"}"#,
    ),
    EventType::of::<ToolDrifted>(
        EventWriter::Anyone,
        "A server defines a tool otherwise than expected; its calls are held until an operator registers it.",
        r#"{"tool":"mcp__files__write","digest":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","expected":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","definition":"{\"description\":\"writes any file\",\"inputSchema\":{\"type\":\"object\"},\"name\":\"write\"}"}"#,
    ),
    EventType::governing::<ToolFailed>(
        EventWriter::Anyone,
        "A call was made, and did not come to its end.",
        r#"{"call":"c1","tool":"bash","status":"error","error_type":"exit_code","exit_code":101,"duration_ms":900,"output":{"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","bytes":1400},"summary":"error: could not compile"}"#,
    ),
    EventType::governing::<ToolRegistered>(
        EventWriter::Operators,
        "A tool may be called from here on.",
        r#"{"tool":"fs.write","version":"3","description":"writes a file","input_schema":{"type":"object"},"risk":"write","blast_radius":"low","requires_review":false,"allowed_roles":["agent"],"estimated_cost_micro_usd":0,"timeout_ms":5000,"retry":{"max":1,"backoff_ms":200},"idempotency":"keyed","binding_fields":["/path","/content"],"context_from":{"pointer":"/path","normaliser":"path"},"destinations":[{"pointer":"/path","kind":"path","globs":["src/**"]}]}"#,
    ),
    EventType::governing::<ToolRequested>(
        EventWriter::Anyone,
        "An agent asks to call a tool.",
        r#"{"call":"c1","tool":"fs.write","server":"files","args":{"path":"src/a.rs","content":"fn main() {}"},"model":"claude-opus-4-5","task_type":"feature","run":"r1","cwd":"/home/ana/ledger","idempotency_key":"k1","approval":"a-17","blast_radius":"low","estimated_cost_micro_usd":0,"interactive":true,"deadline_ms":30000}"#,
    ),
    EventType::governing::<ToolRevoked>(
        EventWriter::Operators,
        "A tool may no longer be called.",
        r#"{"tool":"fs.write","server":"files","reason":"replaced"}"#,
    ),
    EventType::governing::<TrustObserved>(
        EventWriter::Reactor,
        "The outcome of a call, as far as trust in its dimension goes.",
        r#"{"dimension":{"tool":"fs.write","context":"src/api","model":"claude-opus-4-5","task_type":"feature"},"outcome":"approved","post_check_passed":true,"duration_ms":40,"tokens":1160,"cost_micro_usd":2300,"call":"c1","assurance":"imported"}"#,
    ),
    EventType::governing::<TrustProbed>(
        EventWriter::Operators,
        "Calls of a blocked dimension are reviewed for a while.",
        r#"{"dimension":{"tool":"fs.write","context":"src/api","model":"claude-opus-4-5","task_type":"feature"},"expires":1795312800000000,"by":"ana","reason":"the disk is mended"}"#,
    ),
    EventType::governing::<TrustSet>(
        EventWriter::Operators,
        "Counts of an operator take the place of a dimension's own.",
        r#"{"dimension":{"tool":"fs.write","context":"src/api","model":"claude-opus-4-5","task_type":"feature"},"counts":{"approvals":20,"rejections":0,"failures":0,"streak":20},"by":"ana","reason":"as on the other machine"}"#,
    ),
    EventType::of::<TurnEnded>(
        EventWriter::Anyone,
        "A turn came to its end.",
        r#"{"stop_reason":"end_turn","duration_ms":41000}"#,
    ),
    EventType::of::<TurnStarted>(
        EventWriter::Anyone,
        "An agent was prompted; of the prompt its digest is kept.",
        r#"{"prompt":{"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","bytes":120},"source":"user"}"#,
    ),
    EventType::of::<WarmCut>(
        EventWriter::Service,
        "Rows of read models that no event behind this position wrote leave the store.",
        r#"{"through":"918275","keep_days":365}"#,
    ),
];
