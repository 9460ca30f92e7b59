//! The members that executors send about a call, as the `tool.requested` that it becomes.
//! They are read once here, both to record the call and to predict its decision.

use std::fmt::Display;

use bitacora_formats::parse_usd;
use bitacora_vocabulary::{
    BlastRadius, BoundedText, CallArguments, MicroUsd, Milliseconds, Name, Sha256Text, ToolRequested,
};
use serde::Deserialize;

/// The members of an object that tell of a call. Each is taken once; one that is `null` is not there.
pub trait CallMembers<'a> {
    /// The error of a member.
    type Error;

    /// Takes a member that may be left out.
    ///
    /// # Errors
    /// It is there and does not fit.
    fn take<T: Deserialize<'a>>(&mut self, name: &'static str) -> Result<Option<T>, Self::Error>;

    /// Returns the error of a member that does not fit.
    fn bad(&self, name: &'static str, fault: &dyn Display) -> Self::Error;
}

/// Takes the members of a call that do not name its owner. The call's id, its run, if it has one, and its caller are known already.
///
/// # Errors
/// A member is missing, or does not fit.
pub fn take_call<'a, M: CallMembers<'a>>(
    members: &mut M,
    call: Name,
    run: Option<&str>,
) -> Result<ToolRequested, M::Error> {
    let args: Option<CallArguments> = members.take("args")?;
    let args_digest: Option<Sha256Text> = members.take("argsDigest")?;
    if args.is_some() == args_digest.is_some() {
        return Err(members.bad("args", &"either the arguments or `argsDigest` are sent"));
    }
    let tool: Option<Name> = members.take("tool")?;
    Ok(ToolRequested {
        call,
        tool: tool.ok_or_else(|| members.bad("tool", &"it is missing"))?,
        server: members.take("server")?,
        args,
        args_digest,
        model: members.take("model")?,
        task_type: members.take("task_type")?,
        run: run.map(Name::new).transpose().map_err(|error| members.bad("run", &error))?,
        cwd: members.take::<BoundedText<4096>>("cwd")?,
        idempotency_key: members.take("idempotencyKey")?,
        approval: members.take("approval")?,
        blast_radius: members.take::<BlastRadius>("blastRadius")?,
        estimated_cost: take_estimate(members)?,
        interactive: members.take("interactive")?,
        deadline_ms: members.take::<Milliseconds>("deadlineMs")?,
    })
}

fn take_estimate<'a, M: CallMembers<'a>>(members: &mut M) -> Result<Option<MicroUsd>, M::Error> {
    let Some(text) = members.take::<String>("estimate")? else { return Ok(None) };
    let micros = parse_usd(&text).map_err(|error| members.bad("estimate", &error))?;
    let cost = MicroUsd::new(u64::try_from(micros).unwrap_or(u64::MAX));
    cost.map(Some).map_err(|error| members.bad("estimate", &error))
}
