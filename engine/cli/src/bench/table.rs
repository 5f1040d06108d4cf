//! The report as text: aligned columns, a unit with every figure.

use tightwire_bench::driver::{Comparison, Figures};

use super::report::{Compared, Report, Server};
use crate::units::{bytes, count, digits, time};

/// Rows of cells, the first of each its name.
pub(super) type Cells = Vec<Vec<String>>;

/// So many runs stand side by side; more stand below each other.
const COLUMNS_MAX: usize = 5;

/// The whole report.
pub(super) fn text(report: &Report) -> String {
    let mut text = server(&report.server);
    if let Some(other) = &report.other {
        text += &format!("against\n{}", server(other));
    }
    if let Some(cpu) = report.pinned {
        text += &format!("driver and server on CPU {cpu}\n");
    }
    if let Some(spin) = report.spin() {
        text += &format!("{spin}\n");
    }
    if !report.runs.is_empty() {
        let cells = figures(&report.runs);
        let cells = if report.runs.len() > COLUMNS_MAX {
            transposed(&cells)
        } else {
            cells
        };
        text += &format!("\n{}", aligned(&cells));
    }
    if let Some(knee) = report.knee {
        text += &format!("\nthe knee: {}\n", summary(&report.runs[knee]));
    }
    for compared in &report.comparisons {
        text += &format!(
            "\n{}\n{}",
            versus_heading(compared),
            aligned(&versus(&compared.figures))
        );
    }
    text + &faults(report)
}

/// One figure a row, one run a column. Figures that no run has are left out.
pub(super) fn figures(runs: &[Figures]) -> Cells {
    type Row = (&'static str, fn(&Figures) -> Option<String>);
    const ROWS: [Row; 20] = [
        ("workload", |run| Some(run.workload.clone())),
        ("in flight", |run| {
            run.in_flight.map(|count| count.to_string())
        }),
        ("rate", |run| {
            run.rate.map(|rate| format!("{}/s", count(rate)))
        }),
        ("calls", |run| Some(run.calls.to_string())),
        ("calls/s", |run| Some(count(run.calls_per_s))),
        ("bytes/s", |run| Some(bytes(run.bytes_per_s))),
        ("p50", |run| Some(time(run.latency_us.p50))),
        ("p90", |run| Some(time(run.latency_us.p90))),
        ("p99", |run| Some(time(run.latency_us.p99))),
        ("p99.9", |run| Some(time(run.latency_us.p99_9))),
        ("p99.99", |run| Some(time(run.latency_us.p99_99))),
        ("max", |run| Some(time(run.latency_us.max))),
        ("late p50, p99", |run| {
            let late = run.late_us?;
            Some(format!("{}, {}", time(late.p50), time(late.p99)))
        }),
        ("not started", |run| {
            (run.not_started > 0).then(|| run.not_started.to_string())
        }),
        ("server CPU/call", |run| run.server.cpu_us.map(time)),
        ("reads, writes/call", |run| {
            let (reads, writes) = (run.server.reads?, run.server.writes?);
            Some(format!("{}, {}", digits(reads), digits(writes)))
        }),
        ("switches/call", |run| run.server.switches.map(digits)),
        ("peak memory", |run| {
            run.server.memory_peak_bytes.map(|peak| bytes(peak as f64))
        }),
        ("driver CPU/call", |run| Some(time(run.driver.cpu_us))),
        ("driver busy", |run| {
            Some(format!("{} %", digits(run.driver.busy * 100.0)))
        }),
    ];
    let mut rows = Cells::new();
    for (name, read) in ROWS {
        let cells: Vec<_> = runs.iter().map(read).collect();
        if cells.iter().all(Option::is_none) {
            continue;
        }
        let cells = cells
            .into_iter()
            .map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
        rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    }
    rows
}

/// The ratios of a comparison.
pub(super) fn versus(figures: &[Comparison]) -> Cells {
    let heading = ["median", "A", "B", "A / B", "half of the rounds"].map(str::to_owned);
    let row = |line: &Comparison| {
        let (name, shown): (_, fn(f64) -> String) = match line.figure {
            "calls_per_s" => ("calls/s", count),
            "server_cpu_us" => ("server CPU/call", time),
            "switches" => ("switches/call", digits),
            "driver_cpu_us" => ("driver CPU/call", time),
            other => (other.trim_end_matches("_us"), time),
        };
        vec![
            name.to_owned(),
            shown(line.a),
            shown(line.b),
            format!("{} x", digits(line.ratio.median)),
            format!("{} to {} x", digits(line.ratio.q1), digits(line.ratio.q3)),
        ]
    };
    std::iter::once(heading.to_vec())
        .chain(figures.iter().map(row))
        .collect()
}

pub(super) fn versus_heading(compared: &Compared) -> String {
    let Some(first) = compared.rounds.a.first() else {
        return String::new();
    };
    format!(
        "{}, {}, {} rounds each",
        first.workload,
        load(first),
        compared.rounds.a.len()
    )
}

/// A run in a line.
pub(super) fn summary(run: &Figures) -> String {
    let (rate, p99) = (count(run.calls_per_s), time(run.latency_us.p99));
    format!("{}, {rate} calls/s, p99 {p99}", load(run))
}

/// The load of a run, in words.
pub(super) fn load(run: &Figures) -> String {
    match (run.in_flight, run.rate) {
        (Some(in_flight), _) => format!("{in_flight} in flight"),
        (None, Some(rate)) => format!("{} calls/s intended", count(rate)),
        (None, None) => String::new(),
    }
}

/// Rows as columns.
pub(super) fn transposed(cells: &Cells) -> Cells {
    let columns = cells.first().map_or(0, Vec::len);
    (0..columns)
        .map(|column| cells.iter().map(|row| row[column].clone()).collect())
        .collect()
}

fn server(server: &Server) -> String {
    format!("{}\n  {}\n", server.summary(), server.command.join(" "))
}

fn faults(report: &Report) -> String {
    let faults = &report.faults;
    if faults.is_empty() {
        return "\nevery answer was right\n".to_owned();
    }
    let mut text = format!(
        "\nFAULTS: {} wrong, {} missing, {} duplicate, {} unknown\n",
        faults.wrong, faults.missing, faults.duplicate, faults.unknown
    );
    for first in &faults.first {
        text += &format!("  {}\n", first.replace('\n', "\n    "));
    }
    text
}

/// The first column to the left, all others to the right.
fn aligned(cells: &Cells) -> String {
    let width = |column: usize| {
        let widths = cells.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..cells.first().map_or(0, Vec::len)).map(width).collect();
    let mut text = String::new();
    for row in cells {
        let mut line = format!("{:<width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            line += &format!("  {cell:>width$}");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_turn() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let cells = vec![row(["p50", "1 us", "22 us"]), row(["workload", "a", "b"])];
        assert_eq!(
            aligned(&cells),
            "p50       1 us  22 us\nworkload     a      b\n"
        );
        assert_eq!(transposed(&transposed(&cells)), cells);
    }
}
