//! The command as people run it, against the demo.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

const TIGHTWIRE: &str = env!("CARGO_BIN_EXE_tightwire");

/// The demo, which is built as an example of this crate: beside the command.
fn demo() -> PathBuf {
    let folder = Path::new(TIGHTWIRE).parent().unwrap();
    folder.join("examples").join("demo_for_cli")
}

fn bench(options: &[&str]) -> Output {
    let short = ["--warmup", "10ms", "--timeout", "30s"];
    let mut command = Command::new(TIGHTWIRE);
    command
        .arg("bench")
        .args(short)
        .args(options)
        .arg("--")
        .arg(demo());
    command.output().unwrap()
}

fn json(options: &[&str]) -> Value {
    let output = bench(&[options, &["--json"]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_table_by_default() {
    let output = bench(&["--calls", "2000", "--in-flight", "1,64"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for word in [
        "demo 1.0.0, revision 2026-07-28",
        "calls/s",
        "p99.99",
        "every answer was right",
    ] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
}

#[test]
fn every_workload_in_every_era() {
    for (era, protocol) in [("modern", "2026-07-28"), ("legacy", "2025-11-25")] {
        let report = json(&["--calls", "500", "--era", era]);
        assert_eq!(report["server"]["protocol"], protocol);
        assert_eq!(report["runs"][0]["calls"], 500);
        assert_eq!(report["runs"][0]["workload"], "tools/call add");
    }
    let report = json(&["--calls", "100", "--method", "ping"]);
    assert_eq!(report["server"]["protocol"], "2025-11-25");
    json(&["--calls", "100", "--method", "server/discover"]);
    let expect = r#"{"isError":true}"#;
    json(&["--calls", "100", "--tool", "boom", "--expect", expect]);
    for text in ["plain", "escaped", "unicode", "mixed"] {
        json(&[
            "--calls",
            "20",
            "--echo",
            "100,100K",
            "--text",
            text,
            "--in-flight",
            "4",
        ]);
    }
}

#[test]
fn an_open_loop_a_ramp_and_a_comparison() {
    let report = json(&["--rate", "1000", "--calls", "200"]);
    assert_eq!(report["runs"][0]["calls"], 200);
    assert!(report["runs"][0]["late_us"]["p50"].is_number());
    let report = json(&["--ramp", "--calls", "200"]);
    assert!(report["knee"].is_number() && report["runs"].as_array().unwrap().len() > 1);
    let demo = demo();
    let report = json(&[
        "--vs",
        demo.to_str().unwrap(),
        "--rounds",
        "3",
        "--calls",
        "300",
    ]);
    assert_eq!(
        report["comparisons"][0]["rounds"]["a"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        report["comparisons"][0]["figures"][0]["figure"],
        "calls_per_s"
    );
}

#[test]
fn a_wrong_answer_ends_with_1_and_no_server_with_2() {
    let output = bench(&[
        "--calls",
        "100",
        "--expect",
        r#"{"content":[{"text":"6"}]}"#,
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text.contains(r#"result.content[0].text is "5", not "6""#),
        "{text}"
    );

    let output = bench(&["--tool", "nothing"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("it has add, echo"));

    let output = Command::new(TIGHTWIRE)
        .args(["bench", "--", "sh", "-c", "echo why >&2"])
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("| why"));
}

#[test]
fn a_recording_is_replayed_and_the_page_stands_alone() {
    let folder = std::env::temp_dir().join(format!("tightwire-cli-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (recording, page) = (folder.join("requests.jsonl"), folder.join("page.html"));
    let requests = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo","arguments":{"message":"<&>"}}}"#,
        "\n",
    );
    std::fs::write(&recording, requests).unwrap();
    let report = json(&[
        "--file",
        recording.to_str().unwrap(),
        "--calls",
        "1000",
        "--in-flight",
        "1,8",
        "--html",
        page.to_str().unwrap(),
    ]);
    assert_eq!(report["runs"][1]["calls"], 1000);
    let html = std::fs::read_to_string(&page).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(html.contains("Latency by percentile") && html.contains("Throughput over time"));
    for outside in [
        "http:", "https:", "src=", "href=", "<script", "@import", "url(",
    ] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
}
