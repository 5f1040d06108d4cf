//! `tightwire bench`: load on a server, and what it came to.
//!
//! ```text
//!   Options ─▶ sessions ─▶ for each workload and pace: warm-up, run ─▶ Report ─┬─ table
//!                                    or ramp, or rounds against another        ├─ JSON
//!                                                                              └─ page
//! ```

mod chart;
mod html;
mod options;
mod report;
mod table;

use std::{ffi::OsString, process::ExitCode, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use tightwire_bench::driver::{
    ChildServer, Driver, Error, Faults, Figures, Pace, Ramp, Result, Run, Session, SessionOptions,
    Versus, Workload, pin,
};

pub(crate) use options::Options;
use report::{Report, Server};

/// Runs the subcommand.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if let Some(cpu) = options.pin {
        pin(cpu).map_err(|error| Error::Unusable(format!("--pin {cpu}: {error}")))?;
    }
    let report = measure(options)?;
    if let Some(file) = &options.html {
        std::fs::write(file, html::page(&report))
            .map_err(|error| Error::Unusable(format!("{}: {error}", file.display())))?;
    }
    if options.json {
        let json = serde_json::to_string_pretty(&report).expect("figures are JSON");
        println!("{json}");
    } else {
        print!("{}", table::text(&report));
    }
    Ok(if report.faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

fn measure(options: &Options) -> Result<Report> {
    let bar = ProgressBar::new(1000);
    bar.set_style(
        ProgressStyle::with_template("{msg:<32} {wide_bar} {percent:>3} %")
            .expect("the template is valid"),
    );
    bar.set_message("starting");
    let session = open(options, &options.command)?;
    let workloads = options.workloads(&session.peer().tools)?;
    let mut report = Report::new(options, Server::new(&options.command, session.peer()));
    let mut driver = Driver::new(session, &workloads[0]);
    let mut other = match &options.vs {
        Some(words) => {
            let command = split_words(words)?;
            let session = open(options, &command)?;
            report.other = Some(Server::new(&command, session.peer()));
            Some(Driver::new(session, &workloads[0]))
        }
        None => None,
    };
    for workload in &workloads {
        for run in runs(options) {
            if !report.faults.is_empty() {
                break;
            }
            bar.set_message(heading(workload, run.pace));
            match &mut other {
                Some(other) => compare(
                    options,
                    &run,
                    workload,
                    (&mut driver, other),
                    &mut report,
                    &bar,
                )?,
                None => alone(options, &run, workload, &mut driver, &mut report, &bar)?,
            }
        }
    }
    bar.finish_and_clear();
    Ok(report)
}

/// One server, one run or a ramp of them.
fn alone(
    options: &Options,
    run: &Run,
    workload: &Workload,
    driver: &mut Driver<ChildServer>,
    report: &mut Report,
    bar: &ProgressBar,
) -> Result<()> {
    driver.load(workload);
    report.faults.add(&warm_up(options, run, driver)?);
    if !report.faults.is_empty() {
        return Ok(());
    }
    if options.ramp {
        let ramp = Ramp {
            p99_max: options.p99_max,
            ..Ramp::default()
        };
        let (steps, knee) = ramp.climb(driver, &workload.title, run, &mut |pace, share| {
            bar.set_message(heading(workload, pace));
            bar.set_position((share * 1000.0) as u64);
        })?;
        report.knee = knee.map(|knee| report.runs.len() + knee);
        report.runs.extend(steps);
    } else {
        let window = driver.run(run, &mut |share| bar.set_position((share * 1000.0) as u64))?;
        let bytes = driver.request_bytes();
        report
            .runs
            .push(Figures::new(&workload.title, bytes, run.pace, &window));
    }
    report.gather_faults();
    Ok(())
}

/// Two servers in turns.
fn compare(
    options: &Options,
    run: &Run,
    workload: &Workload,
    (a, b): (&mut Driver<ChildServer>, &mut Driver<ChildServer>),
    report: &mut Report,
    bar: &ProgressBar,
) -> Result<()> {
    for driver in [&mut *a, &mut *b] {
        driver.load(workload);
        report.faults.add(&warm_up(options, run, driver)?);
    }
    if !report.faults.is_empty() {
        return Ok(());
    }
    let rounds = u32::from(options.rounds);
    let round = Run {
        duration: run.duration / rounds,
        calls: run.calls.map(|calls| calls.div_ceil(u64::from(rounds))),
        ..*run
    };
    let versus = Versus::run(
        (a, b),
        &workload.title,
        &round,
        rounds as usize,
        &mut |share| {
            bar.set_position((share * 1000.0) as u64);
        },
    )?;
    report.add_versus(versus);
    report.gather_faults();
    Ok(())
}

fn warm_up(options: &Options, run: &Run, driver: &mut Driver<ChildServer>) -> Result<Faults> {
    if options.warmup.is_zero() {
        return Ok(Faults::default());
    }
    let warm_up = Run {
        duration: options.warmup,
        calls: None,
        ..*run
    };
    Ok(driver.run(&warm_up, &mut |_| {})?.faults)
}

fn open(options: &Options, command: &[OsString]) -> Result<Session<ChildServer>> {
    let session = SessionOptions {
        era: options.era(),
        probe: options.probe_timeout,
        patience: options.timeout.max(Duration::from_secs(30)),
    };
    Session::open(
        || ChildServer::spawn(command, options.show_stderr),
        &session,
    )
    .map_err(|error| match error {
        Error::Io(error) => Error::Unusable(format!("{}: {error}", command[0].display())),
        other => other,
    })
}

fn runs(options: &Options) -> Vec<Run> {
    let paces = match options.rate {
        Some(rate) => vec![Pace::Rate(rate)],
        None => options
            .in_flight
            .iter()
            .map(|&count| Pace::InFlight(count))
            .collect(),
    };
    let run = |pace| Run {
        pace,
        duration: options.duration(),
        calls: options.calls,
        patience: options.timeout,
        spin: options.spin(),
    };
    paces.into_iter().map(run).collect()
}

fn heading(workload: &Workload, pace: Pace) -> String {
    match pace {
        Pace::InFlight(count) => format!("{}, {count} in flight", workload.title),
        Pace::Rate(rate) => format!("{}, {rate} calls/s", workload.title),
    }
}

fn split_words(words: &str) -> Result<Vec<OsString>> {
    let words = shlex::split(words).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| Error::Unusable("--vs: no command line".to_owned()))?;
    Ok(words.into_iter().map(OsString::from).collect())
}
