//! Dimensions as keys, and questions about many of them.

use bitacora_formats::vocabulary::{Dimension, DimensionError, DimensionPart};

/// A dimension as bytes: each part followed by a zero byte, which no part holds. Different dimensions have different keys, and keys are
/// ordered as their dimensions are.
#[must_use]
pub fn dimension_key(dimension: &Dimension) -> Vec<u8> {
    let parts = dimension.parts();
    let mut key = Vec::with_capacity(parts.iter().map(|part| part.len() + 1).sum());
    for part in parts {
        key.extend_from_slice(part.as_bytes());
        key.push(0);
    }
    key
}

/// The dimension of a key; `None` of bytes that are none.
#[must_use]
pub fn dimension_of_key(key: &[u8]) -> Option<Dimension> {
    let text = str::from_utf8(key).ok()?.strip_suffix('\0')?;
    let mut parts = text.split('\0');
    let dimension = Dimension::new(parts.next()?, parts.next()?, parts.next()?, parts.next()?).ok()?;
    parts.next().is_none().then_some(dimension)
}

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
            .all(|(named, part)| named.as_ref().is_none_or(|one| one == part))
    }

    /// The one dimension that is meant, where every part is named. Only it has a streak, a score and a standing.
    #[must_use]
    pub fn exact(&self) -> Option<Dimension> {
        Some(Dimension {
            tool: self.tool.clone()?,
            context: self.context.clone()?,
            model: self.model.clone()?,
            task_type: self.task_type.clone()?,
        })
    }
}

#[cfg(test)]
mod tests;
