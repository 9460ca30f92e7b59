//! The same program as `bitacora`.
fn main() {}
