//! What the benches have in common.

use std::time::Duration;

use criterion::Criterion;

/// Few and short samples: there are many lines to measure, and what is looked for are ratios, not
/// the last percent.
pub(crate) fn criterion() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .sample_size(20)
        .nresamples(2_000)
        .without_plots()
        .configure_from_args()
}
