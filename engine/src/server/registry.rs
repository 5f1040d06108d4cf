//! Everything that a frozen server holds: handlers by name, and the answers that never change,
//! written once.
//!
//! A constant answer is the bytes after `"result":` to the end of the line, one variant per
//! revision; variants that are equal share their bytes.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tightwire_codec::JsonWriter;

use super::{
    completion::{Completable, Completers},
    executor::Executor,
    extension::{self, Extension, ExtensionMethod, MethodEntry},
    handler::guard,
    hook::Hooks,
    legacy, modern,
    output::OutputSchema,
    pages::{List, ListKind, ListSettings},
    prompt::{Prompt, PromptHandler},
    resource::{Readable, Resource, ResourceTemplate},
    seal::Seal,
    task::TaskOptions,
    task_store::TaskStore,
    tasks::Tasks,
    tool::{Execution, Function, Tool},
};
use crate::{
    error::{Error, Result},
    limits::Limits,
    model::{
        caching::Caching,
        implementation::Implementation,
        meta::{MetaObject, is_sound},
        prompt::PromptDefinition,
        uri_template::UriTemplate,
    },
    protocol::{hash::PerfectMap, version::ProtocolVersion},
    random,
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
    pub(crate) tools_list: List,
    pub(crate) resources_list: List,
    pub(crate) templates_list: List,
    pub(crate) prompts_list: List,
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
    /// If there may be tasks.
    pub(crate) tasks: Option<Arc<Tasks>>,
    /// How many tasks a page of their list has; 0 leaves it to the engine.
    pub(crate) tasks_page_size: usize,
    /// Methods of the server's own.
    pub(crate) methods: PerfectMap<MethodEntry>,
}

impl Drop for Registry {
    /// What was removed is dropped where the last call of it ends: on a thread of the pool, or in
    /// the loop. A panic in the drop of what a user wrote is its own there.
    fn drop(&mut self) {
        drop_each(self.tools.take());
        drop_each(self.resources.take());
        drop_each(std::mem::take(&mut self.templates));
        drop_each(self.prompts.take());
        drop_each(self.methods.take());
        drop_each([std::mem::take(&mut self.hooks)]);
        drop_each(self.executor.take());
    }
}

fn drop_each<T>(list: impl IntoIterator<Item = T>) {
    for item in list {
        let _ = guard(|| drop(item));
    }
}

pub(crate) struct ToolEntry {
    pub(crate) name: Box<str>,
    pub(crate) schema: Schema,
    pub(crate) execution: Execution,
    pub(crate) timeout: Option<Duration>,
    pub(crate) task: Option<Box<TaskOptions>>,
    pub(crate) function: Function,
}

pub(crate) struct ResourceEntry {
    pub(crate) readable: Readable,
}

pub(crate) struct TemplateEntry {
    /// As it was written.
    pub(crate) uri: Box<str>,
    pub(crate) template: UriTemplate,
    pub(crate) readable: Readable,
    pub(crate) completers: Completers,
}

pub(crate) struct PromptEntry {
    pub(crate) definition: PromptDefinition,
    pub(crate) execution: Execution,
    pub(crate) handler: PromptHandler,
    pub(crate) completers: Completers,
}

impl TemplateEntry {
    pub(super) fn completable(&self) -> Completable<'_> {
        Completable {
            names: self.template.variables().collect(),
            completers: &self.completers,
        }
    }
}

impl PromptEntry {
    pub(super) fn completable(&self) -> Completable<'_> {
        let arguments = self.definition.arguments.iter();
        Completable {
            names: arguments.map(|argument| argument.name.as_str()).collect(),
            completers: &self.completers,
        }
    }
}

/// What a server was built of.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) implementation: Implementation,
    pub(crate) instructions: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) schema_compiler: Option<Arc<dyn Compiler>>,
    pub(crate) lists: ListSettings,
    pub(crate) discover_caching: Caching,
    pub(crate) check_output: bool,
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
    pub(crate) task_store: Option<Arc<dyn TaskStore>>,
    /// The same for all registries that are made of these parts.
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) extensions: Vec<Extension>,
    pub(crate) methods: Vec<ExtensionMethod>,
}

/// Which features the server has, and so which capabilities it declares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features {
    pub(crate) tools: bool,
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    pub(crate) completions: bool,
    pub(crate) logging: bool,
    /// Whether calls may become tasks.
    pub(crate) tasks: bool,
    /// Whether clients are told of changes.
    pub(crate) changes: bool,
}

impl Registry {
    /// Builds the tables and the constant answers.
    ///
    /// # Errors
    ///
    /// All but [`Error::Io`].
    pub(crate) fn freeze(mut parts: Parts) -> Result<Self> {
        let methods = extension::freeze(&parts)?;
        let tasks = parts.start_tasks()?;
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
        let lists = Lists::write(&parts, &modern_end);
        Ok(Self {
            tools_list: lists.tools,
            resources_list: lists.resources,
            templates_list: lists.templates,
            prompts_list: lists.prompts,
            discover: modern::discover_result(&parts, features, &modern_end),
            initialize: per_version(|version| legacy::initialize_result(&parts, features, version)),
            modern_end,
            features,
            tools: tool_table(&parts)?,
            resources: resource_table(parts.resources)?,
            templates: template_list(parts.templates)?,
            prompts: prompt_table(parts.prompts)?,
            limits: parts.limits,
            logging: parts.logging,
            seal: Seal::new(parts.state_key.map_or_else(random_key, Ok)?),
            executor: parts.executor,
            hooks: parts.hooks,
            tasks,
            tasks_page_size: parts.lists.page_size,
            methods,
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
            completions: self
                .prompts
                .iter()
                .any(|prompt| !prompt.completers.is_empty())
                || self
                    .templates
                    .iter()
                    .any(|template| !template.completers.is_empty()),
            logging: self.logging,
            tasks: self.tasks.is_started(),
            changes: self.changes,
        }
    }
}

impl Features {
    /// Writes the capabilities object. 2024-11-05 has completions, and no capability for them;
    /// tasks are an extension from 2026-07-28 on.
    pub(crate) fn write(self, writer: &mut JsonWriter<'_>, version: ProtocolVersion) {
        let completions = self.completions && version >= ProtocolVersion::V2025_03_26;
        let tasks = self.tasks && version == ProtocolVersion::V2025_11_25;
        let [list_changed, subscribe]: [&[u8]; 2] = if self.changes {
            [
                b"{\"listChanged\":true}",
                b"{\"listChanged\":true,\"subscribe\":true}",
            ]
        } else {
            [b"{}"; 2]
        };
        let all = [
            ("completions", completions, &b"{}"[..]),
            ("logging", self.logging, b"{}"),
            ("prompts", self.prompts, list_changed),
            ("resources", self.resources, subscribe),
            ("tasks", tasks, TASKS),
            ("tools", self.tools, list_changed),
        ];
        let served = all.into_iter().filter(|(_, has, _)| *has);
        writer.raw(b"{");
        writer.items(served, |writer, (name, _, settings)| {
            writer.key(name);
            writer.raw(settings);
        });
        writer.raw(b"}");
    }
}

/// What a server says of tasks in 2025-11-25.
const TASKS: &[u8] = b"{\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}";

pub(super) fn per_version(result: impl Fn(ProtocolVersion) -> Vec<u8>) -> PerVersion {
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

/// The four lists, written.
struct Lists {
    tools: List,
    resources: List,
    templates: List,
    prompts: List,
}

impl Lists {
    fn write(parts: &Parts, end: &[u8]) -> Self {
        let settings = &parts.lists;
        Self {
            tools: List::write(
                ListKind::Tools,
                &parts.tools,
                settings,
                end,
                |tool, writer, version| {
                    let task = tool.task.as_ref().map(|task| task.support);
                    tool.definition.write(writer, version, task);
                },
            ),
            resources: List::write(
                ListKind::Resources,
                &parts.resources,
                settings,
                end,
                |resource, writer, version| {
                    resource.definition.write(writer, "uri", version);
                },
            ),
            templates: List::write(
                ListKind::ResourceTemplates,
                &parts.templates,
                settings,
                end,
                |template, writer, version| {
                    template.definition.write(writer, "uriTemplate", version);
                },
            ),
            prompts: List::write(
                ListKind::Prompts,
                &parts.prompts,
                settings,
                end,
                |prompt, writer, version| {
                    prompt.definition.write(writer, version);
                },
            ),
        }
    }
}

fn tool_table(parts: &Parts) -> Result<PerfectMap<ToolEntry>> {
    let compiler = parts.schema_compiler.as_deref();
    let mut entries = Vec::with_capacity(parts.tools.len());
    for tool in &parts.tools {
        let definition = &tool.definition;
        check_meta(&definition.name, definition.meta.as_ref())?;
        let schema =
            Schema::of_arguments(&definition.input_schema, compiler).map_err(|reason| {
                Error::Schema {
                    tool: definition.name.clone(),
                    reason,
                }
            })?;
        let entry = ToolEntry {
            name: definition.name.as_str().into(),
            schema,
            execution: tool.execution,
            timeout: tool.timeout,
            task: tool.task.clone(),
            function: checked_function(tool, parts)?,
        };
        entries.push((definition.name.clone(), entry));
    }
    table("tool", entries.into_iter())
}

/// The function of a tool, which checks what it answers if that is wanted and there is a schema.
fn checked_function(tool: &Tool, parts: &Parts) -> Result<Function> {
    let function = tool.function.clone();
    let Some(schema) = &tool.definition.output_schema else {
        return Ok(function);
    };
    let name = &tool.definition.name;
    let compiler = parts.schema_compiler.as_deref();
    let schema = Schema::of_output(schema, compiler).map_err(|reason| Error::OutputSchema {
        tool: name.clone(),
        reason,
    })?;
    Ok(if parts.check_output {
        OutputSchema::new(name, schema).checking(function)
    } else {
        function
    })
}

fn resource_table(resources: Vec<Resource>) -> Result<PerfectMap<ResourceEntry>> {
    let mut entries = Vec::with_capacity(resources.len());
    for Resource {
        definition,
        readable,
    } in resources
    {
        check_meta(&definition.uri, definition.meta.as_ref())?;
        entries.push((definition.uri, ResourceEntry { readable }));
    }
    table("resource", entries.into_iter())
}

fn template_list(templates: Vec<ResourceTemplate>) -> Result<Vec<TemplateEntry>> {
    let mut list: Vec<TemplateEntry> = Vec::with_capacity(templates.len());
    for ResourceTemplate {
        definition,
        readable,
        completers,
    } in templates
    {
        check_meta(&definition.uri, definition.meta.as_ref())?;
        if list.iter().any(|entry| *entry.uri == *definition.uri) {
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
            uri: definition.uri.into(),
            template,
            readable,
            completers,
        };
        check_completers(&entry.uri, &entry.completable())?;
        list.push(entry);
    }
    Ok(list)
}

fn prompt_table(prompts: Vec<Prompt>) -> Result<PerfectMap<PromptEntry>> {
    let mut entries = Vec::with_capacity(prompts.len());
    for Prompt {
        definition,
        execution,
        handler,
        completers,
    } in prompts
    {
        let name = definition.name.clone();
        check_meta(&name, definition.meta.as_ref())?;
        let entry = PromptEntry {
            definition,
            execution,
            handler,
            completers,
        };
        check_completers(&name, &entry.completable())?;
        entries.push((name, entry));
    }
    table("prompt", entries.into_iter())
}

fn check_meta(name: &str, meta: Option<&MetaObject>) -> Result<()> {
    if is_sound(meta) {
        return Ok(());
    }
    Err(Error::Meta {
        name: name.to_owned(),
    })
}

fn check_completers(name: &str, completable: &Completable<'_>) -> Result<()> {
    match completable.unknown() {
        None => Ok(()),
        Some(argument) => Err(Error::Completion {
            name: name.to_owned(),
            argument: argument.to_owned(),
        }),
    }
}

/// A random key.
pub(super) fn random_key() -> Result<[u8; 32]> {
    random::key().map_err(Error::io("drawing a random key"))
}

pub(super) fn table<T>(
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
