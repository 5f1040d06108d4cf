//! Everything that a frozen server holds: handlers by name, and the answers that never change,
//! written once.
//!
//! A constant answer is the bytes after `"result":` to the end of the line, one variant per
//! revision; variants that are equal share their bytes.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tightwire_codec::JsonWriter;

use super::{
    executor::Executor,
    hook::Hooks,
    legacy, modern,
    prompt::{Prompt, PromptHandler},
    resource::{ReadHandler, Resource, ResourceTemplate},
    seal::Seal,
    tool::{Execution, Function, Tool},
};
use crate::{
    error::{Error, Result},
    limits::Limits,
    model::{
        implementation::Implementation, prompt::PromptDefinition, resource::ResourceDefinition,
        tool::ToolDefinition, uri_template::UriTemplate,
    },
    protocol::{
        hash::PerfectMap,
        version::{Era, ProtocolVersion},
    },
    schema::{Compiler, Schema},
};

/// One constant answer, per revision.
pub(crate) type PerVersion = [Bytes; ProtocolVersion::ALL.len()];

/// A frozen server. Shared by its connections.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) limits: Limits,
    pub(crate) features: Features,
    pub(crate) tools: PerfectMap<ToolEntry>,
    pub(crate) resources: PerfectMap<ResourceEntry>,
    pub(crate) templates: Vec<TemplateEntry>,
    pub(crate) prompts: PerfectMap<PromptEntry>,
    pub(crate) tools_list: PerVersion,
    pub(crate) resources_list: PerVersion,
    pub(crate) templates_list: PerVersion,
    pub(crate) prompts_list: PerVersion,
    /// Of `server/discover`.
    pub(crate) discover: Bytes,
    /// Of `initialize`.
    pub(crate) initialize: PerVersion,
    /// What ends every modern result: its `_meta`, the braces and the newline.
    pub(crate) modern_end: Vec<u8>,
    /// Whether handlers may log to clients.
    pub(crate) logging: bool,
    pub(crate) seal: Seal,
    pub(crate) executor: Option<Executor>,
    pub(crate) hooks: Hooks,
}

pub(crate) struct ToolEntry {
    pub(crate) name: Box<str>,
    pub(crate) schema: Schema,
    pub(crate) execution: Execution,
    pub(crate) timeout: Option<Duration>,
    pub(crate) function: Function,
}

pub(crate) struct ResourceEntry {
    pub(crate) execution: Execution,
    pub(crate) mime_type: Option<String>,
    pub(crate) handler: ReadHandler,
}

pub(crate) struct TemplateEntry {
    pub(crate) execution: Execution,
    pub(crate) template: UriTemplate,
    pub(crate) mime_type: Option<String>,
    pub(crate) handler: ReadHandler,
}

pub(crate) struct PromptEntry {
    pub(crate) execution: Execution,
    pub(crate) definition: PromptDefinition,
    pub(crate) handler: PromptHandler,
}

/// What a server was built of.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) implementation: Implementation,
    pub(crate) instructions: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) schema_compiler: Option<Arc<dyn Compiler>>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) logging: bool,
    pub(crate) state_key: Option<[u8; 32]>,
    pub(crate) executor: Option<Executor>,
    pub(crate) hooks: Hooks,
    /// Whether all of this may change while it is served.
    pub(crate) changes: bool,
}

/// Which features the server has, and so which capabilities it declares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features {
    pub(crate) tools: bool,
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    pub(crate) logging: bool,
    /// Whether clients are told of changes.
    pub(crate) changes: bool,
}

impl Registry {
    /// Builds the tables and the constant answers.
    ///
    /// # Errors
    ///
    /// [`Error::Duplicate`], [`Error::Schema`] or [`Error::Template`].
    pub(crate) fn freeze(parts: Parts) -> Result<Self> {
        let features = parts.features();
        if parts.executor.is_none()
            && let Some(tool) = parts
                .tools
                .iter()
                .find(|tool| tool.execution == Execution::Async)
        {
            return Err(Error::NoExecutor {
                tool: tool.definition.name.clone(),
            });
        }
        let modern_end = modern::result_end(&parts.implementation);
        let list = |key: &str, item: &dyn Fn(&mut JsonWriter<'_>, ProtocolVersion)| {
            per_version(|version| list_result(key, item, version, &modern_end))
        };
        let tools: Vec<&ToolDefinition> = parts.tools.iter().map(|t| &t.definition).collect();
        let resources: Vec<&ResourceDefinition> =
            parts.resources.iter().map(|r| &r.definition).collect();
        let templates: Vec<&ResourceDefinition> =
            parts.templates.iter().map(|t| &t.definition).collect();
        let prompts: Vec<&PromptDefinition> = parts.prompts.iter().map(|p| &p.definition).collect();
        Ok(Self {
            tools_list: list("tools", &|writer, version| {
                items(writer, &tools, |writer, tool| tool.write(writer, version));
            }),
            resources_list: list("resources", &|writer, version| {
                items(writer, &resources, |writer, resource| {
                    resource.write(writer, "uri", version);
                });
            }),
            templates_list: list("resourceTemplates", &|writer, version| {
                items(writer, &templates, |writer, template| {
                    template.write(writer, "uriTemplate", version);
                });
            }),
            prompts_list: list("prompts", &|writer, version| {
                items(writer, &prompts, |writer, prompt| {
                    prompt.write(writer, version);
                });
            }),
            discover: modern::discover_result(&parts, features, &modern_end),
            initialize: per_version(|version| legacy::initialize_result(&parts, features, version)),
            modern_end,
            features,
            tools: tool_table(&parts.tools, parts.schema_compiler.as_deref())?,
            resources: table(
                "resource",
                parts.resources.into_iter().map(|resource| {
                    let entry = ResourceEntry {
                        execution: resource.execution,
                        mime_type: resource.definition.mime_type,
                        handler: resource.handler,
                    };
                    (resource.definition.uri, entry)
                }),
            )?,
            templates: template_list(parts.templates)?,
            prompts: table(
                "prompt",
                parts.prompts.into_iter().map(|prompt| {
                    let entry = PromptEntry {
                        execution: prompt.execution,
                        definition: prompt.definition.clone(),
                        handler: prompt.handler,
                    };
                    (prompt.definition.name, entry)
                }),
            )?,
            limits: parts.limits,
            logging: parts.logging,
            seal: Seal::new(parts.state_key.map_or_else(random_key, Ok)?),
            executor: parts.executor,
            hooks: parts.hooks,
        })
    }
}

impl Parts {
    /// Fixes what a freeze would choose: the next one chooses the same.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system has no random numbers.
    pub(crate) fn settle(&mut self) -> Result<()> {
        self.state_key = Some(self.state_key.map_or_else(random_key, Ok)?);
        Ok(())
    }

    fn features(&self) -> Features {
        Features {
            tools: self.changes || !self.tools.is_empty(),
            resources: self.changes || !self.resources.is_empty() || !self.templates.is_empty(),
            prompts: self.changes || !self.prompts.is_empty(),
            logging: self.logging,
            changes: self.changes,
        }
    }
}

impl Features {
    /// Writes the capabilities object.
    pub(crate) fn write(self, writer: &mut JsonWriter<'_>) {
        writer.raw(b"{");
        let mut separator: &[u8] = b"";
        let list_changed: &[u8] = b"{\"listChanged\":true}";
        let all: &[u8] = b"{\"listChanged\":true,\"subscribe\":true}";
        for (name, has, changes) in [
            ("logging", self.logging, &b"{}"[..]),
            ("prompts", self.prompts, list_changed),
            ("resources", self.resources, all),
            ("tools", self.tools, list_changed),
        ] {
            if has {
                writer.raw(separator);
                writer.key(name);
                writer.raw(if self.changes { changes } else { b"{}" });
                separator = b",";
            }
        }
        writer.raw(b"}");
    }
}

fn per_version(result: impl Fn(ProtocolVersion) -> Vec<u8>) -> PerVersion {
    let mut variants: Vec<Bytes> = Vec::new();
    std::array::from_fn(|index| {
        let bytes = Bytes::from(result(ProtocolVersion::ALL[index]));
        if let Some(same) = variants.iter().find(|variant| **variant == bytes) {
            return same.clone();
        }
        variants.push(bytes.clone());
        bytes
    })
}

fn list_result(
    key: &str,
    items: &dyn Fn(&mut JsonWriter<'_>, ProtocolVersion),
    version: ProtocolVersion,
    modern_end: &[u8],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = JsonWriter::new(&mut bytes);
    let modern = version.era() == Era::Modern;
    writer.raw(if modern {
        b"{\"resultType\":\"complete\","
    } else {
        b"{"
    });
    writer.key(key);
    writer.raw(b"[");
    items(&mut writer, version);
    writer.raw(b"]");
    if modern {
        writer.raw(modern::LIST_CACHING);
        writer.raw(modern_end);
    } else {
        writer.raw(b"}}\n");
    }
    bytes
}

/// Writes items with commas between them.
fn items<T>(writer: &mut JsonWriter<'_>, items: &[T], write: impl Fn(&mut JsonWriter<'_>, &T)) {
    for (index, item) in items.iter().enumerate() {
        writer.raw(if index > 0 { b"," } else { b"" });
        write(writer, item);
    }
}

fn tool_table(tools: &[Tool], compiler: Option<&dyn Compiler>) -> Result<PerfectMap<ToolEntry>> {
    let mut entries = Vec::with_capacity(tools.len());
    for tool in tools {
        let schema =
            Schema::of_arguments(&tool.definition.input_schema, compiler).map_err(|reason| {
                Error::Schema {
                    tool: tool.definition.name.clone(),
                    reason,
                }
            })?;
        let name: Box<str> = tool.definition.name.as_str().into();
        let entry = ToolEntry {
            name: name.clone(),
            schema,
            execution: tool.execution,
            timeout: tool.timeout,
            function: tool.function.clone(),
        };
        entries.push((name.into_string(), entry));
    }
    table("tool", entries.into_iter())
}

fn template_list(templates: Vec<ResourceTemplate>) -> Result<Vec<TemplateEntry>> {
    let mut list: Vec<(String, TemplateEntry)> = Vec::with_capacity(templates.len());
    for ResourceTemplate {
        definition,
        execution,
        handler,
    } in templates
    {
        if list.iter().any(|(uri, _)| *uri == definition.uri) {
            return Err(Error::Duplicate {
                kind: "resource template",
                name: definition.uri,
            });
        }
        let template = UriTemplate::parse(&definition.uri).map_err(|reason| Error::Template {
            template: definition.uri.clone(),
            reason,
        })?;
        let entry = TemplateEntry {
            execution,
            template,
            mime_type: definition.mime_type,
            handler,
        };
        list.push((definition.uri, entry));
    }
    Ok(list.into_iter().map(|(_, entry)| entry).collect())
}

/// A random key to seal with.
fn random_key() -> Result<[u8; 32]> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| Error::io("drawing a random key")(error.into()))?;
    Ok(key)
}

fn table<T>(
    kind: &'static str,
    entries: impl Iterator<Item = (String, T)>,
) -> Result<PerfectMap<T>> {
    let entries = entries.map(|(name, entry)| (name.into(), entry)).collect();
    PerfectMap::build(entries).map_err(|name| Error::Duplicate {
        kind,
        name: name.into(),
    })
}

macro_rules! opaque_debug {
    ($($type:ident)*) => {
        $(impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type)).finish_non_exhaustive()
            }
        })*
    };
}

opaque_debug!(ToolEntry ResourceEntry TemplateEntry PromptEntry);
