//! A server whose tools misbehave.

fn main() -> tightwire::Result<()> {
    tightwire::Server::new("faulty", "1.0.0").serve_stdio()
}
