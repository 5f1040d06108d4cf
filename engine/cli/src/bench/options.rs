//! The options of `tightwire bench`.

use std::{ffi::OsString, num::NonZero, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use serde_json::Value;
use tightwire_bench::driver::{Call, EraChoice, Error, Result, Rule, Text, Workload};

use crate::units::{parse_bytes, parse_duration};

/// Put load on a server over stdio, verify every answer, and measure.
///
/// Without a workload, the tool `add` is called with {"a":2,"b":3} if there is one, else
/// `tools/list`. Exit code 0: every answer was right. 1: some were wrong, missing or duplicated.
/// 2: nothing could be measured.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The server: a command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,

    /// Era to speak
    #[arg(long, value_enum, default_value_t)]
    pub(super) era: EraOption,

    /// Call this tool
    #[arg(long, value_name = "NAME", help_heading = WORKLOAD, group = "workload")]
    pub(super) tool: Option<String>,
    /// Arguments of the tool
    #[arg(long, value_name = "JSON", help_heading = WORKLOAD, requires = "tool",
        value_parser = parse_json)]
    pub(super) arguments: Option<Value>,
    /// Send this method: tools/list, server/discover, ping, or any other without parameters
    #[arg(long, value_name = "METHOD", help_heading = WORKLOAD, group = "workload")]
    pub(super) method: Option<String>,
    /// Send a text of this size to the tool `echo`, as `message`; a list shows growth
    #[arg(long, value_name = "BYTES", help_heading = WORKLOAD, group = "workload",
        value_delimiter = ',', value_parser = parse_bytes)]
    pub(super) echo: Vec<usize>,
    /// What the text of --echo is made of
    #[arg(long, value_enum, default_value_t, help_heading = WORKLOAD)]
    pub(super) text: TextOption,
    /// Replay the requests of a JSON-lines file in turn, with new ids
    #[arg(long, value_name = "FILE", help_heading = WORKLOAD, group = "workload")]
    pub(super) file: Option<PathBuf>,
    /// Each result must contain this: the members of an object, each element of an array, equal
    /// otherwise. Without it, each result must equal the first
    #[arg(long, value_name = "JSON", help_heading = WORKLOAD, value_parser = parse_json,
        conflicts_with = "any_answer")]
    pub(super) expect: Option<Value>,
    /// Each answer must be no error, and nothing else
    #[arg(long, help_heading = WORKLOAD)]
    pub(super) any_answer: bool,

    /// Closed loop: calls in flight; a list makes a run of each
    #[arg(long, value_name = "N", help_heading = LOAD, value_delimiter = ',',
        default_value = "1", value_parser = parse_in_flight)]
    pub(super) in_flight: Vec<usize>,
    /// Open loop: calls a second, latency counted from the intended start
    #[arg(long, value_name = "CALLS/S", help_heading = LOAD, conflicts_with = "in_flight",
        value_parser = parse_rate)]
    pub(super) rate: Option<f64>,
    /// Double the calls in flight, or the rate, until throughput stops growing
    #[arg(long, help_heading = LOAD, conflicts_with = "vs")]
    pub(super) ramp: bool,
    /// End the ramp when p99 exceeds this
    #[arg(long, value_name = "TIME", help_heading = LOAD, requires = "ramp",
        value_parser = parse_duration)]
    pub(super) p99_max: Option<Duration>,
    /// How long a run lasts [default: 3s; until all are made with --calls]
    #[arg(long, value_name = "TIME", help_heading = LOAD, value_parser = parse_duration)]
    pub(super) duration: Option<Duration>,
    /// How many calls a run makes at most
    #[arg(long, value_name = "N", help_heading = LOAD,
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) calls: Option<u64>,
    /// Load before a run that is verified but not measured
    #[arg(long, value_name = "TIME", help_heading = LOAD, default_value = "500ms",
        value_parser = parse_duration)]
    pub(super) warmup: Duration,
    /// After so long without a byte, calls in flight count as missing
    #[arg(long, value_name = "TIME", help_heading = LOAD, default_value = "10s",
        value_parser = parse_duration)]
    pub(super) timeout: Duration,
    /// How long server/discover may stay unanswered before initialize is tried
    #[arg(long, value_name = "TIME", help_heading = LOAD, default_value = "5s",
        value_parser = parse_duration)]
    pub(super) probe_timeout: Duration,

    /// Another server to compare with: a command line, quoted as in a shell
    #[arg(long, value_name = "COMMAND", help_heading = COMPARE)]
    pub(super) vs: Option<String>,
    /// Rounds of each server; --duration and --calls are shared out to them
    #[arg(long, value_name = "N", help_heading = COMPARE, default_value = "10", requires = "vs",
        value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) rounds: u16,
    /// Keep driver and server on this CPU: the figures repeat better
    #[arg(long, value_name = "CPU", help_heading = COMPARE)]
    pub(super) pin: Option<usize>,
    /// Closed loop with at most 4 in flight: how long the driver looks for an answer before it
    /// sleeps, in microseconds. Else the time to wake it is in the latency. Only where there is
    /// more than one core
    #[arg(long, value_name = "N", help_heading = LOAD, default_value = "200",
        value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub(super) spin_us: u32,

    /// Print JSON instead of a table
    #[arg(long, help_heading = OUTPUT)]
    pub(super) json: bool,
    /// Write a page with plots to this file
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(super) html: Option<PathBuf>,
    /// Pass through what the server says on stderr
    #[arg(long, help_heading = OUTPUT)]
    pub(super) show_stderr: bool,
}

const WORKLOAD: &str = "Workload";
const LOAD: &str = "Load";
const COMPARE: &str = "Comparison";
const OUTPUT: &str = "Output";
const EXAMPLES: &str = "\
Examples:
  tightwire bench --pin 1 --in-flight 1,256 -- target/release/demo
  tightwire bench --tool search --arguments '{\"q\":\"x\"}' -- npx my-server
  tightwire bench --echo 100,1K,64K,1M --html growth.html -- python server.py
  tightwire bench --vs 'python server.py' -- target/release/demo
  tightwire bench --rate 1000 --ramp --p99-max 5ms -- target/release/demo";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum EraOption {
    /// What the server speaks; modern if both
    #[default]
    Auto,
    /// 2026-07-28
    Modern,
    /// The initialize handshake, 2025-11-25 and before
    Legacy,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum TextOption {
    /// ASCII words
    #[default]
    Plain,
    /// A third quotes, backslashes and newlines
    Escaped,
    /// A third outside ASCII
    Unicode,
    /// A third of the one and a third of the other
    Mixed,
}

impl Options {
    /// Which era to speak. `ping` exists in one only.
    pub(super) fn era(&self) -> EraChoice {
        match (self.era, self.method.as_deref()) {
            (EraOption::Modern, _) => EraChoice::Modern,
            (EraOption::Legacy, _) | (EraOption::Auto, Some("ping")) => EraChoice::Legacy,
            (EraOption::Auto, _) => EraChoice::Auto,
        }
    }

    /// How long the driver looks for an answer before it sleeps: not at all on one core.
    pub(super) fn spin(&self) -> Duration {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let us = if cores > 1 { self.spin_us } else { 0 };
        Duration::from_micros(us.into())
    }

    /// How long a run lasts.
    pub(super) fn duration(&self) -> Duration {
        const USUAL: Duration = Duration::from_secs(3);
        const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
        let otherwise = if self.calls.is_some() { LONGEST } else { USUAL };
        self.duration.unwrap_or(otherwise)
    }

    /// What to ask a server that has these tools.
    pub(super) fn workloads(&self, tools: &[String]) -> Result<Vec<Workload>> {
        let given = self.rule();
        let rule = given.clone().unwrap_or(Rule::Same);
        let has = |tool: &str| match tools {
            [] => Ok(()),
            _ if tools.iter().any(|known| known == tool) => Ok(()),
            _ => Err(Error::Unusable(format!(
                "the server has no tool {tool:?}; it has {}",
                tools.join(", ")
            ))),
        };
        if let Some(tool) = &self.tool {
            has(tool)?;
            let arguments = self
                .arguments
                .clone()
                .unwrap_or_else(|| serde_json::json!({}));
            return Ok(vec![Workload::single(Call::tool(tool, &arguments), rule)]);
        }
        if let Some(method) = &self.method {
            let call = Call::new(&**method, serde_json::json!({}));
            return Ok(vec![Workload::single(call, rule)]);
        }
        if let Some(file) = &self.file {
            let text = std::fs::read_to_string(file)
                .map_err(|error| Error::Unusable(format!("{}: {error}", file.display())))?;
            return Ok(vec![Workload::recording(&text, &rule)?]);
        }
        if !self.echo.is_empty() {
            has("echo")?;
            let echo = |&bytes| Workload::echo(bytes, self.text.into(), given.clone());
            return Ok(self.echo.iter().map(echo).collect());
        }
        Ok(vec![Workload::usual(tools, rule)])
    }

    fn rule(&self) -> Option<Rule> {
        match &self.expect {
            Some(expected) => Some(Rule::Contains(expected.clone())),
            None => self.any_answer.then_some(Rule::Any),
        }
    }
}

impl From<TextOption> for Text {
    fn from(option: TextOption) -> Self {
        match option {
            TextOption::Plain => Self::Plain,
            TextOption::Escaped => Self::Escaped,
            TextOption::Unicode => Self::Unicode,
            TextOption::Mixed => Self::Mixed,
        }
    }
}

fn parse_json(text: &str) -> std::result::Result<Value, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn parse_in_flight(text: &str) -> std::result::Result<usize, String> {
    const MAX: usize = 1 << 20;
    let count = text
        .trim()
        .parse()
        .ok()
        .filter(|count| (1..=MAX).contains(count));
    count.ok_or_else(|| format!("a number from 1 to {MAX}"))
}

fn parse_rate(text: &str) -> std::result::Result<f64, String> {
    let rate = text
        .trim()
        .parse()
        .ok()
        .filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "a number of calls a second, more than 0".to_owned())
}
