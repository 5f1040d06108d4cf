//! The driver against servers with planted faults, in a time of their own.

use std::time::Duration;

use serde_json::{Value, json};
use tightwire::Era;

use super::{
    fake::{Fake, Script, error, five, right},
    *,
};

fn open(fake: Fake) -> Session<Fake> {
    let mut fake = Some(fake);
    Session::open(|| Ok(fake.take().unwrap()), &SessionOptions::default()).unwrap()
}

fn driver(calls: impl FnMut(u64, &Value, u64) -> Script + 'static) -> Driver<Fake> {
    let session = open(Fake::modern(calls));
    let workload = Workload::usual(&session.peer().tools, Rule::Same);
    Driver::new(session, &workload)
}

fn calls(pace: Pace, count: u64) -> Run {
    Run {
        pace,
        duration: Duration::from_secs(3600),
        calls: Some(count),
        patience: Duration::from_secs(10),
        spin: Duration::ZERO,
    }
}

fn run(driver: &mut Driver<Fake>, run: &Run) -> Window {
    driver.run(run, &mut |_| {}).unwrap()
}

#[test]
fn right_answers_are_counted_whatever_their_order() {
    for in_flight in [1, 2, 16, 256] {
        let mut driver = driver(|number, message, _| {
            let mut answer = five(message);
            answer[0].0 += number % 7 * 1_000;
            answer
        });
        let window = run(&mut driver, &calls(Pace::InFlight(in_flight), 10_000));
        assert_eq!(window.calls, 10_000);
        assert!(window.faults.is_empty(), "{:?}", window.faults);
        assert_eq!(window.latency.len(), 10_000);
        assert_eq!(window.timeline.1.iter().sum::<u64>(), 10_000);
    }
}

#[test]
fn a_wrong_answer_is_found() {
    let mut driver = driver(|number, message, _| match number {
        700 => right(
            message,
            &json!({"content": [{"type": "text", "text": "6"}]}),
        ),
        800 => error(message, -32603),
        _ => five(message),
    });
    let window = run(&mut driver, &calls(Pace::InFlight(16), 1_000));
    assert_eq!((window.calls, window.faults.wrong), (998, 2));
    assert_eq!(window.faults.first.len(), 1);
    let first = &window.faults.first[0];
    assert!(
        first.contains("result.content[0].text is \"6\", not \"5\""),
        "{first}"
    );
}

#[test]
fn a_lost_answer_is_found() {
    for in_flight in [1, 16] {
        let mut driver = driver(|number, message, _| match number {
            700 => Vec::new(),
            _ => five(message),
        });
        let window = run(&mut driver, &calls(Pace::InFlight(in_flight), 1_000));
        assert_eq!(window.faults.missing, 1, "{in_flight} in flight");
        assert!(
            window.faults.first[0].contains("1000000699"),
            "{:?}",
            window.faults
        );
        if in_flight > 1 {
            assert_eq!(window.calls, 999);
        }
    }
}

#[test]
fn a_duplicate_and_a_stray_line_are_found() {
    let mut driver = driver(|number, message, _| {
        let mut answer = five(message);
        if number == 700 {
            answer.push(answer[0].clone());
            answer.push((1_000, "listening on stdio".to_owned()));
        }
        answer
    });
    let window = run(&mut driver, &calls(Pace::InFlight(4), 1_000));
    assert_eq!(
        (window.calls, window.faults.duplicate, window.faults.unknown),
        (1_000, 1, 1)
    );
    assert_eq!(window.faults.first.len(), 2);
}

#[test]
fn an_end_in_the_middle_leaves_missing_answers() {
    let mut driver = driver(|number, message, _| match number {
        0..700 => five(message),
        _ => Vec::new(),
    });
    driver.session.transport.ends = true;
    let window = run(&mut driver, &calls(Pace::InFlight(8), 1_000));
    assert_eq!((window.calls, window.faults.missing), (699, 8));
    assert!(!driver.is_open());
}

/// One stall of a second at 1,000 calls a second: a closed loop sees one slow call, an open one
/// sees all that should have started in that second.
#[test]
fn an_open_loop_counts_from_the_intended_start() {
    let stalling = |_: u64, message: &Value, now: u64| {
        const STALL: std::ops::Range<u64> = 2_000_000_000..3_000_000_000;
        let mut answer = five(message);
        answer[0].0 = 100_000;
        if STALL.contains(&now) {
            answer[0].0 = STALL.end - now;
        }
        answer
    };
    let run = Run {
        duration: Duration::from_secs(10),
        ..calls(Pace::Rate(1_000.0), 10_000)
    };
    let open = driver(stalling).run(&run, &mut |_| {}).unwrap();
    assert_eq!((open.calls, open.not_started), (10_000, 0));
    let percentiles = Percentiles::of(&open.latency);
    assert!(
        (850_000.0..950_000.0).contains(&percentiles.p99),
        "{percentiles:?}"
    );
    let late = Percentiles::of(&open.late.unwrap());
    assert!(late.max < 2.0, "{late:?}");

    let closed = Run {
        duration: Duration::from_millis(3_100),
        ..calls(Pace::InFlight(1), 100_000)
    };
    let closed = driver(stalling).run(&closed, &mut |_| {}).unwrap();
    let percentiles = Percentiles::of(&closed.latency);
    assert!(
        percentiles.p99_9 < 101.0 && percentiles.max > 900_000.0,
        "{percentiles:?}"
    );
}

#[test]
fn few_calls_are_looked_for_and_slow_or_many_ones_waited_for() {
    let looks = |in_flight, answer_ns: u64, spin| {
        let mut driver = driver(move |_, message, _| {
            let mut answer = five(message);
            answer[0].0 = answer_ns;
            answer
        });
        let spin = Duration::from_micros(spin);
        let run = Run {
            spin,
            ..calls(Pace::InFlight(in_flight), 1_000)
        };
        let window = driver.run(&run, &mut |_| {}).unwrap();
        assert_eq!((window.calls, window.faults.is_empty()), (1_000, true));
        driver.session.transport.pauses
    };
    assert_eq!(looks(1, 5_000, 200), 50_000);
    assert_eq!(looks(1, 5_000, 0), 0);
    assert_eq!(looks(5, 5_000, 200), 0);
    // Looked for in vain: 4 times of 68.
    assert!(looks(1, 1_000_000, 200) < 1_000 * 2_000 / 10);
}

#[test]
fn a_run_by_time_makes_a_call_and_ends() {
    let mut driver = driver(|_, message, _| five(message));
    let mut run = calls(Pace::InFlight(3), 1);
    run.calls = None;
    run.duration = Duration::ZERO;
    assert_eq!(driver.run(&run, &mut |_| {}).unwrap().calls, 3);
    run.duration = Duration::from_micros(100);
    assert_eq!(driver.run(&run, &mut |_| {}).unwrap().calls, 300);
}

#[test]
fn requests_of_the_server_are_answered_and_notifications_passed_over() {
    let asked = json!({"jsonrpc": "2.0", "id": "s", "method": "ping"}).to_string();
    let told = json!({"jsonrpc": "2.0", "method": "notifications/message"}).to_string();
    let mut answered = false;
    let mut driver = driver(move |number, message, _| {
        if message["id"] == "s" {
            assert_eq!(message["result"], json!({}));
            answered = true;
            return Vec::new();
        }
        assert!(number < 500 || answered);
        let mut answer = five(message);
        if number == 100 {
            answer.insert(0, (0, asked.clone()));
            answer.insert(0, (0, told.clone()));
        }
        answer
    });
    let window = run(&mut driver, &calls(Pace::InFlight(1), 1_000));
    assert!(window.faults.is_empty(), "{:?}", window.faults);
    assert_eq!(window.notifications, 1);
}

fn legacy(message: &Value) -> Script {
    match message["method"].as_str() {
        Some("initialize") => right(
            message,
            &json!({"protocolVersion": "2025-06-18", "capabilities": {},
                "serverInfo": {"name": "old", "version": "2"}}),
        ),
        Some("notifications/initialized") => Vec::new(),
        Some("tools/list") => right(message, &json!({"tools": [{"name": "add"}]})),
        _ => error(message, -32601),
    }
}

#[test]
fn any_other_error_falls_back_to_the_handshake() {
    for code in [-32601, -32602, -32000, 0] {
        let session = open(Fake::new(move |message, _| {
            match message["method"].as_str() {
                Some("server/discover") => error(message, code),
                _ => legacy(message),
            }
        }));
        assert_eq!(session.era(), Era::Legacy);
        assert_eq!(session.peer().protocol, "2025-06-18");
        assert_eq!(session.peer().tools, ["add"]);
        assert_eq!(session.params(json!({})), json!({}));
    }
}

#[test]
fn silence_falls_back_and_a_late_answer_does_not() {
    let silent = open(Fake::new(|message, _| match message["method"].as_str() {
        Some("server/discover") => Vec::new(),
        _ => legacy(message),
    }));
    assert_eq!(silent.era(), Era::Legacy);

    let late = open(Fake::modern(|_, message, _| error(message, -32601)).delayed(6_000_000_000));
    assert_eq!(late.era(), Era::Modern);
}

#[test]
fn a_modern_error_is_not_fallen_back_from() {
    let fake = Fake::new(|message, _| match message["method"].as_str() {
        Some("server/discover") => error(message, -32022),
        _ => legacy(message),
    });
    let mut fake = Some(fake);
    let opened = Session::open(|| Ok(fake.take().unwrap()), &SessionOptions::default());
    assert!(matches!(opened, Err(Error::Refused { .. })));
}

#[test]
fn a_server_that_ends_at_the_probe_is_started_again() {
    let mut starts = 0;
    let spawn = || {
        starts += 1;
        let mut fake = Fake::new(|message, _| legacy(message));
        if starts == 1 {
            fake = Fake::new(|_, _| Vec::new());
            fake.ends = true;
        }
        Ok(fake)
    };
    let session = Session::open(spawn, &SessionOptions::default()).unwrap();
    assert_eq!(session.era(), Era::Legacy);
    assert_eq!(starts, 2);
}
