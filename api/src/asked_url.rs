//! The URL that a browser asked the service by, for its pages.

/// The URL of the service that a browser asked, without a path: an extension of the requests for its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedUrl(pub String);
