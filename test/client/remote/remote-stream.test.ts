import { describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../../src/client/node.ts";
import { createRemoteService } from "../../../src/client/remote/remote-service.ts";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import { type SettingOptions, sliceSettings } from "../../../src/platform/limits/settings/server-settings.ts";
import { PROTOCOLS } from "../../../src/server/protocols.ts";
import { createServer, type Server } from "../../../src/server/server.ts";
import type { ServerOptions } from "../../../src/server/server-options.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { ScriptedService, serve } from "../../grpc/scripted-service.ts";
import { CollectedParts, valuesOf } from "../../helpers/collect-parts.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { postForParts } from "../../proxy/read-parts.ts";
import { serveHttp } from "../../proxy/serve-http.ts";

/** A server whose model counts up, to 1000 only if it is given up at 3; it says how often it has begun and ended. */
async function startCounting(start: (options: ServerOptions) => Promise<Server> = startServer) {
  const seen = { begun: 0, ended: 0 };
  const hooks: Hooks = {
    inputs: [{ name: "to", dtype: "int32", shape: [1] }],
    async *process({ to }, ctx) {
      seen.begun++;
      try {
        for (let value = 0; value < Number(to?.data[0]); value++) {
          if (value === 99) throw new Error("there is no ninety-nine");
          if (value === 3 && to?.data[0] === 1000) await aborted(ctx.signal);
          yield { value: Int32Array.of(value) };
          await new Promise(setImmediate);
        }
      } finally {
        seen.ended++;
      }
    },
  };
  const server = await start({ stages: [{ driver: "null" }], hooks });
  return { server, seen, address: server.grpcAddress };
}

/** A model whose hook answers by this code, in a thread or in the main thread; `ADDRESS` is that of another server. */
async function openHook(address: string, code: string, workers = 1) {
  const hooks = `export async function* process(inputs, ctx) { ${code.replaceAll("ADDRESS", JSON.stringify(address))} }`;
  const folder = tempFolder({ "hooks.mjs": hooks });
  const server = await startServer({ stages: [{ driver: "null" }], hooks: `${folder}/hooks.mjs`, workers });
  const models = connect(`grpc://${server.grpcAddress}`);
  onTestFinished(() => models.$close());
  return models.default!;
}

const aborted = async (signal: AbortSignal) => {
  signal.throwIfAborted();
  await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
};

const to = (value: number) => toTensors({ to: Int32Array.of(value) });

describe("ctx.remote(…).stream", () => {
  test.each([1, 0])("passes the parts of another server on, with --workers %d", async (workers) => {
    const { address, seen } = await startCounting();
    const code =
      "for await (const { value } of ctx.remote(ADDRESS).stream(inputs)) yield { value: [Number(value.data[0]) * 2] };";
    const model = await openHook(address, code, workers);
    expect(await valuesOf(model.stream(to(3)))).toEqual({ values: [0, 2, 4], error: undefined });
    expect(await valuesOf(model.stream(to(0)))).toEqual({ values: [], error: undefined });
    const { values, error } = await valuesOf(model.stream(to(100)));
    expect([values.length, error?.serverText]).toEqual([99, expect.stringContaining("there is no ninety-nine")]);
    expect(seen.ended).toBe(3);
  });

  test("ends the other server's work when the client leaves, when the hook leaves, and when its time is up", async () => {
    const { address, seen, server } = await startCounting();
    const passing = await openHook(address, "yield* ctx.remote(ADDRESS).stream(inputs);");
    for await (const { value } of passing.stream(to(98))) if (value?.data[0] === 0) break;
    await expect.poll(() => seen.ended).toBe(1);
    const leaving = await openHook(
      address,
      "for await (const part of ctx.remote(ADDRESS).stream(inputs)) { yield part; break; }",
    );
    expect((await valuesOf(leaving.stream(to(98)))).values).toEqual([0]);
    await expect.poll(() => seen.ended).toBe(2);
    const late = await openHook(address, "yield* ctx.remote(ADDRESS).stream(inputs, { timeoutMs: 1000 });");
    const { values, error } = await valuesOf(late.stream(to(1000)));
    expect([values, error?.serverText]).toEqual([
      [0, 1, 2].slice(0, values.length),
      expect.stringContaining("deadline passed"),
    ]);
    await expect.poll(() => server.inFlight()).toEqual([]);
    expect(seen.ended).toBe(seen.begun);
  });

  test.each([1, 0])("ends with a request whose hook has not read it to its end, with --workers %d", async (workers) => {
    const { address, seen, server } = await startCounting();
    const code = "yield (await ctx.remote(ADDRESS).stream(inputs)[Symbol.asyncIterator]().next()).value;";
    const model = await openHook(address, code, workers);
    expect(await valuesOf(model.stream(to(1000)))).toEqual({ values: [0], error: undefined });
    await expect.poll(() => seen.ended).toBe(1);
    await expect.poll(() => server.inFlight()).toEqual([]);
  });

  test("gives the one part of a model that answers once, and names a model that is not there", async () => {
    const half = { path: "test/fixtures/models/half-plus-two.onnx" };
    const { grpcAddress } = await startServer({ models: { half } });
    const code = (model: string) =>
      `for await (const { y } of ctx.remote(ADDRESS).stream({ x: Float32Array.of(1) }, { model: "${model}", outputs: ["y"] })) yield { value: y };`;
    const one = await openHook(grpcAddress, code("half"));
    expect(await valuesOf(one.stream({ x: [1] }))).toEqual({ values: [2.5], error: undefined });
    const none = await openHook(grpcAddress, code("haf"));
    expect((await valuesOf(none.stream({ x: [1] }))).error).toMatchObject({
      code: "not_found",
      serverText: expect.stringContaining("haf"),
    });
    const { address } = await startCounting();
    const wrong = await openHook(address, "yield* ctx.remote(ADDRESS).stream({ to: [1.5] });");
    expect((await valuesOf(wrong.stream({ x: [1] }))).error?.serverText).toContain("'to'");
  });

  test("of a server that ends in the middle, or is not there, fails after the parts until then", async () => {
    const { address, server } = await startCounting(async (options) => {
      const short = await createServer({ ...options, drainTimeoutMs: 100 });
      onTestFinished(() => short.close().catch(() => {}));
      return short;
    });
    const model = await openHook(address, "yield* ctx.remote(ADDRESS).stream(inputs);");
    const values: unknown[] = [];
    let closing: Promise<unknown> | undefined;
    const reading = (async () => {
      for await (const { value } of model.stream(to(1000)))
        if (values.push(value?.data[0]) === 3) closing = server.close().catch((reason) => reason);
    })();
    await expect(reading).rejects.toMatchObject({ serverText: expect.any(String) });
    await closing;
    expect(values).toEqual([0, 1, 2]);
    expect((await valuesOf(model.stream(to(3)))).error?.serverText).toContain("cannot be reached");
  });
});

describe("a client of another server, where parts are taken", () => {
  const request = (value: number, parts: CollectedParts) => ({
    ref: { model: "" },
    signature: "",
    inputs: { kind: "tensors", tensors: to(value) } as const,
    parts,
    call: { id: "1", metadata: {}, signal: new AbortController().signal },
  });
  const open = (address: string) => {
    const remote = createRemoteService(address, {});
    onTestFinished(() => remote.close());
    return remote;
  };

  test("writes each part with what the server says of the first, and resolves with their number", async () => {
    const { address } = await startCounting();
    const parts = new CollectedParts();
    const end = await open(address).infer(request(3, parts));
    expect(parts.parts).toEqual([0, 1, 2].map((value) => ({ value: [value] })));
    expect(end).toMatchObject({ model: "default", version: 1n, parts: 3 });
  });

  test("counts the parts in the record of the request, also where there are none", async () => {
    const { address } = await startCounting();
    const { log, find } = createEventLog();
    const settings = sliceSettings({ accessLog: true } as SettingOptions);
    const { url } = await serveHttp(open(address), { log, settings });
    const ask = async (id: string, path: string, value: number) => {
      const inputs = [{ name: "to", datatype: "INT32", shape: [1], data: [value] }];
      await (await postForParts(`${url}/v2/models/default/${path}`, { id, inputs })).rest();
      return find({ requestId: id });
    };
    const line = await ask("three", "infer_stream", 3);
    expect(line).toMatchObject({ parts: 3, firstPartMs: expect.any(Number) });
    expect(line.firstPartMs).toBeLessThanOrEqual(Number(line.totalMs));
    expect(await ask("none", "infer_stream", 0)).toMatchObject({ parts: 0 });
    expect(await ask("once", "infer", 1)).not.toHaveProperty("parts");
  });

  test("passes the client's parameters on, in one answer and in parts", async () => {
    const hooks: Hooks = {
      process: (_, { request: { parameters, signature } }) => ({
        seen: JSON.stringify([signature, Object.entries(parameters).map(([name, value]) => `${name}=${value}`)]),
      }),
    };
    const { grpcAddress } = await startServer({ stages: [{ driver: "null" }], hooks });
    const { url } = await serveHttp(open(grpcAddress));
    const inputs = [{ name: "x", datatype: "BYTES", shape: [1], data: ["a"] }];
    const parameters = { max_tokens: 16, seed: 0, greedy: false, priority: 1 };
    const body = `{"inputs": ${JSON.stringify(inputs)}, "parameters": ${JSON.stringify(parameters)}}`;
    const seen = '[\\"serving_default\\",[\\"max_tokens=16\\",\\"seed=0\\",\\"greedy=false\\"]]';
    for (const path of ["infer", "infer_stream"]) {
      const reader = await postForParts(`${url}/v2/models/default/${path}`, body);
      expect([reader.answer.statusCode, (await reader.rest("}")).join()]).toEqual([200, expect.stringContaining(seen)]);
    }
    const generate = { x: "a", parameters: { max_tokens: 16, timeout: 1, priority: "high", triton_x: true } };
    const reader = await postForParts(`${url}/v2/models/default/generate`, generate);
    expect((await reader.rest("}")).join()).toContain('[\\"serving_default\\",[\\"max_tokens=16\\"]]');
  });

  test("leaves parameters out for a server without KServe V2, and names a model that is not there", async () => {
    const scripted = new ScriptedService();
    const { address } = await serve(scripted, { protocols: PROTOCOLS.filter(({ name }) => name !== "kserve") });
    const { parts: _, ...once } = request(7, new CollectedParts());
    const asked = { ...once, call: { ...once.call, parameters: { max_tokens: 16 } } };
    const answer = await open(address).infer(asked);
    expect(answer.outputs).toMatchObject({ tensors: { to: { data: Int32Array.of(7) } } });
    const { address: counting } = await startCounting();
    await expect(open(counting).infer({ ...asked, ref: { model: "none" } })).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining("none"),
    });
    await expect(open(counting).infer({ ...asked, signature: "none" })).rejects.toThrow("none");
    const first = { kind: "tensors", tensors: to(1) } as const;
    expect(await open(counting).infer({ ...asked, inputs: first })).toMatchObject({ model: "default", version: 1n });
  });

  test("resolves with the answer of a model that answers once, and of a server without KServe V2", async () => {
    const { grpcAddress } = await startServer({ stages: [{ driver: "null" }] });
    const other = await serve(new ScriptedService(), { protocols: PROTOCOLS.filter(({ name }) => name !== "kserve") });
    for (const address of [grpcAddress, other.address]) {
      const parts = new CollectedParts();
      const answer = await open(address).infer(request(7, parts));
      expect([answer.parts, parts.parts]).toEqual([undefined, []]);
      expect(answer.outputs).toMatchObject({ tensors: { to: { data: Int32Array.of(7) } } });
    }
  });

  test("ends the server's work if a part cannot be written", async () => {
    const { address, seen } = await startCounting();
    const parts = new CollectedParts((count) => {
      if (count === 2) throw new Error("the client is gone");
    });
    await expect(open(address).infer(request(98, parts))).rejects.toThrow("the client is gone");
    await expect.poll(() => seen.ended).toBe(1);
    expect(parts.parts).toHaveLength(2);
  });

  test("streams through a proxy over HTTP", async () => {
    const { address, seen } = await startCounting();
    const { url } = await serveHttp(open(address));
    const input = { name: "to", datatype: "INT32", shape: [1], data: [98] };
    const reader = await postForParts(`${url}/v2/models/default/infer_stream`, { inputs: [input] });
    expect(reader.answer.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    expect(await reader.next()).toContain('"data":[0]');
    expect(await reader.next()).toContain('"data":[1]');
    reader.leave();
    await expect.poll(() => seen.ended).toBe(1);
  });
});
