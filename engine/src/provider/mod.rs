//! Ready-made resources that meet the world: they use the server as anybody could, and hold what
//! no part of the server may, files.

pub(crate) mod files;
mod folder;
mod media_type;
