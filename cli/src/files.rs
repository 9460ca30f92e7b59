//! The files of a user and of the program: reading, searching and writing them.

pub(crate) mod descriptors;
pub(crate) mod document;
pub(crate) mod new_file;

pub(crate) use bitacora_data_folder::durable_file;
pub(crate) use bitacora_verify::input_file;
