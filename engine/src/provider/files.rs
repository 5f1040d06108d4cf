//! [`Files`]: the files of a folder as resources.
//!
//! Specification: `server/resources`, `file://` and Security Considerations.

use std::{fmt::Write, path::Path, sync::Arc};

use super::{
    folder::{Folder, Listed, Unread},
    media_type::by_extension,
};
use crate::{
    error::{Result, RpcError},
    server::{
        Server,
        resource::{ReadReply, Resource, ResourceTemplate},
    },
};

/// The files of a folder, and of the folders in it, as resources.
///
/// They are read through a template, on a thread of the pool, and listed if that is asked for.
/// Nothing outside of the folder is reached: not by `..` or an absolute path, however they are
/// spelled, nor through symbolic links, which are not followed. Only regular files are read. Files
/// and folders whose names begin with a dot are left out unless asked for.
///
/// ```no_run
/// use tightwire::{Files, Server};
///
/// fn main() -> tightwire::Result<()> {
///     Server::new("documents", "1.0.0")
///         .files(Files::new("file:///documents", "documents")?.list(1_000))
///         .serve_stdio()
/// }
/// ```
#[derive(Debug)]
pub struct Files {
    uri: String,
    folder: Folder,
    listed_max: usize,
    file_bytes_max: u64,
}

impl Files {
    /// The files under `folder`, as resources under `uri`: `file:///project` makes
    /// `file:///project/src/main.rs` of `src/main.rs`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if the folder cannot be opened.
    pub fn new(uri: impl Into<String>, folder: impl AsRef<Path>) -> Result<Self> {
        let mut uri = uri.into();
        if uri.ends_with('/') {
            uri.pop();
        }
        Ok(Self {
            uri,
            folder: Folder::open(folder.as_ref())?,
            listed_max: 0,
            file_bytes_max: 16 << 20,
        })
    }

    /// Lists the files that are there now, at most so many. Without this none is listed.
    #[must_use]
    pub fn list(mut self, files_max: usize) -> Self {
        self.listed_max = files_max;
        self
    }

    /// Sets how many bytes a file may have. Reading a longer one is -32603. Default 16 MiB, which
    /// in base64 is a third of the longest answer.
    #[must_use]
    pub fn file_bytes_max(mut self, bytes: u64) -> Self {
        self.file_bytes_max = bytes;
        self
    }

    /// Serves files and folders whose names begin with a dot too.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.folder.hidden = true;
        self
    }

    fn answer(&self, path: &str, reply: ReadReply<'_>) {
        let bytes = match self.folder.read(path, self.file_bytes_max) {
            Ok(bytes) => bytes,
            Err(Unread::NotFound) => return reply.not_found(),
            Err(Unread::TooLong) => {
                return reply.protocol_error(&RpcError::internal(format!(
                    "the file has more than {} bytes",
                    self.file_bytes_max
                )));
            }
            Err(Unread::Failed(error)) => {
                return reply.protocol_error(&RpcError::internal(format!(
                    "the file cannot be read: {}",
                    error.kind()
                )));
            }
        };
        let media_type = by_extension(path);
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => {
                reply
                    .mime_type(media_type.unwrap_or("text/plain"))
                    .text(text);
            }
            Ok(text) => reply
                .mime_type(media_type.unwrap_or(BYTES))
                .blob(text.as_bytes()),
            Err(error) => reply
                .mime_type(media_type.unwrap_or(BYTES))
                .blob(error.as_bytes()),
        }
    }
}

const BYTES: &str = "application/octet-stream";

impl Server {
    /// Adds the files of a folder: a template for all of them, and a resource for each that is to
    /// be listed.
    #[must_use]
    pub fn files(self, files: Files) -> Self {
        let listed = files.folder.list(files.listed_max);
        let files = Arc::new(files);
        let reader = Arc::clone(&files);
        let template = ResourceTemplate::new(
            format!("{}/{{+path}}", files.uri),
            "files",
            move |read, reply| reader.answer(read.variable("path"), reply),
        )
        .description(format!("The files under {}", files.uri))
        .blocking();
        listed
            .into_iter()
            .map(|file| resource(&files, file))
            .fold(self.resource_template(template), Self::resource)
    }
}

fn resource(files: &Arc<Files>, file: Listed) -> Resource {
    let reader = Arc::clone(files);
    let Listed { path, bytes } = file;
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    let media_type = by_extension(&name);
    let uri = format!("{}/{}", files.uri, encode(&path));
    let resource = Resource::new(uri, name, move |_, reply| reader.answer(&path, reply))
        .size(bytes)
        .blocking();
    match media_type {
        Some(media_type) => resource.mime_type(media_type),
        None => resource,
    }
}

/// A path as a part of a URI: RFC 3986, 2.3, and its slashes.
fn encode(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a String does not fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}
