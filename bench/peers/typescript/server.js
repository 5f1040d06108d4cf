// The official TypeScript SDK as its guide says: McpServer, Zod schemas, serveStdio.

import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod/v4';

const text = text => ({ content: [{ type: 'text', text }] });

serveStdio(() => {
    const server = new McpServer({ name: 'demo', version: '1.0.0' });
    server.registerTool(
        'add',
        { description: 'Add two numbers', inputSchema: z.object({ a: z.number(), b: z.number() }) },
        async ({ a, b }) => text(String(a + b))
    );
    server.registerTool(
        'echo',
        { description: 'Say it back', inputSchema: z.object({ message: z.string() }) },
        async ({ message }) => text(message)
    );
    return server;
});
