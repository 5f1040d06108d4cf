//! What both peers share: revisions, methods, parameters, request metadata, and the requests in
//! flight.

pub(crate) mod capabilities;
pub(crate) mod hash;
pub(crate) mod log_level;
pub(crate) mod meta;
pub(crate) mod method;
pub(crate) mod names;
pub(crate) mod params;
pub(crate) mod pending;
pub(crate) mod version;
