//! Tools: their registry, the schemas of their arguments, and the examination of arguments.

pub(crate) mod arguments;
pub(crate) mod blast_radius;
pub(crate) mod compiled_cache;
pub(crate) mod compiled_schema;
pub(crate) mod compiled_tool;
pub(crate) mod custom_types;
pub(crate) mod registry;
pub(crate) mod schema_bounds;
pub(crate) mod schema_keywords;
pub(crate) mod tool_sightings;
