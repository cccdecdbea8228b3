import { expect, test } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { startKserving } from "../start-kserving.ts";

const HOOKS = `
  import { writeSync } from "node:fs";
  console.log("a hook file prints");
  export const inputs = [{ name: "text", dtype: "bytes", shape: [1] }];
  export const outputs = [{ name: "word", dtype: "bytes", shape: [1] }];
  export async function* process({ text }) {
    const said = Buffer.from(text.data[0]).toString();
    console.log("a hook prints");
    writeSync(1, "as a library prints\\n");
    for (const word of said.split(" ")) yield { word: [word] };
    while (said === "endless") await new Promise((resolve) => setTimeout(resolve, 5));
  }
`;

const request = (id: number, method: string, params: object = {}) =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;

const call = (id: number, text: string, more: object = {}) =>
  request(id, "tools/call", { name: "default", arguments: { text }, ...more });

test("mcp answers messages over stdio, with nothing else on standard output, and ends with its input", async () => {
  const folder = tempFolder({ "words.mjs": HOOKS });
  const program = startKserving([
    "mcp",
    "--driver",
    "null",
    "--hooks",
    `${folder}/words.mjs`,
    "--max-message-bytes",
    "2048",
  ]);
  program.type(request(1, "initialize", { protocolVersion: "2025-11-25", capabilities: {} }));
  program.type('{"jsonrpc":"2.0","method":"notifications/initialized"}\n\n');
  program.type(request(2, "tools/list"));
  program.type(call(3, "so it is", { _meta: { progressToken: "p" } }));
  program.type(call(4, "endless"));
  await program.output(/"id":3,"result"/);
  program.type('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}\n');
  program.type(`${"x".repeat(5000)}\n`);
  program.type("no json\n");
  program.type('[{"jsonrpc":"2.0","id":5,"method":"ping"}]\n');
  program.type(request(6, "nothing").trim());
  program.endInput();
  const { code, stdout, stderr } = await program.ended();
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const answer = (id: number) => lines.find((line) => line.id === id);
  expect(answer(1).result).toMatchObject({ protocolVersion: "2025-11-25", serverInfo: { name: "kserving" } });
  expect(answer(2).result.tools).toMatchObject([{ name: "default", inputSchema: { required: ["text"] } }]);
  expect(lines.filter(({ method }) => method === "notifications/progress")).toHaveLength(3);
  expect(answer(3).result.content).toEqual([{ type: "text", text: "soitis" }]);
  expect(answer(4)).toBeUndefined();
  expect(answer(6).error.code).toBe(-32601);
  expect(lines.filter(({ id }) => id === null).map(({ error }) => error.code)).toEqual([-32600, -32700]);
  expect(lines).toContainEqual([{ jsonrpc: "2.0", id: 5, result: {} }]);
  expect([code, stderr]).toEqual([0, expect.stringContaining("a hook prints")]);
  expect(stderr).toContain("as a library prints");
});

test("mcp says on standard error why a model cannot be had", async () => {
  const { code, stdout, stderr } = await startKserving(["mcp", "/nowhere/model.onnx"]).ended();
  expect(code).not.toBe(0);
  expect([stdout, stderr]).toEqual(["", expect.stringContaining("/nowhere/model.onnx")]);
});
