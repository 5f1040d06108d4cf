//! The files of the workspace.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::source::Rust;

/// All text files, and the Rust files among them once more.
#[derive(Debug)]
pub(super) struct Tree {
    /// Paths from the root of the workspace, and texts.
    pub(super) text: Vec<(String, String)>,
    pub(super) rust: Vec<Rust>,
}

impl Tree {
    pub(super) fn read() -> Self {
        let mut text = Vec::new();
        walk(&root(), "", &mut text);
        text.sort();
        let rust = text
            .iter()
            .filter(|(path, _)| path.ends_with(".rs"))
            .map(|(path, text)| Rust::new(path, text))
            .collect();
        Self { text, rust }
    }

    /// The Rust files in a folder, the one of this path, or the one of this module.
    pub(super) fn rust_under(&self, path: &str) -> impl Iterator<Item = &Rust> {
        self.rust.iter().filter(move |file| {
            file.path
                .strip_prefix(path)
                .is_some_and(|rest| matches!(rest, "" | ".rs") || rest.starts_with('/'))
        })
    }

    /// The sources of the engine's crates, but the command line, which is a user of them.
    pub(super) fn engine(&self) -> impl Iterator<Item = &Rust> {
        self.rust_under("engine")
            .filter(|file| !file.path.starts_with("engine/cli/") && file.path.contains("/src/"))
    }

    pub(super) fn manifests(&self) -> impl Iterator<Item = Manifest> {
        self.text
            .iter()
            .filter(|(path, _)| path.ends_with("Cargo.toml"))
            .map(|(path, text)| Manifest::new(path, text))
    }

    /// The folders of the members of the workspace.
    pub(super) fn members(&self) -> Vec<String> {
        let root = Manifest::read("Cargo.toml");
        let members = root
            .entries
            .iter()
            .find(|entry| entry.section == "workspace" && entry.text.starts_with("members"))
            .expect("the workspace names its members");
        let quoted = members.text.split('"').skip(1).step_by(2);
        quoted.map(str::to_owned).collect()
    }
}

/// A `Cargo.toml`, an entry a time.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) path: String,
    pub(super) entries: Vec<Entry>,
}

/// A key with its value, or the head of a table, which has no text.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) line: usize,
    pub(super) section: String,
    pub(super) text: String,
}

impl Manifest {
    pub(super) fn read(path: &str) -> Self {
        let text = fs::read_to_string(root().join(path))
            .unwrap_or_else(|error| panic!("{path} cannot be read: {error}"));
        Self::new(path, &text)
    }

    fn new(path: &str, text: &str) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        let mut section = String::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            // An array goes on until its bracket is closed.
            if let Some(last) = entries.last_mut()
                && last.text.contains('[')
                && last.text.matches('[').count() > last.text.matches(']').count()
            {
                last.text.push_str(text);
                continue;
            }
            let is_head = text.starts_with('[');
            if is_head {
                section = text.trim_matches(['[', ']']).to_owned();
            }
            entries.push(Entry {
                line,
                section: section.clone(),
                text: if is_head {
                    String::new()
                } else {
                    text.to_owned()
                },
            });
        }
        Self {
            path: path.to_owned(),
            entries,
        }
    }
}

impl Entry {
    /// Whether it names a crate that users of this one compile too.
    pub(super) fn is_dependency(&self) -> bool {
        let in_table = self.section.ends_with("dependencies") && !self.text.is_empty();
        let is_table = self.section.contains("dependencies.");
        (in_table || is_table) && !self.section.contains("dev-dependencies")
    }

    pub(super) fn dependency_name(&self) -> &str {
        match self.section.rsplit_once("dependencies.") {
            Some((_, name)) => name,
            None => self.text.split(['.', '=', ' ']).next().unwrap_or_default(),
        }
    }
}

/// Whether a word is there, not as a part of a longer one.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests
        .parent()
        .expect("the tests lie in the workspace")
        .to_owned()
}

/// Collects the text files of a folder. What is built, downloaded or found by fuzzing is not read.
fn walk(folder: &Path, prefix: &str, found: &mut Vec<(String, String)>) {
    let skipped = [
        ".git",
        ".venv",
        "__pycache__",
        "artifacts",
        "corpus",
        "coverage",
        "node_modules",
        "target",
    ];
    let entries = fs::read_dir(folder).expect("a folder can be read");
    for entry in entries {
        let entry = entry.expect("a folder can be read");
        let name = entry.file_name().to_string_lossy().into_owned();
        if skipped.contains(&name.as_str()) {
            continue;
        }
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().expect("a file has a type");
        if kind.is_dir() {
            walk(&entry.path(), &format!("{path}/"), found);
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            found.push((path, text));
        }
    }
}
