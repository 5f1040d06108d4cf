//! The report as one page that needs nothing else: inline SVG, no script, no resource from
//! anywhere.

use tightwire_bench::driver::Figures;

use super::{
    chart::{Axis, Chart, Scale, escaped},
    report::{Report, Server},
    table::{self, Cells},
};
use crate::units::{count, digits, time};

/// The whole page.
pub(super) fn page(report: &Report) -> String {
    let mut body = format!(
        "<h1>{}</h1>\n{}",
        escaped(&title(report)),
        server(&report.server)
    );
    if let Some(other) = &report.other {
        body += &format!("<p>against</p>\n{}", server(other));
    }
    if let Some(cpu) = report.pinned {
        body += &format!("<p>driver and server on CPU {cpu}</p>\n");
    }
    if let Some(spin) = report.spin() {
        body += &format!("<p>{spin}</p>\n");
    }
    body += &faults(report);
    if !report.runs.is_empty() {
        body += &html_table(&table::transposed(&table::figures(&report.runs)));
        if let Some(knee) = report.knee {
            let summary = table::summary(&report.runs[knee]);
            body += &format!("<p>the knee: {}</p>\n", escaped(&summary));
        }
        let runs: Vec<_> = report.runs.iter().map(|run| (name(run), run)).collect();
        body += &charts(&runs);
        body += &growth(&report.runs);
    }
    for compared in &report.comparisons {
        body += &format!("<h2>{}</h2>\n", escaped(&table::versus_heading(compared)));
        body += &html_table(&table::versus(&compared.figures));
        let rounds = [("A", &compared.rounds.a), ("B", &compared.rounds.b)];
        let last = rounds.map(|(letter, rounds)| {
            rounds
                .last()
                .map(|run| (format!("{letter}, last round"), run))
        });
        body += &charts(&last.into_iter().flatten().collect::<Vec<_>>());
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n{body}</html>\n",
        escaped(&title(report)),
    )
}

/// Latency by percentile, and throughput over time.
fn charts(runs: &[(String, &Figures)]) -> String {
    let nines = |(name, run): &(String, &Figures)| {
        // The share of calls above, so that 99 %, 99.9 % and so on lie evenly.
        let points = run
            .latency_curve
            .iter()
            .map(|&(share, us)| (1.0 / (1.0 - share), us));
        (name.clone(), points.collect())
    };
    let latency = Chart {
        title: "Latency by percentile",
        x: Axis {
            name: "calls that are not slower",
            scale: Scale::Log,
            label: |above| format!("{} %", 100.0 - 100.0 / above),
        },
        y: Axis {
            name: "latency",
            scale: Scale::Log,
            label: time,
        },
        series: runs.iter().map(nines).collect(),
    };
    let over_time = |(name, run): &(String, &Figures)| {
        let steps = run.timeline.calls_per_s.iter().enumerate();
        let step_s = run.timeline.step_s;
        let points = steps.map(|(step, &rate)| ((step as f64 + 0.5) * step_s, rate));
        (name.clone(), points.collect())
    };
    let throughput = Chart {
        title: "Throughput over time",
        x: Axis {
            name: "seconds",
            scale: Scale::Linear,
            label: digits,
        },
        y: Axis {
            name: "calls/s",
            scale: Scale::Linear,
            label: count,
        },
        series: runs.iter().map(over_time).collect(),
    };
    latency.svg() + &throughput.svg()
}

/// Time per call against size, if there are several sizes: a line of slope one is linear.
fn growth(runs: &[Figures]) -> String {
    let mut series: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for run in runs {
        let name = table::load(run);
        let point = (run.request_bytes, run.time_per_call_us());
        match series.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push(point),
            None => series.push((name, vec![point])),
        }
    }
    if series.iter().all(|(_, points)| points.len() < 2) {
        return String::new();
    }
    let chart = Chart {
        title: "Time per call against size",
        x: Axis {
            name: "bytes of a request",
            scale: Scale::Log,
            label: count,
        },
        y: Axis {
            name: "time per call",
            scale: Scale::Log,
            label: time,
        },
        series,
    };
    chart.svg()
}

fn title(report: &Report) -> String {
    match &report.other {
        Some(other) => format!("{} against {}", report.server.short(), other.short()),
        None => report.server.short(),
    }
}

fn name(run: &Figures) -> String {
    format!("{}, {}", run.workload, table::load(run))
}

fn server(server: &Server) -> String {
    let command = escaped(&server.command.join(" "));
    format!(
        "<p>{}<br><code>{command}</code></p>\n",
        escaped(&server.summary())
    )
}

fn faults(report: &Report) -> String {
    let faults = &report.faults;
    if faults.is_empty() {
        return "<p>every answer was right</p>\n".to_owned();
    }
    let first = faults
        .first
        .iter()
        .map(|text| format!("<li><code>{}</code>\n", escaped(text)));
    format!(
        "<p class=\"faults\">{} wrong, {} missing, {} duplicate, {} unknown</p>\n<ul>{}</ul>\n",
        faults.wrong,
        faults.missing,
        faults.duplicate,
        faults.unknown,
        first.collect::<String>(),
    )
}

fn html_table(cells: &Cells) -> String {
    let mut html = "<div class=\"wide\"><table>\n".to_owned();
    for (index, row) in cells.iter().enumerate() {
        let tag = if index == 0 { "th" } else { "td" };
        html += "<tr>";
        for cell in row {
            html += &format!("<{tag}>{}</{tag}>", escaped(cell));
        }
        html += "</tr>\n";
    }
    html + "</table></div>\n"
}

const STYLE: &str = "
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; }
code { font-size: .9em; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; white-space: nowrap; font-size: .85rem; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
.faults { color: #b00020; font-weight: bold; }
svg { width: 100%; height: auto; margin: .5rem 0; font: 12px system-ui, sans-serif; }
svg path { stroke: #ddd; fill: none; }
svg polyline { fill: none; stroke-width: 1.8; }
svg text { fill: #444; }
svg .title { font-size: 14px; font-weight: bold; }
";
