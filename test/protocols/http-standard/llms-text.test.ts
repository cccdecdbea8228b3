import { expect, test } from "vitest";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import { llmsText } from "../../../src/protocols/http-standard/llms-text.ts";
import type { InferenceService } from "../../../src/serving/inference-service.ts";
import { authFiles, basic } from "../../access/auth-fixture.ts";
import { tellingDriver } from "../../helpers/echo-driver.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const half = { path: "test/fixtures/models/half-plus-two.onnx" };

async function read(httpUrl: string, headers: Record<string, string> = {}): Promise<string> {
  const answer = await fetch(`${httpUrl}/llms.txt`, { headers });
  expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  return answer.text();
}

test("/llms.txt tells each model's inputs and outputs, with a request that it answers", async () => {
  const hooks: Hooks = {
    inputs: [
      { name: "inputs", dtype: "bytes", shape: [-1] },
      { name: "photo", dtype: "uint8", shape: [1, -1, -1, 3] },
    ],
    outputs: [{ name: "kind", dtype: "bytes", shape: [-1], labels: ["cat", "dog\nmouse"] }],
    process: () => ({ kind: ["cat"] }),
  };
  const { httpUrl } = await startServer({
    models: { half, "a b": { driver: "null", hooks }, any: { driver: "null" } },
  });
  const text = await read(httpUrl);
  expect(text).toContain("### half\n\n- input x: FP32 [-1]\n- output y: FP32 [-1]\n- a request, with values");
  expect(text).toContain("- output kind: BYTES [-1]; by index: cat, dog mouse\n");
  expect(text).toContain("### any\n\n- inputs: the model does not say");
  const requests = [...text.matchAll(/: POST (\S+) (.+)$/gm)];
  expect(requests.map(([, path]) => path)).toEqual(["/predict/half", "/v1/models/a%20b:predict"]);
  for (const [, path = "", body = ""] of requests) {
    const answer = await fetch(httpUrl + path, { method: "POST", body });
    expect([path, answer.status, await answer.text()]).toEqual([path, 200, expect.stringMatching(/2\.5|cat/)]);
  }
  for (const [, path] of text.matchAll(/\]\((\/\S+)\)/g)) expect((await fetch(httpUrl + path)).status).toBe(200);
});

test("signatures beside the usual one are told with a request that runs them", async () => {
  const spec = (name: string, dtype: string, shape: readonly number[]) => ({ name, dtype, shape });
  const others = {
    "o\nther": { inputs: [spec("t", "bytes", [-1])] },
    wide: { inputs: Array.from({ length: 60 }, (_, at) => spec(`x${at}`, "bool", [])), outputs: [] },
    any: {},
  };
  const drivers = tempFolder({ "driver.ts": tellingDriver({ inputs: [spec("x", "float32", [-1])] }, others) });
  const { httpUrl } = await startServer({ models: { "a b": { driver: `${drivers}/driver.ts` }, half } });
  const text = await read(httpUrl);
  expect(text).toContain("- signature any: takes what the model does not say; gives what the model does not say\n");
  expect(text).toContain("- and 1 signatures more\n\n### half");
  const [, path = "", body = ""] =
    /signature o ther: takes t: BYTES \[-1\]; gives what the model does not say;.* POST (\S+) (.+)$/m.exec(text) ?? [];
  const answer = await fetch(httpUrl + path, { method: "POST", body });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("outputs")]);
});

test("a request to a model of tables has a row by its columns, with values that it knows", async () => {
  const column = (name: string, dtype: string, facts = {}) => ({ name, dtype, shape: [-1], ...facts });
  const city = column("city", "bytes", { categories: ["Rome", "Oslo"] });
  const ofColumns = { isTabular: true, suggestedInputs: [column("age", "float64"), city, column("note", "bytes")] };
  const row = { name: "input", dtype: "float32", shape: [-1, 2], features: ["width", "height"] };
  const ofRows = { isTabular: true, suggestedInputs: [row] };
  const drivers = tempFolder({ "columns.ts": tellingDriver(ofColumns), "rows.ts": tellingDriver(ofRows) });
  const models = { columns: { driver: `${drivers}/columns.ts` }, rows: { driver: `${drivers}/rows.ts` } };
  const { httpUrl } = await startServer({ models });
  const requests = [...(await read(httpUrl)).matchAll(/by column: POST (\S+) (.+)$/gm)].map(([, ...one]) => one);
  expect(requests).toEqual([
    ["/predict/columns", '[{"age":1,"city":"Rome","note":"a"}]'],
    ["/predict/rows", '[{"width":1,"height":1}]'],
  ]);
  for (const [path = "", body = ""] of requests)
    expect((await fetch(httpUrl + path, { method: "POST", body })).status).toBe(200);
});

test.each([
  ["-kibernetika", ["/v1/models/half:predict"], "/v1/models/NAME:predict"],
  ["kserve", [], "documents below"],
  ["-kserve", ["/predict/half"], "/predict/NAME"],
])("what --protocols %s leaves out is not told", async (protocols, calls, how) => {
  const { httpUrl } = await startServer({ models: { half }, servedProtocols: protocols });
  const text = await read(httpUrl);
  expect(text).toContain(how);
  const requests = [...text.matchAll(/: POST (\S+) (.+)$/gm)];
  expect(requests.map(([, path]) => path)).toEqual(calls);
  for (const [, path = "", body = ""] of requests)
    expect((await fetch(httpUrl + path, { method: "POST", body })).status).toBe(200);
  for (const [, path] of text.matchAll(/\]\((\/\S+)\)/g)) expect((await fetch(httpUrl + path)).status).toBe(200);
});

test("a model with functions for texts has a request of the route that calls them, unless it is left out", async () => {
  const hooks = { chat: () => "Hello" };
  const models = { talk: { driver: "null", hooks }, half };
  const { httpUrl } = await startServer({ models });
  const text = await read(httpUrl);
  const [, path = "", body = ""] = /### talk\n\n- a request of OpenAI's API: POST (\S+) (.+)\n/.exec(text) ?? [];
  expect(path).toBe("/v1/chat/completions");
  expect((await fetch(httpUrl + path, { method: "POST", body })).status).toBe(200);
  expect(text.match(/OpenAI/g)).toHaveLength(1);
  const { httpUrl: without } = await startServer({ models, servedProtocols: "-openai" });
  expect(await read(without)).not.toContain("OpenAI");
});

test("documents are pointed to where there are some", async () => {
  const service = { index: () => [] } as unknown as InferenceService;
  const tell = (mcp: boolean) => llmsText(service, { page: false, mcp, serves: (name) => name === "openai" });
  expect(await tell(true)).toContain("documents below");
  expect(await tell(false)).toContain("Clients of the protocols that it serves run its models.");
});

test("a caller reads of the models that it may know of", async () => {
  const { httpUrl } = await startServer({ models: { default: half, other: half }, auth: await authFiles() });
  expect((await fetch(`${httpUrl}/llms.txt`)).status).toBe(401);
  const own = await read(httpUrl, { authorization: basic("alice", "open sesame") });
  expect(own.match(/^### .+$/gm)).toEqual(["### default"]);
});

test("a wide model is told in part", async () => {
  const inputs = Array.from({ length: 60 }, (_, at) => ({ name: `x${at}`, dtype: "float32" as const, shape: [-1] }));
  const { httpUrl } = await startServer({
    models: { wide: { driver: "null", hooks: { inputs, process: () => ({}) } } },
  });
  const text = await read(httpUrl);
  expect(text).toContain("- input x49: FP32 [-1]\n- and 10 inputs more\n");
  expect(text).not.toContain("a request");
});
