//! The rules of the source tree, checked by reading it: what may depend on what, and what no file
//! may hold. Each failure names the file and line, and the rule.
//!
//! The source is read as text, cut into code, strings and comments; macros are not expanded.

#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/tree.rs"]
mod tree;

use source::Rust;
use tree::{Manifest, Tree, has_word};

/// The methods and notifications of all revisions.
const METHODS: [&str; 36] = [
    "completion/complete",
    "elicitation/create",
    "initialize",
    "logging/setLevel",
    "notifications/cancelled",
    "notifications/elicitation/complete",
    "notifications/initialized",
    "notifications/message",
    "notifications/progress",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/roots/list_changed",
    "notifications/subscriptions/acknowledged",
    "notifications/tasks",
    "notifications/tasks/status",
    "notifications/tools/list_changed",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "roots/list",
    "sampling/createMessage",
    "server/discover",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/list",
    "tasks/result",
    "tasks/update",
    "tools/call",
    "tools/list",
];

#[test]
fn codec_depends_on_five_crates() {
    let manifest = Manifest::read("codec/Cargo.toml");
    let mut names: Vec<&str> = manifest
        .entries
        .iter()
        .filter(|entry| entry.is_dependency())
        .map(|entry| entry.dependency_name())
        .collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        names,
        ["itoa", "memchr", "serde", "simd-json", "zmij"],
        "codec/Cargo.toml: codec depends on memchr, simd-json, serde and the number formatters alone"
    );
}

#[test]
fn codec_has_no_descriptor_no_clock_and_no_method() {
    let tree = Tree::read();
    let mut found = Vec::new();
    for file in tree.rust_under("codec/src") {
        for (line, path) in file.paths() {
            let world = ["net", "fs", "os", "process", "thread", "time"];
            if world
                .iter()
                .any(|name| is_in(&path, &format!("std::{name}")))
            {
                found.push(format!("{}:{line}: {path}", file.path));
            }
        }
        found.extend(method_names(file));
    }
    none(
        &found,
        "codec knows no sockets, files, threads and clocks, and no method",
    );
}

#[test]
fn layers_use_what_is_below_them() {
    let upper = ["server", "client", "transport", "provider"];
    let rules: [(&str, &[&str]); 6] = [
        ("protocol", &upper),
        ("model", &upper),
        ("server", &["client", "transport", "provider"]),
        ("client", &["server", "transport", "provider"]),
        ("transport", &["provider"]),
        ("provider", &["client", "transport", "protocol"]),
    ];
    let tree = Tree::read();
    let mut found = Vec::new();
    for (layer, banned) in rules {
        let layer = format!("engine/src/{layer}");
        for file in tree.rust_under(&layer) {
            for (line, path) in file.paths() {
                if banned
                    .iter()
                    .any(|banned| is_in(&path, &format!("crate::{banned}")))
                {
                    found.push(format!("{}:{line}: {path}", file.path));
                }
            }
        }
    }
    none(
        &found,
        "protocol and model use no server, client and transport; server and client use neither \
         each other nor transport; provider uses the server, and nobody uses provider",
    );
}

#[test]
fn the_world_is_met_in_transport_and_files_in_provider_too() {
    let worldly = [
        "mio",
        "rustix",
        "signal_hook",
        "libc",
        "tokio",
        "hyper",
        "std::net",
        "std::fs",
        "std::os",
        "std::process",
        "std::thread",
        "std::io::stdin",
        "std::io::stdout",
        "std::io::stderr",
        "std::time::Instant",
        "std::time::SystemTime",
        "std::time::UNIX_EPOCH",
    ];
    let inline = ["thread::spawn", "thread::sleep", "thread::Builder"];
    let clocks = ["Instant::now", "SystemTime::now"];
    let tree = Tree::read();
    let mut found = Vec::new();
    for file in tree.engine() {
        if file.path.starts_with("engine/src/transport/") || file.path.starts_with("engine/http/") {
            continue;
        }
        // Randomness has a place of its own, which is asked for a key once.
        if file.path == "engine/src/random.rs" {
            continue;
        }
        // Files that are served are met where they are served.
        let is_provider = file.path.starts_with("engine/src/provider/");
        for (line, path) in file.paths() {
            if is_provider && (is_in(&path, "rustix") || is_in(&path, "std::fs")) {
                continue;
            }
            let worldly = worldly.iter().any(|banned| is_in(&path, banned));
            let inline = inline.iter().any(|banned| is_in(&path, banned));
            let clock = clocks.iter().any(|clock| path.ends_with(clock));
            if (worldly || inline || clock) && path != "std::thread::panicking" {
                found.push(format!("{}:{line}: {path}", file.path));
            }
        }
    }
    none(
        &found,
        "sockets, files, threads and clocks appear in engine/src/transport and engine/http only, but \
         for files in engine/src/provider",
    );
}

#[test]
fn method_names_are_literals_in_one_file() {
    let tree = Tree::read();
    let found: Vec<String> = tree
        .engine()
        .filter(|file| file.path != "engine/src/protocol/method.rs")
        .flat_map(method_names)
        .collect();
    none(
        &found,
        "method names are literals in engine/src/protocol/method.rs only",
    );
}

#[test]
fn unsafe_code_is_forbidden() {
    let tree = Tree::read();
    let mut found = Vec::new();
    for path in ["codec/src/lib.rs", "engine/src/lib.rs"] {
        let file = tree.rust_under(path).next();
        if !file.is_some_and(|file| file.code.contains("#![forbid(unsafe_code)]")) {
            found.push(format!("{path}:1: #![forbid(unsafe_code)] is missing"));
        }
    }
    for file in &tree.rust {
        if file.path == "tests/zero_alloc.rs" {
            continue;
        }
        for (line, code) in file.numbered_code() {
            if has_word(code, "unsafe") {
                found.push(format!("{}:{line}: {}", file.path, code.trim()));
            }
        }
    }
    none(
        &found,
        "no unsafe code but the counting allocator in tests/zero_alloc.rs",
    );
}

#[test]
fn there_are_no_features() {
    let tree = Tree::read();
    let mut found = Vec::new();
    for manifest in tree.manifests() {
        for entry in &manifest.entries {
            if entry.section == "features" || entry.text.contains("optional = true") {
                found.push(format!("{}:{}: {}", manifest.path, entry.line, entry.text));
            }
        }
    }
    for file in &tree.rust {
        for (line, code) in file.numbered_code() {
            if code.contains("cfg") && has_word(code, "feature") {
                found.push(format!("{}:{line}: {}", file.path, code.trim()));
            }
        }
    }
    none(&found, "no Cargo features: what is optional is a crate");
}

#[test]
fn nothing_is_left_undone() {
    let tree = Tree::read();
    let mut found = Vec::new();
    for file in &tree.rust {
        for (line, code) in file.numbered_code() {
            let calls = ["todo", "dbg", "unimplemented"];
            if calls
                .iter()
                .any(|name| has_word(code, name) && code.contains(&format!("{name}!")))
                || code.replace(' ', "").contains("#[ignore")
            {
                found.push(format!("{}:{line}: {}", file.path, code.trim()));
            }
        }
        for (line, comment) in &file.comments {
            if is_marked(comment) {
                found.push(format!("{}:{line}: {}", file.path, comment.trim()));
            }
        }
    }
    let kinds = [".md", ".toml", ".yml", ".yaml", ".sh", ".py", ".ts", ".js"];
    for (path, text) in &tree.text {
        if kinds.iter().any(|kind| path.ends_with(kind)) {
            for (index, line) in text.lines().enumerate() {
                if is_marked(line) {
                    found.push(format!("{path}:{}: {}", index + 1, line.trim()));
                }
            }
        }
    }
    none(
        &found,
        "no notes of what is left to do, no todo!, dbg!, unimplemented! and #[ignore]",
    );
}

#[test]
fn every_member_inherits_from_the_workspace() {
    let tree = Tree::read();
    let wanted = [
        ("package", "version"),
        ("package", "edition"),
        ("package", "rust-version"),
        ("package", "license"),
        ("lints", "workspace"),
    ];
    let mut found = Vec::new();
    for path in tree.members() {
        let manifest = Manifest::read(&format!("{path}/Cargo.toml"));
        for (section, key) in wanted {
            let inherited = manifest.entries.iter().any(|entry| {
                let text = entry.text.replace(' ', "");
                entry.section == section
                    && (text == format!("{key}.workspace=true")
                        || text == format!("{key}={{workspace=true}}")
                        || (key == "workspace" && text == "workspace=true"))
            });
            if !inherited {
                found.push(format!("{}:1: [{section}] {key}", manifest.path));
            }
        }
    }
    none(
        &found,
        "every member of the workspace inherits version, edition, rust-version, license and lints",
    );
}

#[test]
fn no_file_is_too_long() {
    const LINES_MAX: usize = 700;
    let tree = Tree::read();
    let found: Vec<String> = tree
        .text
        .iter()
        .filter(|(path, _)| path.ends_with(".rs"))
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > LINES_MAX)
        .map(|(path, lines)| format!("{path}:{lines}: the last line"))
        .collect();
    none(&found, "two ideas make two files: at most 700 lines each");
}

#[test]
fn no_path_of_a_machine() {
    // Put together here, so that this file does not hold them.
    let roots = ["work", "root", "home", "Users"].map(|name| format!("/{name}/"));
    let tree = Tree::read();
    let mut found = Vec::new();
    for (path, text) in &tree.text {
        for (index, line) in text.lines().enumerate() {
            let absolute = roots.iter().any(|root| {
                line.match_indices(root.as_str()).any(|(at, _)| {
                    // Within a URI or a longer path it is no path of a machine.
                    !line[..at].ends_with(|c: char| c.is_alphanumeric() || "/._-~}>)".contains(c))
                })
            });
            if absolute {
                let shown: String = line.trim().chars().take(120).collect();
                found.push(format!("{path}:{}: {shown}", index + 1));
            }
        }
    }
    none(&found, "no absolute path of a machine in a text file");
}

/// Whether a path is this one or lies in it.
fn is_in(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Where a file names methods: as a literal of its own, or quoted in one, as in JSON.
fn method_names(file: &Rust) -> Vec<String> {
    let names = |text: &str| {
        let text = text.replace('\\', "");
        text.starts_with("notifications/")
            || METHODS
                .iter()
                .any(|name| text == *name || text.contains(&format!("\"{name}\"")))
    };
    file.strings
        .iter()
        .filter(|(line, text)| !file.is_test(*line) && names(text))
        .map(|(line, text)| format!("{}:{line}: \"{text}\"", file.path))
        .collect()
}

fn is_marked(text: &str) -> bool {
    ["TO", "FIX"]
        .iter()
        .zip(["DO", "ME"])
        .any(|(start, end)| has_word(text, &format!("{start}{end}")))
}

fn none(found: &[String], rule: &str) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}
