//! Texts in the address of a resource, as the client writes them.

pub(crate) use bitacora_client::percent_encoded;
