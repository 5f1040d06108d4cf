//! The files of a folder as resources.
//!
//! Specification: `server/resources`, `file://` and Security Considerations.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tightwire::{Error, Files, Server};
use tightwire_tests::{Refusal, Revision, refusal};

/// A folder of files, removed in the end. Beside `root`, which is served, it holds a secret.
struct Tree {
    path: PathBuf,
}

impl Tree {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tightwire-files-{}-{count}", process::id());
        let tree = Self {
            path: std::env::temp_dir().join(name),
        };
        tree.write("secret.txt", b"secret");
        tree.write("root/main.rs", b"fn main() {}\n");
        tree.write("root/docs/a b?#%.md", "# \u{fc}\n".as_bytes());
        tree.write("root/docs/deep/logo.PNG", b"\x89PNG\xFF");
        tree.write("root/nul", b"a\0b");
        tree.write("root/.env", b"KEY=1");
        tree.write("root/.git/config", b"[core]");
        tree.write("root/back\\slash", b"");
        tree
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
        fs::write(path, bytes).expect("a file can be written");
    }

    fn root(&self) -> PathBuf {
        self.path.join("root")
    }

    fn files(&self) -> Files {
        Files::new("file:///project", self.root()).expect("the folder can be opened")
    }

    fn server(&self, files: Files) -> Server {
        Server::new("files", "1.0.0").files(files)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn read(revision: &mut Revision, uri: &str) -> Value {
    let mut result = revision.result("resources/read", json!({ "uri": uri }));
    result["contents"][0].take()
}

fn refused(revision: &mut Revision, uri: &str) -> Refusal {
    refusal(&revision.ask("resources/read", json!({ "uri": uri })))
}

#[track_caller]
fn assert_not_found(revision: &mut Revision, uri: &str) {
    let refusal = refused(revision, uri);
    assert_eq!(refusal.message, "Resource not found", "{uri}");
    assert_eq!(refusal.data, Some(json!({ "uri": uri })));
}

#[test]
fn files_are_read_as_what_they_hold() {
    let tree = Tree::new();
    for mut revision in Revision::each(|| tree.server(tree.files())) {
        for (path, mime_type, key, data) in [
            ("main.rs", "text/x-rust", "text", "fn main() {}\n"),
            ("docs/a%20b%3F%23%25.md", "text/markdown", "text", "# ü\n"),
            ("docs/deep/logo.PNG", "image/png", "blob", "iVBOR/8="),
            ("nul", "application/octet-stream", "blob", "YQBi"),
        ] {
            let uri = format!("file:///project/{path}");
            let expected = json!({ "uri": uri, "mimeType": mime_type, key: data });
            assert_eq!(read(&mut revision, &uri), expected, "{}", revision.version);
        }
    }
}

#[test]
fn files_are_listed_if_asked_for() {
    let tree = Tree::new();
    let listed = |files: Files| {
        let mut revision = Revision::new(tree.server(files), "2026-07-28");
        let listed = revision.list("resources/list", "resources");
        let all: Vec<Value> = listed.as_array().expect("a list").clone();
        // What is listed can be read under its URI.
        for resource in &all {
            let uri = resource["uri"].as_str().expect("a URI");
            assert_eq!(read(&mut revision, uri)["uri"], uri);
        }
        all
    };
    assert_eq!(listed(tree.files()), [] as [Value; 0]);
    let all = [
        json!({
            "uri": "file:///project/main.rs", "name": "main.rs", "mimeType": "text/x-rust", "size": 13,
        }),
        json!({ "uri": "file:///project/nul", "name": "nul", "size": 3 }),
        json!({
            "uri": "file:///project/docs/a%20b%3F%23%25.md",
            "name": "a b?#%.md",
            "mimeType": "text/markdown",
            "size": 5,
        }),
        json!({
            "uri": "file:///project/docs/deep/logo.PNG",
            "name": "logo.PNG",
            "mimeType": "image/png",
            "size": 5,
        }),
    ];
    assert_eq!(listed(tree.files().list(100)), all);
    assert_eq!(listed(tree.files().list(3)), all[..3]);
    tree.write("root/a", b"");
    assert_eq!(listed(tree.files()), [] as [Value; 0], "a file comes first");
    assert_eq!(listed(tree.files().list(100).hidden()).len(), all.len() + 3);
    let mut revision = Revision::new(tree.server(tree.files()), "2025-11-25");
    let templates = revision.list("resources/templates/list", "resourceTemplates");
    assert_eq!(templates[0]["uriTemplate"], "file:///project/{+path}");
}

/// Servers must sanitize file paths to prevent directory traversal attacks.
#[test]
fn no_uri_leads_out_of_the_folder() {
    let tree = Tree::new();
    let secret = tree.path.join("secret.txt");
    let absolute = secret.to_str().expect("the path is UTF-8");
    let encoded = absolute.replace('/', "%2F");
    let mut paths = vec![absolute.to_owned(), encoded, format!("/{absolute}")];
    for path in [
        "../secret.txt",
        "docs/../../secret.txt",
        "docs/../main.rs",
        "./main.rs",
        "docs/./deep/logo.PNG",
        "%2e%2e/secret.txt",
        "%2E%2E%2Fsecret.txt",
        "..%2fsecret.txt",
        "docs%2f..%2f..%2fsecret.txt",
        "..\\secret.txt",
        "..%5csecret.txt",
        "back%5Cslash",
        "/main.rs",
        "docs//deep/logo.PNG",
        "main.rs/",
        "main.rs%00",
        "main.rs%00.png",
        "%00",
        "main.rs/x",
        "docs",
        "docs/",
        "",
        ".",
        "..",
        "nope",
        "%252e%252e/secret.txt",
        ".env",
        ".git/config",
        "%2eenv",
    ] {
        paths.push(path.to_owned());
    }
    paths.push("a/".repeat(1_000) + "a");
    paths.push("a".repeat(5_000));
    let mut revision = Revision::new(tree.server(tree.files()), "2026-07-28");
    for path in paths {
        assert_not_found(&mut revision, &format!("file:///project/{path}"));
    }
    assert_not_found(&mut revision, "file:///project");
    assert_not_found(&mut revision, "file:///other/main.rs");
    let mut revision = Revision::new(tree.server(tree.files().hidden()), "2026-07-28");
    assert_eq!(read(&mut revision, "file:///project/.env")["text"], "KEY=1");
    assert_eq!(
        read(&mut revision, "file:///project/.git/config")["text"],
        "[core]"
    );
    assert_not_found(&mut revision, "file:///project/../secret.txt");
}

#[test]
fn symbolic_links_are_not_followed() {
    let tree = Tree::new();
    let root = tree.root();
    let link = |to: &Path, name: &str| symlink(to, root.join(name)).expect("a link can be made");
    link(&tree.path.join("secret.txt"), "out");
    link(Path::new("../secret.txt"), "relative");
    link(&tree.path, "folder");
    link(Path::new("main.rs"), "inside");
    link(Path::new("loop"), "loop");
    let mut revision = Revision::new(tree.server(tree.files().list(100)), "2026-07-28");
    for path in [
        "out",
        "relative",
        "folder/secret.txt",
        "folder/root/main.rs",
        "inside",
        "loop",
    ] {
        assert_not_found(&mut revision, &format!("file:///project/{path}"));
    }
    let listed = revision.list("resources/list", "resources");
    assert_eq!(listed.as_array().map(Vec::len), Some(4));
    // The root itself may be one.
    let served = tree.path.join("served");
    symlink(&root, &served).expect("a link can be made");
    let files = Files::new("file:///project/", served).expect("the folder can be opened");
    let mut revision = Revision::new(tree.server(files), "2026-07-28");
    assert_eq!(
        read(&mut revision, "file:///project/main.rs")["text"],
        "fn main() {}\n"
    );
}

/// Nobody writes into the FIFO: to open it as a file would wait for ever.
#[test]
fn special_files_are_not_read() {
    let tree = Tree::new();
    let fifo = tree.root().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO can be made");
    let socket = tree.root().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(socket).expect("a socket can be made");
    let mut revision = Revision::new(tree.server(tree.files().list(100)), "2026-07-28");
    for path in ["fifo", "socket"] {
        assert_not_found(&mut revision, &format!("file:///project/{path}"));
    }
    let device = Files::new("dev:///", "/dev").expect("the folder can be opened");
    let mut revision = Revision::new(tree.server(device.list(10)), "2026-07-28");
    for path in ["zero", "null", "tty"] {
        assert_not_found(&mut revision, &format!("dev:///{path}"));
    }
}

#[test]
fn a_file_that_is_too_long_is_an_error_of_ours() {
    let tree = Tree::new();
    let mut revision = Revision::new(tree.server(tree.files().file_bytes_max(13)), "2026-07-28");
    assert_eq!(
        read(&mut revision, "file:///project/main.rs")["text"],
        "fn main() {}\n"
    );
    tree.write("root/main.rs", b"fn main() {}\n\n");
    let refusal = refused(&mut revision, "file:///project/main.rs");
    assert_eq!(refusal.code, -32603);
    assert_eq!(refusal.message, "the file has more than 13 bytes");
}

#[test]
fn a_folder_that_is_none_is_refused_at_once() {
    let tree = Tree::new();
    for path in ["root/main.rs", "nope"] {
        let files = Files::new("file:///project", tree.path.join(path));
        assert!(matches!(files, Err(Error::Io { .. })), "{path}");
    }
}
