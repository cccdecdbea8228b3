import { cpSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { RepositorySource } from "../../src/server/repository-source.ts";
import { createServer, openServer } from "../../src/server/server.ts";
import { withDefaults } from "../../src/server/server-options.ts";
import { listModels } from "../../src/serving/repository/folders/list-models.ts";
import { missingRuntime } from "../drivers/missing-runtime.ts";
import { tensorflowRuntime } from "../drivers/tensorflow/native/tensorflow-runtime.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const missing = await missingRuntime("Warm-up samples", tensorflowRuntime);
const HALF = "test/fixtures/models/half-plus-two.onnx";
const COUNTER = "test/fixtures/tensorflow/counter_with_requests";
const REQUEST = '{"instances": [1]}';

describe("a model that is warmed up", () => {
  it("is loading until its last request is answered, and its statistics begin after that", async () => {
    const states: unknown[] = [];
    const hooks = { process: async () => ({ seen: states.length }) };
    const folder = tempFolder({ "request.json": REQUEST });
    const server = await startServer({ models: { half: { path: HALF } } });
    server.onState(({ name, state }) => states.push([name, state]));
    const warmup = [{ request: join(folder, "request.json"), count: 2 }, "random"];
    await server.load("warm", { path: HALF, hooks, warmup });
    expect(states).toEqual([
      ["warm", "START"],
      ["warm", "LOADING"],
      ["warm", "AVAILABLE"],
    ]);
    const statistics = (await server.service.statistics()).find(({ model }) => model === "warm");
    expect(statistics?.requests).toMatchObject({ succeeded: { count: 0 }, failed: { count: 0 }, lastRequest: 0 });
    expect(statistics?.runs.requests).toBe(0);
  });

  it("is given up where a request does not end in the time of a load", async () => {
    const folder = tempFolder({ "request.json": REQUEST });
    const hooks = { process: () => new Promise<never>(() => {}) };
    const model = { path: HALF, hooks, warmup: join(folder, "request.json") };
    await expect(createServer({ models: { stuck: model }, loadTimeoutMs: 300, loadRetries: 0 })).rejects.toMatchObject({
      code: "deadline_exceeded",
    });
  });

  it("takes the first part of an answer in parts, which may have no end", async () => {
    const folder = tempFolder({
      "request.json": REQUEST,
      "hooks.ts": `export async function* process() { for (let number = 1; ; number++) yield { number }; }`,
    });
    let asked = 0;
    const hooks: Hooks = {
      async *process() {
        for (;;) yield { asked: ++asked };
      },
    };
    const warmup = join(folder, "request.json");
    const server = await startServer({
      models: {
        here: { path: HALF, hooks, warmup },
        thread: { path: HALF, hooks: join(folder, "hooks.ts"), warmup },
      },
    });
    expect(asked).toBe(1);
    await server.reloadHooks();
    for await (const { number } of server.stream("thread", { x: [1] })) {
      expect(number?.data[0]).toBe(1);
      break;
    }
  });

  it("counts nothing in a model that its hooks call either", async () => {
    const folder = tempFolder({ "request.json": '{"instances": [{"x": 1.5}]}' });
    const server = await startServer({ models: { half: { path: HALF } } });
    const hooks: Hooks = { process: ({ x }, ctx) => ctx.models.get("half").predict({ x: x! }) };
    await server.load("outer", { driver: "null", hooks, warmup: join(folder, "request.json") });
    for (const { requests } of await server.service.statistics()) expect(requests.succeeded.count).toBe(0);
  });
});

describe("Triton's model_warmup", () => {
  /** A repository with a counter whose config.pbtxt has these samples. */
  function repository(samples: string, more: Record<string, string | Uint8Array> = {}): string {
    const config = `backend: "tensorflow"\nmodel_warmup [ ${samples} ]\n`;
    const folder = tempFolder({ "counter/config.pbtxt": config, "counter/1/placeholder": "", ...more });
    cpSync(COUNTER, join(folder, "counter/1/model.savedmodel"), { recursive: true });
    return folder;
  }

  const sample = (values: string, rest = "") =>
    `{ name: "some" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 2 ] ${values} } } ${rest} }`;

  it.skipIf(missing !== undefined)("is run, with the values of its files, as often as it says", async () => {
    const file = new Uint8Array(Float32Array.of(100, 50).buffer);
    const samples = [sample('input_data_file: "x"', "count: 2"), sample("zero_data: true"), "{ batch_size: 0 }"];
    const folder = repository(samples.join(", "), { "counter/warmup/x": file });
    const { log, events } = createEventLog();
    const source = new RepositorySource({ folders: [folder] }, { pollMs: 0, log });
    const server = await openServer(withDefaults({ http: {}, log }), source);
    const answer = await fetch(`${server.httpUrl}/v1/models/counter:predict`, {
      method: "POST",
      body: '{"inputs": {"x": [0]}}',
    });
    expect(await answer.json()).toEqual({ outputs: 3 + 10 + 20 + 2 * 150 });
    expect(events).toContainEqual(expect.objectContaining({ msg: "model warmed up", requests: 5 }));
    await server.close();
  });

  it.each([
    ["a file outside", 'input_data_file: "../../secret"', 'The warm-up file "../../secret" does not lie'],
    ["a file by its whole path", 'input_data_file: "/etc/hosts"', "does not lie in the model's folder warmup"],
    ["no values", "", 'The warm-up input "x" has no values'],
  ])("with %s is refused", async (_, values, message) => {
    const { models } = await listModels(repository(sample(values)));
    expect(models[0]?.refusal).toContain(message);
  });
});
