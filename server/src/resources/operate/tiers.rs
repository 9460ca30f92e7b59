//! `…/tiers`: what decides from memory, what answers from this disk, and what lies in archives.

use std::sync::{Arc, PoisonError};

use axum::extract::State;
use axum::response::Response;
use bitacora_archiver::ArchiveScrubStatus;
use bitacora_formats::{Position, format_time};
use bitacora_projector::{IndexedLedger, ModelStatus, ReadModels};

use crate::api::Api;
use crate::problem::{Code, Problem};
use crate::requests::read_request::{ReadRequest, json_answer};
use crate::requests::service_event::governance;
use crate::resources::description::{AtLeast, InLedger, Refusals};
use crate::tiers::TierMemory;
use bitacora_api::{
    ArchiveTierAnswer, DiskTier, IndexTier, ModelTier, SegmentTier, StateTier, TiersAnswer, paths,
};

#[utoipa::path(
    get,
    path = paths::TIERS,
    tag = "operation",
    operation_id = "showTiers",
    params(InLedger, AtLeast),
    responses(
        (status = 200, description = "The tiers. Nothing is scanned for it: sizes are those that the service knows", body = TiersAnswer),
        Refusals,
    )
)]
pub(crate) async fn show(State(api): State<Arc<Api>>, request: ReadRequest) -> Result<Response, Problem> {
    request.takes_no_parameters()?;
    let head = request.state(&api).await?;
    let name = request
        .names
        .ledger
        .as_ref()
        .ok_or_else(|| Problem::new(Code::InvalidLedgerName, "the path names no ledger"))?;
    let scrub = api.metrics.archives.scrub(name);
    let (memory, ledger, position) = (api.tiers.of(name), request.ledger.clone(), head.position);
    let answer = api.read(move || {
        let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
        let hot = hot(&mut memory, &ledger)?;
        let mut cold = memory.cold(&ledger, position)?;
        drop(memory);
        if let Some(scrub) = scrub {
            note_scrub(&mut cold, &scrub);
        }
        Ok(TiersAnswer { hot, warm: warm(&ledger, position), cold })
    });
    json_answer(&head, &answer.await?)
}

/// Adds the results of the scrub over archives. A whole round read back every archive that was sealed before it began.
fn note_scrub(cold: &mut ArchiveTierAnswer, scrub: &ArchiveScrubStatus) {
    cold.faulty = scrub.faulty.iter().map(|fault| fault.what.clone()).collect();
    let Some((began, ended)) = scrub.completed else { return };
    cold.scrubbed = Some(format_time(ended));
    let began = format_time(began);
    for range in &mut cold.ranges {
        // Both are written with six digits behind the second, so that their order is that of their texts.
        if range.verified < began {
            range.verified.clone_from(&began);
        }
    }
}

fn hot(memory: &mut TierMemory, ledger: &IndexedLedger) -> Result<StateTier, Problem> {
    let copy = governance(ledger)?.copy();
    let counts = copy.state.counts();
    let size = memory.state_size(&copy).map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    Ok(StateTier {
        position: position_text(copy.through),
        dimensions: counts.dimensions,
        breakers: counts.breakers,
        open_calls: counts.open_calls,
        approvals: counts.approvals,
        tools: counts.tools,
        bytes: size.bytes,
        bytes_position: position_text(size.position),
    })
}

fn warm(ledger: &IndexedLedger, head: Position) -> DiskTier {
    let census = ledger.ledger().segment_census();
    let (status, index) = (ledger.status(), ledger.index_status());
    let models = ledger.read_models().map(ReadModels::status).unwrap_or_default();
    DiskTier {
        segments: SegmentTier {
            files: census.files,
            bytes: census.bytes,
            first: census.first.map(|first| first.to_string()),
            last: head.to_string(),
            since: census.first_time.map(format_time),
            proven: status.is_proven,
            scrubbed: status.scrub.completed.map(format_time),
        },
        index: IndexTier {
            state: index.state.name().to_owned(),
            position: position_text(index.position),
            blocks: index.blocks as u64,
            bytes: index.bytes,
        },
        models: models.iter().map(model).collect(),
    }
}

fn model(status: &ModelStatus) -> ModelTier {
    ModelTier {
        name: status.name.to_owned(),
        state: status.state.name().to_owned(),
        position: position_text(status.position),
        rows: status.digest.map(|(_, rows, _)| rows),
        cut: status.cut.filter(|_| status.left > 0).map(|cut| cut.to_string()),
        cold_rows: Some(status.left).filter(|left| *left > 0),
        late_events: Some(status.late).filter(|late| *late > 0),
        bytes: status.bytes,
    }
}

fn position_text(position: Option<Position>) -> String {
    position.map_or(0, Position::get).to_string()
}
