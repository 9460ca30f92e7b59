//! temporary
use bitacora_formats::Event;
pub(crate) struct Redactor;
impl Redactor {
    pub(crate) fn new() -> Self {
        Self
    }
    pub(crate) fn redact<'a>(&self, event: Event<'a>) -> (Event<'a>, u32) {
        (event, 0)
    }
}
