//! What the compiler says to those who use the attributes wrongly.
//!
//! The texts are those of Rust 1.95. `TRYBUILD=overwrite cargo test -p tightwire-macros` writes
//! them anew.

#[test]
fn errors_point_at_the_code_and_say_what_to_do() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}
