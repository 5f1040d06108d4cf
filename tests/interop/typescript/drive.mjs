// Drives the demo server over stdio with the official TypeScript client, in every revision that it can be made to use.
// `node drive.mjs DEMO` prints a line per check, `ok ...` or `FAIL ...`, and exits 1 if any failed.

import assert from 'node:assert/strict';
import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, ProtocolError, ResourceNotFoundError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const MODERN = '2026-07-28';
const CONNECTIONS = [
    { name: MODERN, revision: MODERN, options: { versionNegotiation: { mode: { pin: MODERN } } } },
    { name: 'auto', revision: MODERN, options: { versionNegotiation: { mode: 'auto' } } },
    { name: '2025-11-25', revision: '2025-11-25', options: {} },
    ...['2025-06-18', '2025-03-26', '2024-11-05'].map(revision => ({
        name: revision,
        revision,
        options: { supportedProtocolVersions: [revision] }
    }))
];

// Every process that the client starts, in order: a modern client asks one for its revisions, and talks to another.
const servers = [];
diagnostics.subscribe('child_process', ({ process }) => servers.push(process));

setTimeout(() => {
    console.log('FAIL typescript: not at the end after two minutes');
    process.exit(1);
}, 120_000).unref();

let failed = false;
for (const connection of CONNECTIONS) await drive(connection);
process.exitCode = failed ? 1 : 0;

async function drive({ name, revision, options }) {
    const check = async (what, body) => {
        try {
            await body();
            console.log(`ok typescript ${name}: ${what}`);
            return true;
        } catch (error) {
            failed = true;
            console.log(`FAIL typescript ${name}: ${what}: ${String(error.message).replaceAll('\n', ' ')}`);
            return false;
        }
    };

    const client = new Client({ name: 'interop', version: '1.0.0' }, options);
    const complaints = [];
    client.onerror = error => complaints.push(error.message);
    const transport = new StdioClientTransport({ command: process.argv[2] });
    const call = (tool, args, options) => client.callTool({ name: tool, arguments: args }, options);
    servers.length = 0;

    const connected = await check('connect', async () => {
        await client.connect(transport);
        assert.equal(client.getNegotiatedProtocolVersion(), revision);
        assert.equal(client.getServerVersion()?.name, 'demo');
    });
    if (!connected) {
        await transport.close();
        return;
    }
    const wire = tap(transport);

    await check('list tools', async () => {
        const { tools } = await client.listTools();
        assert.deepEqual(names(tools), ['add', 'boom', 'echo', 'forecast', 'sleep']);
        assert.deepEqual(tools.find(tool => tool.name === 'forecast').inputSchema.required, ['location']);
    });
    await check('list resources, templates and prompts', async () => {
        const { resources } = await client.listResources();
        assert.deepEqual(resources.map(resource => resource.uri), ['demo://greeting']);
        const { resourceTemplates } = await client.listResourceTemplates();
        assert.deepEqual(resourceTemplates.map(template => template.uriTemplate), ['greeting://{name}']);
        assert.deepEqual(names((await client.listPrompts()).prompts), ['review']);
    });
    await check('call add', async () => {
        assert.deepEqual(outcome(await call('add', { a: 2, b: 3 })), [false, '5']);
    });
    await check('call echo', async () => {
        const message = 'line\nquote " backslash \\ null \0 é 漢 🎈';
        assert.deepEqual(outcome(await call('echo', { message })), [false, message]);
    });
    await check('call boom: a tool error', async () => {
        assert.deepEqual(outcome(await call('boom', {})), [true, 'city not found']);
    });
    await check('an unknown tool: a protocol error', async () => {
        await assert.rejects(call('nobody', {}), error => error instanceof ProtocolError && error.code === -32602);
    });
    await check('bad arguments: a tool error that names them', async () => {
        const [isError, text] = outcome(await call('forecast', { location: 'Bern', days: 'two', units: 'k' }));
        assert.ok(isError);
        assert.match(text, /days/);
        assert.match(text, /units/);
    });
    await check('read the resource', async () => {
        const { contents } = await client.readResource({ uri: 'demo://greeting' });
        assert.deepEqual(contents.map(content => [content.uri, content.text]), [['demo://greeting', 'Hello, world!']]);
    });
    await check('read through the template', async () => {
        const { contents } = await client.readResource({ uri: 'greeting://Ada' });
        assert.deepEqual(contents.map(content => [content.uri, content.text]), [['greeting://Ada', 'Hello, Ada!']]);
    });
    await check('an unknown resource: a protocol error', async () => {
        // The client gives one code for both eras, so the bytes are looked at.
        await assert.rejects(client.readResource({ uri: 'nobody://home' }), ResourceNotFoundError);
        assert.equal(wire.received.at(-1).error.code, revision === MODERN ? -32602 : -32002);
    });
    await check('get the prompt', async () => {
        const { messages } = await client.getPrompt({ name: 'review', arguments: { code: 'let x;' } });
        assert.equal(messages.length, 1);
        assert.equal(messages[0].role, 'user');
        assert.match(messages[0].content.text, /let x;/);
    });
    await check('a prompt without its argument: a protocol error', async () => {
        const prompt = client.getPrompt({ name: 'review', arguments: {} });
        await assert.rejects(prompt, error => error instanceof ProtocolError && error.code === -32602);
    });
    await check('twenty calls at once, a slow one first', async () => {
        const slow = call('sleep', { ms: 100 });
        const sums = await Promise.all(Array.from({ length: 20 }, (_, a) => call('add', { a, b: 1 })));
        assert.deepEqual(sums.map(sum => outcome(sum)[1]), Array.from({ length: 20 }, (_, a) => String(a + 1)));
        assert.deepEqual(outcome(await slow), [false, 'slept']);
        assert.equal(wire.received.at(-1).result.content[0].text, 'slept');
    });
    await check('abort a call: it is never answered, and the next one is', async () => {
        const abort = new AbortController();
        const slept = call('sleep', { ms: 400 }, { signal: abort.signal });
        setTimeout(() => abort.abort('enough'), 100);
        await assert.rejects(slept, error => !(error instanceof ProtocolError));
        assert.deepEqual(outcome(await call('add', { a: 2, b: 3 })), [false, '5']);
        await sleep(500);
        wire.assertCancelled('sleep');
    });
    await check('a call that times out is cancelled', async () => {
        const slept = call('sleep', { ms: 60_000 }, { timeout: 100 });
        await assert.rejects(slept, error => error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout);
        assert.deepEqual(outcome(await call('echo', { message: 'still here' })), [false, 'still here']);
        wire.assertCancelled('sleep');
    });
    // The server waits for calls in flight before it ends: an end within a second shows that none was left.
    await check('close: the server ends at once, with status 0', async () => {
        const ends = servers.map(end);
        const start = performance.now();
        await client.close();
        const statuses = await Promise.all(ends);
        const ms = Math.round(performance.now() - start);
        assert.deepEqual(statuses, revision === MODERN ? [0, 0] : [0]);
        assert.ok(ms < 1000, `it took ${ms} ms`);
    });
    await check('the client had nothing to complain about', () => assert.deepEqual(complaints, []));
}

function names(list) {
    return list.map(({ name }) => name).sort();
}

function outcome({ isError, content }) {
    return [isError ?? false, content.map(({ text }) => text).join('')];
}

async function end(server) {
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    return server.exitCode ?? server.signalCode;
}

// Records what goes over the wire, for what a client does not show: the answer that a cancelled call must not get.
function tap(transport) {
    const sent = [];
    const received = [];
    const { send, onmessage } = transport;
    transport.send = message => {
        sent.push(message);
        return send.call(transport, message);
    };
    transport.onmessage = message => {
        received.push(message);
        onmessage(message);
    };
    const assertCancelled = tool => {
        const { id } = sent.findLast(({ params }) => params?.name === tool);
        const isCancel = ({ method, params }) => method === 'notifications/cancelled' && params.requestId === id;
        assert.ok(sent.some(isCancel), 'the client sent no cancellation');
        assert.ok(!received.some(message => message.id === id), 'the cancelled call was answered');
    };
    return { received, assertCancelled };
}
