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
    try {
      for (const word of said.split(" ")) yield { word: [word] };
      while (said === "endless") {
        // Slowly: the test reads all that is told of it.
        await new Promise((resolve) => setTimeout(resolve, 10));
        yield { word: ["on"] };
      }
    } finally {
      console.log(said === "endless" ? "an endless one ended" : "another ended");
    }
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
  program.type(request(1, "initialize", { protocolVersion: "2025-03-26", capabilities: {} }));
  program.type('{"jsonrpc":"2.0","method":"notifications/initialized"}\n\n');
  program.type(request(2, "tools/list"));
  program.type(call(3, "so it is", { _meta: { progressToken: "p" } }));
  await program.output(/"id":3,"result"/);
  program.type(call(4, "endless", { _meta: { progressToken: "q" } }));
  await program.output(/"progressToken":"q","progress":2/);
  program.type(call(4, "too"));
  await program.output(/"id":4,"error":\{"code":-32600/);
  program.type('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}\n');
  await program.output(/an endless one ended/, "stderr");
  program.type(`${"x".repeat(5000)}\n`);
  program.type("no json\n");
  program.type('\r\n[]\n[{"jsonrpc":"2.0","id":5,"method":"ping"}]\n');
  await program.output(/"id":5/);
  program.type(request(7, "initialize", { protocolVersion: "2025-11-25", capabilities: {} }));
  await program.output(/"id":7/);
  program.type('[{"jsonrpc":"2.0","id":8,"method":"ping"}]\n');
  program.type(request(6, "nothing").trim());
  program.endInput();
  const { code, stdout, stderr } = await program.ended();
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const answer = (id: number) => lines.find((line) => line.id === id);
  expect(answer(1).result).toMatchObject({ protocolVersion: "2025-03-26", serverInfo: { name: "kserving" } });
  expect(answer(2).result.tools).toMatchObject([{ name: "default", inputSchema: { required: ["text"] } }]);
  expect(lines.filter(({ params }) => params?.progressToken === "p")).toHaveLength(3);
  expect(answer(3).result.content).toEqual([{ type: "text", text: "soitis" }]);
  expect(lines.filter(({ id }) => id === 4)).toHaveLength(1);
  expect(answer(6).error.code).toBe(-32601);
  const refused = lines.filter(({ id }) => id === null).map(({ error }) => error.code);
  expect(refused).toEqual([-32600, -32700, -32600, -32600]);
  expect(lines).toContainEqual([{ jsonrpc: "2.0", id: 5, result: {} }]);
  expect([code, stderr]).toEqual([0, expect.stringContaining("a hook prints")]);
  expect(stderr).toContain("as a library prints");
});

test("mcp takes large arguments, ends when it is told to, and says which flags do nothing", async () => {
  const folder = tempFolder({ "words.mjs": HOOKS });
  const hooks = ["--driver", "null", "--hooks", `${folder}/words.mjs`];
  const program = startKserving(["mcp", ...hooks, "--port", "9100", "--http-enable", "--log-format", "json"]);
  expect((await program.output(/"msg":"([^"]*without effect[^"]*)"/, "stderr"))[1]).toContain("--port, --http-enable:");
  program.type(call(1, "x".repeat(100_000)));
  const [line] = await program.output(/^.*"id":1.*(?=\n)/m);
  expect(JSON.parse(line).result.structuredContent.parts[0].word[0]).toHaveLength(100_000);
  program.type(call(2, "endless", { _meta: { progressToken: "q" } }));
  await program.output(/"progress":2/);
  program.type('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}\n');
  await program.output(/an endless one ended/, "stderr");
  program.kill("SIGTERM");
  expect((await program.ended()).code).toBe(0);
});

test("mcp has help of its own", async () => {
  const { code, stdout } = await startKserving(["mcp", "--help"]).ended();
  expect([code, stdout]).toEqual([0, expect.stringContaining("Usage: kserving mcp [PATH...] [flags]")]);
});

test("mcp says on standard error why a model cannot be had", async () => {
  const { code, stdout, stderr } = await startKserving(["mcp", "/nowhere/model.onnx"]).ended();
  expect(code).not.toBe(0);
  expect([stdout, stderr]).toEqual(["", expect.stringContaining("/nowhere/model.onnx")]);
});
