//! That no example is forgotten.

use std::{fs, path::Path};

#[test]
fn every_example_has_a_test_a_command_and_a_line_in_readme() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &Path| fs::read_to_string(path).expect("a file of this crate is text");
    let tests: String = files(&root.join("tests")).map(|path| read(&path)).collect();
    let readme = read(&root.join("../README.md"));
    let mut lacking = Vec::new();
    let mut count = 0;
    for path in files(&root.join("src/bin")) {
        count += 1;
        let name = path
            .file_stem()
            .expect("a file has a name")
            .to_string_lossy();
        let docs = read(&path);
        let checks = [
            (tests.contains(&format!("\nfn {name}() {{")), "test"),
            (
                docs.contains(&format!("--bin {name}")),
                "command in its doc comment",
            ),
            (
                readme.contains(&format!("(examples/src/bin/{name}.rs)")),
                "line in README",
            ),
        ];
        lacking.extend(
            checks
                .iter()
                .filter(|(has, _)| !has)
                .map(|(_, what)| format!("{name}: no {what}")),
        );
    }
    assert_eq!(lacking, Vec::<String>::new());
    assert!(count > 20, "{count} examples");
}

fn files(folder: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    entries.map(|entry| entry.expect("the folder can be read").path())
}
