//! What the compiler says to those who use the attributes wrongly.
//!
//! The texts in `ui` are those of Rust 1.95. `TRYBUILD=overwrite cargo test -p tightwire-macros`
//! writes them anew.

use std::{fs, path::Path, process::Command};

#[test]
fn errors_point_at_the_code_and_say_what_to_do() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}

/// Here the compiler adds words of its own, which change with what is compiled along. So only the
/// lines, and how the errors begin, are compared.
#[test]
fn what_a_type_lacks_is_said_where_it_stands() {
    let source = include_str!("lacking/types.rs");
    let errors = check(source);
    let expected = source.lines().enumerate().filter_map(|(index, line)| {
        let (_, words) = line.split_once("//~ ")?;
        Some((index + 1, words))
    });
    for (line, words) in expected {
        let place = format!("main.rs:{line}:");
        let is_said = errors.lines().any(|error| {
            error.contains(&place) && error.contains(&format!("error[E0277]: {words}"))
        });
        assert!(is_said, "line {line}: {words}, in:\n{errors}");
    }
}

/// The errors in a program, a line each.
fn check(source: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lacking");
    let engine = root.join("engine");
    let manifest = format!(
        "[package]\nname = \"lacking\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [[bin]]\nname = \"lacking\"\npath = \"main.rs\"\n\
         [dependencies]\ntightwire = {{ path = {engine:?} }}\n[workspace]\n"
    );
    fs::create_dir_all(&package).expect("the folder can be made");
    for (name, text) in [("Cargo.toml", manifest.as_str()), ("main.rs", source)] {
        fs::write(package.join(name), text).expect("the file can be written");
    }
    let lock = package.join("Cargo.lock");
    fs::copy(root.join("Cargo.lock"), lock).expect("the workspace has a lock file");
    let output = Command::new(env!("CARGO"))
        .args(["check", "--quiet", "--offline", "--message-format=short"])
        .env("CARGO_TARGET_DIR", package.join("target"))
        .current_dir(&package)
        .output()
        .expect("cargo can be run");
    String::from_utf8_lossy(&output.stderr).into_owned()
}
