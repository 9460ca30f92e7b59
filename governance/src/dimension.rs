//! Questions about many dimensions.

use bitacora_formats::vocabulary::{Dimension, DimensionError, DimensionPart};

/// Which dimensions are meant: those that have each part that is named here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DimensionFilter {
    /// The tool; `None` means every one.
    pub tool: Option<DimensionPart>,
    /// The context.
    pub context: Option<DimensionPart>,
    /// The model.
    pub model: Option<DimensionPart>,
    /// What for.
    pub task_type: Option<DimensionPart>,
}

impl DimensionFilter {
    /// One part as a question has it: `*` means every one.
    ///
    /// # Errors
    /// Text that can be no part.
    pub fn part(text: &str) -> Result<Option<DimensionPart>, DimensionError> {
        if text == DimensionPart::EVERY { Ok(None) } else { DimensionPart::new(text).map(Some) }
    }

    /// Whether this dimension is meant.
    #[must_use]
    pub fn matches(&self, dimension: &Dimension) -> bool {
        let named = [&self.tool, &self.context, &self.model, &self.task_type];
        named
            .into_iter()
            .zip(dimension.parts())
            .all(|(named, part)| named.as_ref().is_none_or(|one| one.as_str() == part))
    }

    /// The one dimension that is meant, where every part is named. Only it has a streak, a score and a standing.
    #[must_use]
    pub fn exact(&self) -> Option<Dimension> {
        let parts = [&self.tool, &self.context, &self.model, &self.task_type].map(Option::as_ref);
        let [Some(tool), Some(context), Some(model), Some(task_type)] = parts else { return None };
        Some(Dimension::of([tool, context, model, task_type]))
    }
}

#[cfg(test)]
mod tests;
