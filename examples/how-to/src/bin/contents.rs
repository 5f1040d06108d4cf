//! Contents of every kind: texts, images, sounds, links to resources, embedded resources.
//!
//! ```text
//! cargo run -p how-to --bin contents
//! ```
//!
//! Revisions that lack a kind are given it as one that they have.

use tightwire::{Annotations, Content, ResourceContents, ResourceLink, Role, Server, tool};

/// A picture of one pixel, and what it shows
#[tool]
fn picture() -> [Content; 2] {
    [
        Content::text("One pixel, transparent:"),
        Content::image(PIXEL, "image/gif"),
    ]
}

/// A tenth of a second of silence
#[tool]
fn silence() -> Content {
    Content::audio(silent_wave(), "audio/wav")
}

/// A report: the summary embedded, the rest by a link, and a note that is for people alone
#[tool]
fn report() -> Vec<Content> {
    let summary = ResourceContents::text("report://summary", "All is well.");
    let full = ResourceLink::new("report://full", "full report").description("All the numbers");
    let note = Annotations::new().audience(&[Role::User]).priority(0.2);
    vec![
        Content::resource(summary.mime_type("text/plain")),
        Content::link(full),
        Content::text("Made just now.").annotations(note),
    ]
}

fn main() -> tightwire::Result<()> {
    Server::new("contents", "1.0.0")
        .tool(picture)
        .tool(silence)
        .tool(report)
        .serve_stdio()
}

/// A WAVE file: 8,000 samples a second, of 8 bits each.
fn silent_wave() -> Vec<u8> {
    const SAMPLES: u32 = 800;
    let mut file = Vec::new();
    file.extend(b"RIFF");
    file.extend((36 + SAMPLES).to_le_bytes());
    file.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data");
    file.extend(SAMPLES.to_le_bytes());
    file.resize(file.len() + SAMPLES as usize, 128);
    file
}

const PIXEL: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x01D\0;";
