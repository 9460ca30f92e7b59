//! States and their differences, for people and as JSON.

use bitacora_governance::{StateDifference, StateDigests};
use serde_json::{Value, json};

use super::ReplayFailure;
use super::fold::{Earlier, FoldResult};
use crate::error::CommandError;
use crate::terminal::output::{Output, OutputError, printable};

/// The most differences that are shown; the rest are only counted.
const MAX_SHOWN_DIFFERENCES: usize = 1_000;
/// The most characters of a value on a line for people.
const SHOWN_VALUE_CHARACTERS: usize = 120;

/// Writes one state.
pub(super) fn state(
    result: &FoldResult,
    digest_only: bool,
    as_json: bool,
    output: &mut Output,
) -> Result<(), CommandError> {
    let digests = result.state.digests().map_err(ReplayFailure::from)?;
    if as_json {
        let value = if digest_only { digest_json(result, &digests) } else { whole_json(result, &digests) };
        output.json(&value)?;
    } else if digest_only {
        output.line(format_args!("{} {}", result.position, digests.state))?;
    } else {
        lines(result, &digests, output)?;
    }
    Ok(())
}

/// Writes the differences between two states; returns `true` if there are none.
pub(super) fn differences(
    one: &FoldResult,
    other: &FoldResult,
    as_json: bool,
    output: &mut Output,
) -> Result<bool, CommandError> {
    let digests = |result: &FoldResult| result.state.digests().map_err(ReplayFailure::from);
    let (digest, other_digest) = (digests(one)?, digests(other)?);
    let found = one.state.differences(&other.state, MAX_SHOWN_DIFFERENCES).map_err(ReplayFailure::from)?;
    let same = digest.state == other_digest.state;
    if as_json {
        output.json(&json!({
            "same": same,
            "states": [digest_json(one, &digest), digest_json(other, &other_digest)],
            "found": found.found,
            "differences": found.shown.iter().map(difference_json).collect::<Vec<_>>(),
        }))?;
        return Ok(same);
    }
    output.line(format_args!("{} {}", one.position, digest.state))?;
    output.line(format_args!("{} {}", other.position, other_digest.state))?;
    for difference in &found.shown {
        difference_lines(difference, output)?;
    }
    let hidden = found.found - found.shown.len() as u64;
    if hidden > 0 {
        output.line(format_args!("and {hidden} more"))?;
    }
    Ok(same)
}

fn lines(result: &FoldResult, digests: &StateDigests, output: &mut Output) -> Result<(), OutputError> {
    let counts = result.state.counts();
    let policy = result.state.all_policies().active_version();
    output.line(format_args!("position   {}", result.position))?;
    output.line(format_args!("digest     {}", digests.state))?;
    match result.began_after {
        None => {}
        Some(Earlier::Replay(after)) => {
            output.line(format_args!("resumed    after {after}, as an earlier replay left it"))?;
        }
        Some(Earlier::Archive(after)) => {
            output.line(format_args!("began      after {after}, with the state that its archive keeps"))?;
        }
    }
    output.line(format_args!(
        "events     {} of {} govern, {} a second",
        result.governing,
        result.position,
        rate(result)
    ))?;
    let imported = counts.imported_dimensions;
    output.line(format_args!("dimensions {}, and {imported} brought from elsewhere", counts.dimensions))?;
    output.line(format_args!("breakers   {}, {} not closed", counts.breakers, counts.breakers_not_closed))?;
    output.line(format_args!("open calls {}", counts.open_calls))?;
    output.line(format_args!("approvals  {}, {} pending", counts.approvals, counts.approvals_pending))?;
    output.line(format_args!("tools      {}", counts.tools))?;
    match policy {
        Some(version) => output.line(format_args!("policy     version {version}, of {}", counts.policies)),
        None => output.line(format_args!("policy     none is active, of {}", counts.policies)),
    }
}

fn whole_json(result: &FoldResult, digests: &StateDigests) -> Value {
    let counts = result.state.counts();
    let mut value = digest_json(result, digests);
    let more = json!({
        "events": result.position.to_string(),
        "governing": result.governing.to_string(),
        "tookMs": u64::try_from(result.took.as_millis()).unwrap_or(u64::MAX),
        "eventsPerSecond": rate(result),
        "dimensions": counts.dimensions,
        "importedDimensions": counts.imported_dimensions,
        "breakers": counts.breakers,
        "breakersNotClosed": counts.breakers_not_closed,
        "openCalls": counts.open_calls,
        "approvals": counts.approvals,
        "approvalsPending": counts.approvals_pending,
        "tools": counts.tools,
        "policies": counts.policies,
        "policyVersion": result.state.all_policies().active_version().map(|version| version.to_string()),
    });
    if let (Value::Object(all), Value::Object(more)) = (&mut value, more) {
        all.extend(more);
    }
    value
}

fn digest_json(result: &FoldResult, digests: &StateDigests) -> Value {
    let after = |is_it: fn(&Earlier) -> bool| {
        let earlier = result.began_after.filter(is_it);
        earlier.map(|earlier| earlier.position().to_string())
    };
    let parts = digests.parts.iter().map(|(part, digest)| (part.name.to_owned(), digest.to_string().into()));
    json!({
        "position": result.position.to_string(),
        "digest": digests.state.to_string(),
        "parts": parts.collect::<serde_json::Map<_, _>>(),
        "resumedAfter": after(|earlier| matches!(earlier, Earlier::Replay(_))),
        "archivedAfter": after(|earlier| matches!(earlier, Earlier::Archive(_))),
    })
}

fn difference_json(difference: &StateDifference) -> Value {
    json!({
        "part": difference.part,
        "key": difference.key,
        "one": difference.one,
        "other": difference.other,
    })
}

fn difference_lines(difference: &StateDifference, output: &mut Output) -> Result<(), OutputError> {
    output.line(format_args!("{} {}", difference.part, printable(&difference.key)))?;
    for (sign, value) in [('-', &difference.one), ('+', &difference.other)] {
        if let Some(value) = value {
            output.line(format_args!("  {sign} {}", shortened(value)))?;
        }
    }
    Ok(())
}

fn shortened(value: &Value) -> String {
    let text = printable(&value.to_string());
    match text.char_indices().nth(SHOWN_VALUE_CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Returns the number of events folded in a second.
fn rate(result: &FoldResult) -> u64 {
    let millis = result.took.as_millis().max(1);
    u64::try_from(u128::from(result.position.get()) * 1_000 / millis).unwrap_or(u64::MAX)
}
