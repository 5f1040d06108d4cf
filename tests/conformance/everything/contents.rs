//! Tools that answer with contents of every kind.

use tightwire::{Content, ResourceContents, Server, tool};

/// One grey pixel.
pub(crate) const IMAGE: &[u8] = include_bytes!("pixel.png");

/// Two samples.
const SOUND: &[u8] = include_bytes!("silence.wav");

pub(crate) fn add_to(server: Server) -> Server {
    // The suite calls the tool that is listed first without arguments.
    server
        .tool(test_simple_text)
        .tool(test_image_content)
        .tool(test_audio_content)
        .tool(test_embedded_resource)
        .tool(test_multiple_content_types)
        .tool(test_error_handling)
}

/// Answer with a text
#[tool]
fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Answer with an image
#[tool]
fn test_image_content() -> Content {
    Content::image(IMAGE, "image/png")
}

/// Answer with a sound
#[tool]
fn test_audio_content() -> Content {
    Content::audio(SOUND, "audio/wav")
}

/// Answer with a resource
#[tool]
fn test_embedded_resource() -> Content {
    let contents = ResourceContents::text("test://embedded-resource", "An embedded resource.");
    Content::resource(contents.mime_type("text/plain"))
}

/// Answer with a text, an image and a resource
#[tool]
fn test_multiple_content_types() -> [Content; 3] {
    let json = r#"{"test":"data","value":123}"#;
    [
        Content::text("Several kinds of content:"),
        Content::image(IMAGE, "image/png"),
        Content::resource(
            ResourceContents::text("test://mixed-content-resource", json)
                .mime_type("application/json"),
        ),
    ]
}

/// Answer with a tool execution error
#[tool]
fn test_error_handling() -> Result<(), &'static str> {
    Err("This tool intentionally returns an error for testing")
}
