//! Finding a method or a tool by its name: the perfect hashes of the engine, beside what is simpler.
//!
//! What is looked up is either always the same name, as an agent that calls tools has it, or a
//! sequence that no branch predictor can learn, one name in eight unknown.

mod settings;

use std::{collections::HashMap, hint::black_box};

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use hash::{ConstMap, PerfectMap};

/// The engine's own file: it is no part of what the engine offers.
#[path = "../../engine/src/protocol/hash.rs"]
#[allow(dead_code, unused_imports)]
mod hash;

fn main() {
    let mut criterion = settings::criterion();
    methods(&mut criterion);
    tools(&mut criterion);
    criterion.final_summary();
}

/// A table that the compiler builds, and a match statement, of the same names.
macro_rules! method_table {
    ($names:ident, $table:ident, $matched:ident, $count:literal: $($index:literal $name:literal)*) => {
        const $names: [&str; $count] = [$($name),*];
        static $table: ConstMap<u8, $count> = ConstMap::build([$(($name, $index)),*]);

        #[inline(never)]
        fn $matched(name: &str) -> Option<u8> {
            match name {
                $($name => Some($index),)*
                _ => None,
            }
        }
    };
}

method_table! {
    NAMES_10, TABLE_10, match_10, 10:
    0 "server/discover" 1 "initialize" 2 "ping" 3 "tools/list" 4 "tools/call" 5 "resources/list"
    6 "resources/templates/list" 7 "resources/read" 8 "prompts/list" 9 "prompts/get"
}
method_table! {
    NAMES_25, TABLE_25, match_25, 25:
    0 "server/discover" 1 "initialize" 2 "ping" 3 "tools/list" 4 "tools/call" 5 "resources/list"
    6 "resources/templates/list" 7 "resources/read" 8 "prompts/list" 9 "prompts/get"
    10 "resources/subscribe" 11 "resources/unsubscribe" 12 "completion/complete"
    13 "logging/setLevel" 14 "subscriptions/listen" 15 "tasks/get" 16 "tasks/list"
    17 "tasks/cancel" 18 "tasks/result" 19 "tasks/update" 20 "notifications/initialized"
    21 "notifications/cancelled" 22 "notifications/progress"
    23 "notifications/roots/list_changed" 24 "notifications/tasks/status"
}

fn methods(criterion: &mut Criterion) {
    #[inline(never)]
    fn table<const N: usize>(table: &ConstMap<u8, N>, name: &str) -> Option<u8> {
        table.find(name)
    }
    let mut group = criterion.benchmark_group("methods-10");
    simpler(&mut group, "tools/call", &NAMES_10);
    contender(
        &mut group,
        "perfect-hash",
        "tools/call",
        &NAMES_10,
        |name| table(&TABLE_10, name),
    );
    contender(&mut group, "match", "tools/call", &NAMES_10, match_10);
    group.finish();
    let mut group = criterion.benchmark_group("methods-25");
    simpler(&mut group, "tools/call", &NAMES_25);
    contender(
        &mut group,
        "perfect-hash",
        "tools/call",
        &NAMES_25,
        |name| table(&TABLE_25, name),
    );
    contender(&mut group, "match", "tools/call", &NAMES_25, match_25);
    group.finish();
}

fn tools(criterion: &mut Criterion) {
    for count in [5, 50, 500] {
        let names = tool_names(count);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let usual = names[count / 2];
        let mut group = criterion.benchmark_group(format!("tools-{count}"));
        simpler(&mut group, usual, &names);
        let entries = names.iter().enumerate();
        let entries = entries
            .map(|(index, name)| (Box::from(*name), index))
            .collect();
        let map = PerfectMap::build(entries).expect("no name is there twice");
        contender(&mut group, "perfect-hash", usual, &names, |name| {
            map.find(name)
        });
        let map: HashMap<&str, usize> = names.iter().copied().zip(0..).collect();
        contender(&mut group, "std-hash-map", usual, &names, |name| {
            map.get(name)
        });
        let mut sorted = names.clone();
        sorted.sort_unstable();
        contender(&mut group, "binary-search", usual, &names, |name| {
            sorted.binary_search(&name)
        });
        group.finish();
    }
}

/// The contender that needs no table: length and first byte, then the name.
fn simpler(group: &mut BenchmarkGroup<'_, WallTime>, usual: &str, names: &[&str]) {
    contender(group, "length-and-first-byte", usual, names, |wanted| {
        names.iter().position(|name| {
            name.len() == wanted.len()
                && name.as_bytes().first() == wanted.as_bytes().first()
                && *name == wanted
        })
    });
}

/// Time a look-up.
fn contender<T>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    contender: &str,
    usual: &str,
    names: &[&str],
    find: impl Fn(&str) -> T,
) {
    for (sequence, names) in [
        ("one", vec![usual.to_owned(); LOOK_UPS]),
        ("mixed", mixed(names)),
    ] {
        group.throughput(Throughput::Elements(LOOK_UPS as u64));
        group.bench_function(format!("{contender}/{sequence}"), |bencher| {
            bencher.iter(|| {
                for name in &names {
                    black_box(find(black_box(name)));
                }
            });
        });
    }
}

/// Names in an order that does not repeat; one in eight has another last letter.
fn mixed(names: &[&str]) -> Vec<String> {
    let mut state: u64 = 1;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    let name = |_| {
        let mut name = names[random(names.len())].to_owned();
        if random(8) == 0 {
            name.pop();
            name.push('?');
        }
        name
    };
    (0..LOOK_UPS).map(name).collect()
}

/// Names as tools have them, so many.
fn tool_names(count: usize) -> Vec<String> {
    const VERBS: [&str; 8] = [
        "get", "list", "create", "update", "delete", "search", "add", "run",
    ];
    const NOUNS: [&str; 9] = [
        "issue",
        "pull_request",
        "file",
        "comment",
        "weather",
        "user",
        "branch",
        "label",
        "query",
    ];
    let name = |index: usize| {
        let (verb, noun) = (VERBS[index % 8], NOUNS[index % 9]);
        match index / 72 {
            0 => format!("{verb}_{noun}"),
            more => format!("{verb}_{noun}_{more}"),
        }
    };
    (0..count).map(name).collect()
}

const LOOK_UPS: usize = 4096;
