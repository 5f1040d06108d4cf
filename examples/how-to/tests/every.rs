//! That no example is forgotten.

use std::{
    fs,
    path::{Path, PathBuf},
};

#[test]
fn every_example_has_a_test_a_command_and_a_line_in_readme() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests: String = files(&root.join("tests")).iter().map(read).collect();
    let readme = read(&root.join("../../README.md"));
    let examples = files(&root.join("src/bin"));
    assert!(examples.len() > 20, "{}", examples.len());
    let mut lacking = Vec::new();
    for path in &examples {
        let name = path.file_stem().expect("a file has a name");
        let name = name.to_string_lossy();
        let checks = [
            ("a test", tests.contains(&format!("\nfn {name}() {{"))),
            (
                "its command in its doc comment",
                read(path).contains(&format!("cargo run -p how-to --bin {name}")),
            ),
            (
                "a line in README",
                readme.contains(&format!("src/bin/{name}.rs)")),
            ),
        ];
        let missing = checks.iter().filter(|(_, has)| !has);
        lacking.extend(missing.map(|(what, _)| format!("{name} lacks {what}")));
    }
    assert_eq!(lacking, Vec::<String>::new());
}

fn read(path: &PathBuf) -> String {
    fs::read_to_string(path).expect("a file of this crate is text")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    entries
        .map(|entry| entry.expect("the folder can be read").path())
        .collect()
}
