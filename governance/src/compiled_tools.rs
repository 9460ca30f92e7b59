//! Tools made ready to look at calls, kept from one call to the next.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bitacora_formats::vocabulary::Name;

use crate::compiled_tool::CompiledTool;
use crate::registry::RegisteredTool;

/// By tool and server: the revision that was compiled, and its compiled form.
type Compiled = BTreeMap<(Name, Option<Name>), (u64, Arc<CompiledTool>)>;

/// The compiled form of each tool's newest registration that was asked for. As many as the registry holds.
#[derive(Default)]
pub(crate) struct CompiledTools {
    by_name: Mutex<Compiled>,
}

impl CompiledTools {
    /// The compiled form of this registration; `None` where it does not compile, which registering it would have refused.
    pub(crate) fn get(&self, tool: &RegisteredTool) -> Option<Arc<CompiledTool>> {
        let key = (tool.document.tool.clone(), tool.document.server.clone());
        let kept = |tools: &Compiled| {
            tools
                .get(&key)
                .filter(|(revision, _)| *revision == tool.revision)
                .map(|(_, tool)| Arc::clone(tool))
        };
        if let Some(compiled) = kept(&self.lock()) {
            return Some(compiled);
        }
        // Outside the lock: others go on meanwhile, and at worst it is done twice.
        let compiled = Arc::new(CompiledTool::new(&tool.document).ok()?);
        self.lock().insert(key, (tool.revision, Arc::clone(&compiled)));
        Some(compiled)
    }

    fn lock(&self) -> MutexGuard<'_, Compiled> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
