//! The files of a user and of the program: reading, searching and writing them.

pub mod descriptors;
pub mod document;
pub mod new_file;

pub use bitacora_data_folder::durable_file;
pub use bitacora_verify::input_file;
