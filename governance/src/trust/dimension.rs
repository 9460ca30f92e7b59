//! Filters over many dimensions, and sums of their records.

use bitacora_formats::Micros;
use bitacora_vocabulary::{Dimension, DimensionError, DimensionPart};

use crate::trust::record::TrustRecord;

/// A filter for dimensions: it matches those that have each part that is named here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DimensionFilter {
    /// The tool; `None` means every one.
    pub tool: Option<DimensionPart>,
    /// The context.
    pub context: Option<DimensionPart>,
    /// The model.
    pub model: Option<DimensionPart>,
    /// The task type.
    pub task_type: Option<DimensionPart>,
    /// The workspaces.
    pub workspace: WorkspaceFilter,
}

/// The workspaces of a filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WorkspaceFilter {
    /// Every one, and the record that is kept for all of them together.
    #[default]
    Every,
    /// None: the record that is kept for all of them together.
    Together,
    /// This one.
    Of(DimensionPart),
}

impl WorkspaceFilter {
    /// Reads a workspace from a query: `*` means every one, an empty text the record that is kept for all of them together.
    ///
    /// # Errors
    /// Text that can be no part.
    pub fn read(text: &str) -> Result<Self, DimensionError> {
        match text {
            DimensionPart::EVERY => Ok(Self::Every),
            "" => Ok(Self::Together),
            named => DimensionPart::new(named).map(Self::Of),
        }
    }

    /// Returns `true` if a dimension's workspace matches.
    #[must_use]
    pub fn matches(&self, workspace: Option<&str>) -> bool {
        match self {
            Self::Every => true,
            Self::Together => workspace.is_none(),
            Self::Of(named) => workspace == Some(named.as_str()),
        }
    }
}

impl DimensionFilter {
    /// Reads one part from a query: `*` means every one.
    ///
    /// # Errors
    /// Text that can be no part.
    pub fn part(text: &str) -> Result<Option<DimensionPart>, DimensionError> {
        if text == DimensionPart::EVERY { Ok(None) } else { DimensionPart::new(text).map(Some) }
    }

    /// Returns `true` if this dimension matches.
    #[must_use]
    pub fn matches(&self, dimension: &Dimension) -> bool {
        let named = [&self.tool, &self.context, &self.model, &self.task_type];
        let mut parts = named.into_iter().zip(dimension.parts());
        self.workspace.matches(dimension.workspace())
            && parts.all(|(named, part)| named.as_ref().is_none_or(|one| one.as_str() == part))
    }

    /// Returns the one dimension that is meant, where every part is named. Only it has a streak, a score and a standing.
    #[must_use]
    pub fn exact(&self) -> Option<Dimension> {
        let parts = [&self.tool, &self.context, &self.model, &self.task_type].map(Option::as_ref);
        let [Some(tool), Some(context), Some(model), Some(task_type)] = parts else { return None };
        let together = Dimension::of([tool, context, model, task_type]);
        match &self.workspace {
            WorkspaceFilter::Every => None,
            WorkspaceFilter::Together => Some(together),
            WorkspaceFilter::Of(workspace) => Some(together.in_workspace(Some(workspace))),
        }
    }
}

/// The sum of several dimensions' records. It has no streak, no score and no standing: no call belongs to all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrustSum {
    /// The number of dimensions.
    pub dimensions: u64,
    /// Calls that went well.
    pub approvals: u64,
    /// Those of them that no person approved.
    pub auto_approvals: u64,
    /// Calls that a person rejected.
    pub rejections: u64,
    /// Calls that failed.
    pub failures: u64,
    /// The time at which any of them last changed.
    pub last_updated: Option<Micros>,
}

impl TrustSum {
    /// Adds another dimension's record.
    pub fn add(&mut self, record: &TrustRecord) {
        self.dimensions += 1;
        self.approvals = self.approvals.saturating_add(record.approvals);
        self.auto_approvals = self.auto_approvals.saturating_add(record.auto_approvals);
        self.rejections = self.rejections.saturating_add(record.rejections);
        self.failures = self.failures.saturating_add(record.failures);
        self.last_updated = self.last_updated.max(record.last_updated);
    }
}

impl<'a> FromIterator<&'a TrustRecord> for TrustSum {
    fn from_iter<I: IntoIterator<Item = &'a TrustRecord>>(records: I) -> Self {
        let mut sum = Self::default();
        records.into_iter().for_each(|record| sum.add(record));
        sum
    }
}

#[cfg(test)]
mod tests;
