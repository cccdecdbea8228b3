import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ORIGIN, runCalls } from "./calls.mjs";

/** The program, and a model to start it with. */
const [program, model] = process.argv.slice(3);

async function connected(transport, use) {
  const client = new Client({ name: "check", version: "1.0.0" });
  await client.connect(transport);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
const overHttp = (use) => connected(new StreamableHTTPClientTransport(new URL(`${ORIGIN}/mcp`)), use);
const overStdio = (use) => {
  const args = [program, "mcp", model, "--name", "half"];
  return connected(new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }), use);
};

await runCalls({
  "HTTP: tools/list, tools/call, by its output schema": () =>
    overHttp(async (client) => {
      const { tools } = await client.listTools();
      assert.ok(tools.some(({ name }) => name === "sum"));
      const { structuredContent } = await client.callTool({ name: "sum", arguments: { x: [1, 2.5] } });
      assert.deepEqual(structuredContent, { sum: [3.5] });
    }),
  "HTTP: pictures and sound": () =>
    overHttp(async (client) => {
      const typesOf = async (name) => (await client.callTool({ name, arguments: {} })).content.map(({ type }) => type);
      assert.ok((await typesOf("test_image_content")).includes("image"));
      assert.ok((await typesOf("test_audio_content")).includes("audio"));
    }),
  "HTTP: progress by parts": () =>
    overHttp(async (client) => {
      const parts = [];
      const onprogress = (part) => parts.push(part.progress);
      await client.callTool({ name: "test_tool_with_progress", arguments: {} }, undefined, { onprogress });
      assert.equal(parts.length, 3);
    }),
  "HTTP: functions chat, embed, rerank": () =>
    overHttp(async (client) => {
      const { content } = await client.callTool({ name: "talk_chat", arguments: { message: "two words" } });
      assert.equal(content[0].text, "two words ");
    }),
  "HTTP: a tool that fails, and one that is unknown": () =>
    overHttp(async (client) => {
      const failed = await client.callTool({ name: "test_error_handling", arguments: {} });
      assert.equal(failed.isError, true);
      await assert.rejects(client.callTool({ name: "none", arguments: {} }));
    }),
  "stdio: tools/list, tools/call": () =>
    overStdio(async (client) => {
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map(({ name }) => name),
        ["half"],
      );
      const { structuredContent } = await client.callTool({ name: "half", arguments: { x: [1, 2.5] } });
      assert.deepEqual(structuredContent, { y: [2.5, 3.25] });
    }),
});
