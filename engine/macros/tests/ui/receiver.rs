//! `self` where there is no state, or where it is not shared.

use tightwire::{tool, tools};

struct Counter(u64);

impl Counter {
    #[tool]
    fn count(&self) -> u64 {
        self.0
    }
}

struct Clock(u64);

#[tools]
impl Clock {
    #[tool]
    fn tick(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }

    #[tool]
    fn stop(self) -> u64 {
        self.0
    }
}

fn main() {}
