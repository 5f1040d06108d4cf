//! A line chart as inline SVG: axes, grid, a line for each series, and a legend.

use std::fmt::Write as _;

/// A chart.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    pub(super) x: Axis<'a>,
    pub(super) y: Axis<'a>,
    pub(super) series: Vec<(String, Vec<(f64, f64)>)>,
}

/// One axis.
pub(super) struct Axis<'a> {
    pub(super) name: &'a str,
    pub(super) scale: Scale,
    /// What a value on it reads.
    pub(super) label: fn(f64) -> String,
}

/// How values lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// From 0.
    Linear,
    /// By powers of ten.
    Log,
}

/// A range of an axis, as it lies on it.
struct Range {
    low: f64,
    high: f64,
    scale: Scale,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 44.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 48.0;
/// Told apart by people who see few colours too.
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666",
];

/// For more series than there are colours.
const DASHES: [&str; 3] = ["none", "6 3", "2 3"];

impl Chart<'_> {
    /// The chart as an element of a page; nothing if there is nothing to show.
    pub(super) fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|(_, points)| points);
        if points().next().is_none() {
            return String::new();
        }
        let x = Range::of(points().map(|point| point.0), self.x.scale);
        let y = Range::of(points().map(|point| point.1), self.y.scale);
        let legend = 18.0 * self.series.len() as f64;
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{title}\">\n\
             <text x=\"{LEFT}\" y=\"20\" class=\"title\">{title}</text>\n",
            HEIGHT + legend,
            title = escaped(self.title),
        );
        self.grid(&mut svg, &x, &y);
        for (index, (name, points)) in self.series.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let dash = DASHES[index / COLOURS.len() % DASHES.len()];
            let mut line = String::new();
            for &(at_x, at_y) in points {
                let _ = write!(
                    line,
                    "{:.1},{:.1} ",
                    across(x.share(at_x)),
                    down(y.share(at_y))
                );
            }
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" stroke=\"{colour}\" stroke-dasharray=\"{dash}\"/>",
                line.trim_end()
            );
            let at = HEIGHT + 18.0 * index as f64 + 6.0;
            let y = at - 4.0;
            let _ = writeln!(
                svg,
                "<polyline points=\"{LEFT},{y} {},{y}\" stroke=\"{colour}\" \
                 stroke-dasharray=\"{dash}\"/><text x=\"{}\" y=\"{at}\">{}</text>",
                LEFT + 16.0,
                LEFT + 22.0,
                escaped(name),
            );
        }
        svg + "</svg>\n"
    }

    fn grid(&self, svg: &mut String, x: &Range, y: &Range) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for value in x.ticks() {
            let at = across(x.share(value));
            let _ = writeln!(
                svg,
                "<path d=\"M{at:.1} {TOP}V{bottom}\"/>\
                 <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 16.0,
                escaped(&(self.x.label)(value)),
            );
        }
        for value in y.ticks() {
            let at = down(y.share(value));
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {at:.1}H{right}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                at + 4.0,
                escaped(&(self.y.label)(value)),
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text x=\"{right}\" y=\"20\" text-anchor=\"end\">{}</text>",
            f64::midpoint(LEFT, right),
            bottom + 36.0,
            escaped(self.x.name),
            escaped(self.y.name),
        );
    }
}

impl Range {
    fn of(values: impl Iterator<Item = f64>, scale: Scale) -> Self {
        let positive = |value: &f64| value.is_finite() && (scale == Scale::Linear || *value > 0.0);
        let (low, high) = values
            .filter(positive)
            .fold((f64::MAX, 0f64), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let (low, high) = match scale {
            Scale::Linear => (0.0, if high > 0.0 { high * 1.05 } else { 1.0 }),
            Scale::Log if low > high => (1.0, 10.0),
            Scale::Log => (
                10f64.powf(low.log10().floor()),
                10f64.powf(high.log10().ceil()),
            ),
        };
        let high = if high <= low { low * 10.0 } else { high };
        Self { low, high, scale }
    }

    /// Where a value lies: 0 at the low end, 1 at the high one.
    fn share(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(self.low) / self.low).log10() / (self.high / self.low).log10(),
        };
        share.clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let rough = (self.high - self.low) / 5.0;
                let power = 10f64.powf(rough.log10().floor());
                let factors = [1.0, 2.0, 5.0, 10.0].into_iter();
                let step = factors
                    .map(|factor| factor * power)
                    .find(|step| *step >= rough);
                let step = step.unwrap_or(rough);
                let count = ((self.high - self.low) / step) as usize;
                (0..=count)
                    .map(|tick| self.low + step * tick as f64)
                    .collect()
            }
            Scale::Log => {
                let decades = (self.high / self.low).log10().round() as i32;
                (0..=decades)
                    .map(|decade| self.low * 10f64.powi(decade))
                    .collect()
            }
        }
    }
}

fn across(share: f64) -> f64 {
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

fn down(share: f64) -> f64 {
    HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
}

/// Text as it may stand in a page.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_shares_lie_between() {
        let linear = Range::of([3.0, 470.0].into_iter(), Scale::Linear);
        assert_eq!(linear.ticks(), [0.0, 100.0, 200.0, 300.0, 400.0]);
        let log = Range::of([3.0, 470.0].into_iter(), Scale::Log);
        assert_eq!(log.ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert!((log.share(10.0) - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!((log.share(0.0), linear.share(1e9)), (0.0, 1.0));
        let same = Range::of([10.0].into_iter(), Scale::Log);
        assert_eq!(same.ticks(), [10.0, 100.0]);
    }
}
