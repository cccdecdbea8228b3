import { join } from "node:path";
import { credentials } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import type { Server } from "../../src/server/server.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { shareServer, startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { KserveClient } from "../protocols/kserve/kserve-oracle.ts";

const INPUT = { name: "x", datatype: "FP32", shape: [1] };
const body = (x: number) => JSON.stringify({ inputs: [{ ...INPUT, data: [x] }] });

/** Spins for two milliseconds in its own thread, and fails for a negative number. */
const DRIVER = `
import { defineDriver } from "kserving";
export default defineDriver({
  name: "spins",
  options: {},
  pathless: true,
  load: async () => ({
    signatures: { serving_default: {} },
    predict: async (inputs) => {
      if (inputs.x.data[0] < 0) throw new Error("as asked");
      const end = performance.now() + 2;
      while (performance.now() < end);
      return inputs;
    },
    close: async () => {},
  }),
});`;

const HOOKS = `
export default {
  preprocess: [(inputs) => inputs, async (inputs, ctx) => {
    await ctx.drivers[0].predict(inputs);
    return inputs;
  }],
  postprocess: [null, (outputs) => outputs],
};`;

/** A model, and a chain of it and hooks. */
function served(): ServerOptions {
  const folder = tempFolder({ "spins.ts": DRIVER, "hooks.ts": HOOKS });
  const stage = { driver: join(folder, "spins.ts") };
  return { models: { one: stage, chain: { stages: [stage, stage], hooks: join(folder, "hooks.ts") } } };
}

const share = shareServer(() => ({ ...served(), serverTiming: true }));

function post({ httpUrl }: Pick<Server, "httpUrl">, model: string, x: number): Promise<Response> {
  return fetch(`${httpUrl}/v2/models/${model}/infer`, { method: "POST", body: body(x) });
}

/** Names and times of a header `Server-Timing`. */
function read(header: string | null): Record<string, number> {
  const entries = (header ?? "").split(", ").map((entry) => /^(\w+);dur=([\d.]+)(?:;desc="2 times")?$/.exec(entry));
  return Object.fromEntries(entries.map((entry) => [entry?.[1], Number(entry?.[2])]));
}

test("a client is told the parts of its request, in a model's thread too", async () => {
  const times = read((await post(await share(), "one", 1)).headers.get("server-timing"));
  expect(Object.keys(times)).toEqual(["decode", "queue", "model", "encode", "total"]);
  expect(times.model).toBeGreaterThanOrEqual(2);
  expect(times.total).toBeGreaterThan(times.model!);
});

test("the parts of a chain have the numbers of their stages, through hook threads", async () => {
  const server = await share();
  const header = (await post(server, "chain", 1)).headers.get("server-timing");
  const times = read(header);
  const first = ["decode", "wait", "preprocess1", "queue1", "model1", "preprocess2"];
  expect(Object.keys(times)).toEqual([...first, "queue2", "model2", "postprocess2", "encode", "total"]);
  // The hook of the second stage asks the first model once more.
  expect(header).toMatch(/model1;dur=[\d.]+;desc="2 times"/);
  expect(times.preprocess2).toBeGreaterThanOrEqual(2);
  expect(times.total).toBeGreaterThan(times.model1! + times.model2!);
  expect(server.models()).toHaveLength(2);
});

test("a request that fails tells how far it came", async () => {
  const failed = await post(await share(), "chain", -1);
  expect(failed.status).toBe(500);
  const names = ["decode", "wait", "preprocess", "queue", "model", "encode", "total"];
  expect(Object.keys(read(failed.headers.get("server-timing")))).toEqual(names);
});

test("over gRPC the times are a trailer", async () => {
  const client = new KserveClient((await share()).grpcAddress, credentials.createInsecure());
  onTestFinished(() => client.close());
  const message = { model_name: "one", inputs: [{ ...INPUT, contents: { fp32_contents: [1] } }] };
  const trailer = await new Promise<string>((resolve) => {
    const call = (client.ModelInfer as (...args: unknown[]) => NodeJS.EventEmitter)(message, () => {});
    call.on("status", ({ metadata }) => resolve(String(metadata.get("server-timing")[0])));
  });
  expect(Object.keys(read(trailer))).toEqual(["decode", "queue", "model", "encode", "total"]);
});

test("without --server-timing a client is told nothing, and the access log has the times", async () => {
  const { log, find } = createEventLog("info");
  const server = await startServer({ ...served(), log, accessLog: true });
  expect((await post(server, "chain", 1)).headers.get("server-timing")).toBeNull();
  const line = await find({ msg: "request", model: "chain" });
  expect(line).toMatchObject({ waitMs: expect.any(Number), preprocessMs: expect.any(Number) });
  expect(line.modelMs).toBeGreaterThanOrEqual(6);
});
