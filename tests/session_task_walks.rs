//! Tasks of sessions of 2025-11-25, whatever a client does with them in whatever order.
//!
//! Two sessions walk at random: they make tasks, ask for them, wait, cancel, answer questions well
//! and badly, let time pass. What must hold is checked at each step.
//!
//! Specification: 2025-11-25, `basic/utilities/tasks`, Behavior Requirements.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};
use tightwire::{Call, Elicitation, Field, FrozenServer, Inputs, IntoReply, Limits, Reply, Tool};
use tightwire_tests::{Held, Stepped, cancelled, legacy, legacy_result, server};

use crate::{
    session_tasks::open,
    tasks::{nap, tool},
};

const TOOLS: [&str; 5] = ["hold", "nap", "asks", "fails", "block"];

/// What a client remembers of its session.
struct Walk {
    server: Stepped,
    id: u64,
    /// The requests that wait for a result.
    waiting: BTreeSet<u64>,
    /// What was told last of each task.
    tasks: BTreeMap<String, String>,
    /// The questions that are open.
    asked: BTreeSet<u64>,
}

/// Numbers that look random, the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn choose<T: Clone>(&mut self, from: impl IntoIterator<Item = T>) -> Option<T> {
        let from: Vec<T> = from.into_iter().collect();
        let at = self.roll(from.len().max(1));
        from.get(at).cloned()
    }
}

fn frozen(held: &Held) -> FrozenServer {
    let asks = tool("asks", |call: Call<'_>, reply: Reply<'_>| {
        let form = Elicitation::form("Who?").field("name", Field::text());
        let inputs = Inputs::new().elicit("a", form.clone()).elicit("b", form);
        let context = call.context();
        let first = context.ask(inputs);
        first
            .and_then(|_| context.ask(Inputs::new().roots("roots")).map(|_| "thanks"))
            .reply(reply);
    });
    let hold: Tool = held.tool().timeout(Duration::from_millis(700));
    let limits = Limits {
        tasks_max: 12,
        task_ms_max: 1_000,
        in_flight_max: 6,
        output_bytes_max: 1_000,
        ..Limits::default()
    };
    server()
        .limits(limits)
        .tool(hold.task(tightwire::TaskSupport::Optional))
        .tool(nap("nap", 60))
        .tool(asks)
        .tool(tool("fails", |_, reply| reply.error("it failed")))
        .tool(tool("block", |_, reply| reply.text("done")).blocking())
        .freeze()
        .unwrap()
}

impl Walk {
    fn new(server: &FrozenServer) -> Self {
        let mut stepped = Stepped::connect(server);
        open(&mut stepped);
        Self {
            server: stepped,
            id: 0,
            waiting: BTreeSet::new(),
            tasks: BTreeMap::new(),
            asked: BTreeSet::new(),
        }
    }

    /// Sends a request. The answer to it, if there is one at once.
    fn request(&mut self, method: &str, params: &Value) -> Option<Value> {
        self.id += 1;
        let id = self.id;
        let lines = self.server.send(&legacy(id, method, params));
        let answer = lines
            .iter()
            .find(|line| line["id"] == id && line.get("method").is_none());
        let answer = answer.cloned();
        let rest: Vec<Value> = lines
            .into_iter()
            .filter(|line| Some(line) != answer.as_ref())
            .collect();
        self.take(rest);
        answer
    }

    fn step(&mut self, dice: &mut Dice, held: &Held) {
        let known = dice.choose(self.tasks.keys().cloned()).unwrap_or_default();
        let about = json!({ "taskId": known });
        match dice.roll(11) {
            0 | 1 => {
                let params = json!({ "name": TOOLS[dice.roll(TOOLS.len())], "task": {} });
                if let Some(task) =
                    self.request("tools/call", &params).unwrap()["result"].get("task")
                {
                    assert_eq!(task["status"], "working");
                    let id = task["taskId"].as_str().unwrap();
                    self.tasks.insert(id.to_owned(), "working".to_owned());
                }
            }
            2 | 3 => {
                if self.request("tasks/result", &about).is_none() {
                    self.waiting.insert(self.id);
                }
            }
            4 => {
                let answer = self.request("tasks/get", &about).unwrap();
                self.learn(&answer["result"]);
            }
            5 => {
                let answer = self.request("tasks/cancel", &about).unwrap();
                self.learn(&answer["result"]);
            }
            6 => {
                let answer = self.request("tasks/list", &json!({})).unwrap();
                for task in answer["result"]["tasks"].as_array().unwrap() {
                    self.learn(task);
                }
            }
            7 => {
                if let Some(id) = dice.choose(self.waiting.iter().copied()) {
                    self.waiting.remove(&id);
                    let lines = self.server.send(&cancelled(id));
                    self.take(lines);
                }
            }
            8 => {
                if let Some(id) = dice.choose(self.asked.iter().copied()) {
                    self.asked.remove(&id);
                    let answer = [
                        json!({ "action": "accept", "content": {}, "roots": [] }),
                        json!({ "action": "decline", "roots": [] }),
                        json!(null),
                    ];
                    let line = legacy_result(id, &answer[dice.roll(8).saturating_sub(5)]);
                    let lines = self.server.send(&line.to_string());
                    self.take(lines);
                }
            }
            9 => {
                if held.count() > 0 {
                    held.answer("held");
                }
                while let Some(job) = self.server.connection().poll_job() {
                    job.run();
                }
            }
            _ => {
                let ms = u64::try_from(dice.roll(150)).unwrap();
                let lines = self.server.pass_ms(ms);
                self.take(lines);
            }
        }
        self.settle();
    }

    /// Takes what has come in for the session.
    fn settle(&mut self) {
        while self.server.connection().has_completions() {
            let lines = self.server.completed();
            self.take(lines);
        }
        assert_eq!(self.server.connection().in_flight(), self.waiting.len());
    }

    fn take(&mut self, lines: Vec<Value>) {
        for line in lines {
            match line["method"].as_str() {
                Some("notifications/tasks/status") => self.learn(&line["params"]),
                Some("notifications/cancelled") => {
                    let id = line["params"]["requestId"].as_u64().unwrap();
                    assert!(self.asked.remove(&id), "{line}");
                }
                Some(_) => assert!(self.asked.insert(line["id"].as_u64().unwrap()), "{line}"),
                None => assert!(self.waiting.remove(&line["id"].as_u64().unwrap()), "{line}"),
            }
        }
    }

    /// Learns what has become of a task, which its state before must allow.
    fn learn(&mut self, task: &Value) {
        let Some(id) = task["taskId"].as_str() else {
            return;
        };
        let status = task["status"].as_str().unwrap().to_owned();
        let before = self.tasks.insert(id.to_owned(), status.clone()).unwrap();
        let is_over = !matches!(before.as_str(), "working" | "input_required");
        assert!(!is_over || before == status, "{before} and then {task}");
    }
}

#[test]
fn whatever_a_client_does_its_requests_are_answered_and_ended_tasks_stay_so() {
    let mut seen = BTreeSet::new();
    for seed in 1..=60 {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let held = Held::default();
        let server = frozen(&held);
        let mut walks = [(); 2].map(|()| Walk::new(&server));
        for _ in 0..120 {
            let at = dice.roll(2);
            walks[at].step(&mut dice, &held);
        }
        for walk in &mut walks {
            seen.extend(walk.tasks.values().cloned());
            // By then all tasks have expired.
            let lines = walk.server.pass_ms(40_000);
            walk.take(lines);
            walk.settle();
            assert_eq!(walk.waiting, BTreeSet::new());
            assert_eq!(walk.asked, BTreeSet::new());
            assert!(!walk.server.connection().may_change());
            let answer = walk.request("tasks/list", &json!({})).unwrap();
            assert_eq!(answer["result"], json!({ "tasks": [] }));
        }
    }
    let all = [
        "cancelled",
        "completed",
        "failed",
        "input_required",
        "working",
    ];
    assert_eq!(
        seen,
        all.map(str::to_owned).into(),
        "the walks lead everywhere"
    );
}
