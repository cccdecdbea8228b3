import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { createServer, type Server } from "../../src/server/server.ts";
import { connectKserve } from "../helpers/kserve-grpc.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";
const TEXT = "test/fixtures/models/identity-string.onnx";
/** Longer than a small tensor, so that it would be transferred to another thread. */
const LARGE = 40_000;

const half = { path: HALF };
/** Half of half and two, and two. */
const twice = { stages: [{ model: "half" }, { model: "half" }] };
const renaming = { driver: "null", hooks: { postprocess: ({ y }: { y?: unknown }) => ({ x: y as never }) } };

async function infer(url: string, model: string, x: readonly number[]) {
  const inputs = [{ name: "x", datatype: "FP32", shape: [x.length], data: x }];
  const response = await fetch(`${url}/v2/models/${model}/infer`, { method: "POST", body: JSON.stringify({ inputs }) });
  const answer = (await response.json()) as { error?: string; outputs?: readonly { data: readonly number[] }[] };
  return [response.status, answer.error ?? answer.outputs?.[0]?.data] as const;
}

async function control(url: string, model: string, action: "load" | "unload", parameters = {}) {
  const target = `${url}/v2/repository/models/${model}/${action}`;
  const response = await fetch(target, { method: "POST", body: JSON.stringify({ parameters }) });
  return [response.status, await response.text()] as const;
}

function statesOf(server: Server): Record<string, string> {
  return Object.fromEntries(server.models().map(({ name, state }) => [name, state]));
}

describe("a stage that is another model", () => {
  it("runs it with its own hooks and counts, over HTTP and gRPC, and takes and gives what it does", async () => {
    const server = await startServer({
      // The one that needs the others is first: it waits for them.
      models: { chain: { stages: [{ model: "half" }, { model: "rename" }, { path: HALF }] }, rename: renaming, half },
      loadThreads: 1,
    });
    expect(await infer(server.httpUrl, "chain", [2, 4])).toEqual([200, [3.5, 4]]);
    const call = connectKserve(server.grpcAddress);
    const contents = { fp32_contents: [2] };
    const inputs = [{ name: "x", datatype: "FP32", shape: [1], contents }];
    expect(await call("ModelInfer", { model_name: "chain", inputs })).toMatchObject({
      outputs: [{ name: "y", datatype: "FP32" }],
    });
    const metadata = await (await fetch(`${server.httpUrl}/v2/models/chain`)).json();
    expect(metadata).toMatchObject({ inputs: [{ name: "x", datatype: "FP32" }], outputs: [{ name: "y" }] });
    const { model_stats: stats } = (await call("ModelStatistics", { name: "half" })) as {
      model_stats: readonly { inference_stats: { success: { count: string } } }[];
    };
    expect(stats[0]?.inference_stats.success.count).toBe("2");
  });

  it("leaves a hook of the main thread the tensors that it keeps", async () => {
    const seen: unknown[] = [];
    const hooks = {
      preprocess: ({ x }: { x?: { data: { length: number } } }, ctx: { kept?: typeof x | undefined }) => {
        ctx.kept = x;
        return { x: x as never };
      },
      postprocess: ({ y }: { y?: unknown }, ctx: { kept?: { data: { length: number } } }) => {
        seen.push(ctx.kept?.data.length);
        return { y: y as never };
      },
    };
    const server = await startServer({
      models: { half, kept: { stages: [{ model: "half" }], hooks: hooks as never } },
    });
    const [status] = await infer(server.httpUrl, "kept", new Array<number>(LARGE).fill(1));
    expect([status, seen]).toEqual([200, [LARGE]]);
  });

  it("leaves its own hooks in the main thread the tensors that they keep", async () => {
    const kept: { readonly data: Float32Array }[] = [];
    const preprocess = ({ x }: { x?: never }) => {
      kept.push(x as never);
      return { x: x as never };
    };
    const hooks = { preprocess };
    const server = await startServer({
      models: { keeps: { driver: "null", hooks: hooks as never }, outer: { stages: [{ model: "keeps" }] } },
    });
    const call = connectKserve(server.grpcAddress);
    for (const value of [1, 2, 3]) {
      const raw = Buffer.from(new Float32Array(LARGE).fill(value).buffer);
      const inputs = [{ name: "x", datatype: "FP32", shape: [LARGE] }];
      await call("ModelInfer", { model_name: "outer", inputs, raw_input_contents: [raw] });
    }
    expect(kept.map(({ data }) => [data.length, data[0]])).toEqual([1, 2, 3].map((value) => [LARGE, value]));
  });

  it("is called by hooks in a thread as any stage is", async () => {
    const file = join(
      tempFolder({
        "hooks.ts": `
          export const preprocess = ({ x }) => ({ x: [...x.data, 6] });
          export const postprocess = async ({ y }, ctx) => {
            const { y: again } = await ctx.drivers[0].predict({ x: y.data });
            return { y: again, name: ctx.drivers[0].inputs[0].name };
          };`,
      }),
      "hooks.ts",
    );
    const server = await startServer({ models: { half, hooked: { stages: [{ model: "half" }], hooks: file } } });
    const answer = await fetch(`${server.httpUrl}/v1/models/hooked:predict`, {
      method: "POST",
      body: '{"inputs": {"x": [2]}}',
    });
    expect(await answer.json()).toEqual({ outputs: { y: [3.5, 4.5], name: "x" } });
  });

  it("blames the client for values that the other model does not take", async () => {
    const server = await startServer({ models: { half, chain: { stages: [{ model: "half" }] } } });
    const inputs = [{ name: "x", datatype: "INT32", shape: [1], data: [1] }];
    const body = JSON.stringify({ inputs });
    const response = await fetch(`${server.httpUrl}/v2/models/chain/infer`, { method: "POST", body });
    expect(response.status).toBe(400);
  });

  it("needs no place of its own among the requests of the server, and none once that closes", async () => {
    const entered = createDeferred<void>();
    const held = createDeferred<void>();
    const waiting = {
      driver: "null",
      hooks: {
        preprocess: async (inputs: object) => {
          entered.resolve();
          await held.promise;
          return inputs as never;
        },
      },
    };
    const models = { half, waiting, chain: { stages: [{ model: "waiting" }, { model: "half" }] } };
    const server = await createServer({ models, http: {}, maxQueue: 1 });
    const answer = infer(server.httpUrl as string, "chain", [2]);
    await entered.promise;
    const closed = server.close();
    held.resolve();
    expect(await answer).toEqual([200, [3]]);
    await closed;
  });
});

describe("models that need others", () => {
  it("are refused where these are not there, or need one another in a circle", async () => {
    const stages = (model: string) => ({ stages: [{ model }] });
    await expect(createServer({ models: { half, chain: stages("hafl") } })).rejects.toThrow(
      'A stage of chain is the model "hafl", which is not described. Did you mean "half"? This server has half.',
    );
    await expect(createServer({ models: { a: stages("b"), b: stages("c"), c: stages("a") } })).rejects.toThrow(
      "The stages of a need one another in a circle: a → b → c → a; leave one of them out.",
    );
    await expect(createServer({ stages: [{ model: "half" }] })).rejects.toThrow(
      'A stage is the model "half"; expected models by name',
    );
    await expect(createServer({ models: { half, x: { stages: [{ model: "half", path: HALF }] } } })).rejects.toThrow(
      "models.x.stages[0] has a model and path; expected another model's name alone",
    );
    const server = await startServer({ models: { half, chain: stages("half") } });
    await expect(server.load("half", stages("chain"))).rejects.toThrow("in a circle: half → chain → half");
    await expect(server.load("new", stages("chian"))).rejects.toThrow('Did you mean "chain"?');
    await server.load("new", stages("chain"));
    expect(await infer(server.httpUrl, "new", [2])).toEqual([200, [3]]);
  });

  it("tell why they wait for one that does not load, and are loaded once it is", async () => {
    const folder = tempFolder();
    const path = join(folder, "late.onnx");
    const server = await startServer({
      models: { chain: { stages: [{ model: "late" }] }, late: { path }, half },
      loadRetries: 0,
    });
    expect(server.models().find(({ name }) => name === "chain")).toMatchObject({
      state: "START",
      error: {
        code: "unavailable",
        message: expect.stringMatching(/^It needs the model "late", which could not be loaded: .*late\.onnx/),
      },
    });
    cpSync(HALF, path);
    await server.load("late");
    await expect.poll(() => statesOf(server), { timeout: 20_000 }).toMatchObject({ chain: "AVAILABLE" });
    expect(await infer(server.httpUrl, "chain", [2])).toEqual([200, [3]]);
    expect(server.models().find(({ name }) => name === "chain")?.error).toBeUndefined();
  });

  it("keep these from being unloaded, unless they are unloaded too", async () => {
    const server = await startServer({
      models: { half, twice, top: { stages: [{ model: "twice" }] } },
      allowControl: "all",
    });
    const { httpUrl } = server;
    const text =
      "The model half is needed by twice; unload what needs it first, or together with it (unload_dependents).";
    expect(await control(httpUrl, "half", "unload")).toEqual([400, expect.stringContaining(text)]);
    const call = connectKserve(server.grpcAddress);
    await expect(call("RepositoryModelUnload", { model_name: "half" })).rejects.toMatchObject({
      details: `failed to unload 'half', ${text}`,
    });
    await expect(server.unload("half")).rejects.toMatchObject({ code: "failed_precondition", message: text });
    expect(statesOf(server)).toEqual({ half: "AVAILABLE", twice: "AVAILABLE", top: "AVAILABLE" });
    const parameters = { unload_dependents: { bool_param: true } };
    await call("RepositoryModelUnload", { model_name: "half", parameters });
    expect(statesOf(server)).toEqual({ half: "END", twice: "END", top: "END" });
    expect((await infer(httpUrl, "top", [2]))[0]).toBe(404);
    // What it needs comes back with it, and goes with it where it came so.
    expect(await control(httpUrl, "twice", "load")).toEqual([200, ""]);
    expect(statesOf(server)).toEqual({ half: "AVAILABLE", twice: "AVAILABLE", top: "END" });
    expect(await control(httpUrl, "twice", "unload", { unload_dependents: true })).toEqual([200, ""]);
    expect(statesOf(server)).toEqual({ half: "END", twice: "END", top: "END" });
  });

  it("go on with new versions of these, and are loaded again where those take something else", async () => {
    const path = tempFolder();
    const add = (version: number, file: string) => {
      mkdirSync(join(path, String(version)));
      cpSync(file, join(path, String(version), "model.onnx"));
    };
    add(1, HALF);
    const server = await startServer({ models: { m: { path }, chain: { stages: [{ model: "m" }] } } });
    const generation = () => server.models().find(({ name }) => name === "chain")?.generation;
    add(2, HALF);
    await server.load("m");
    expect(await infer(server.httpUrl, "chain", [2])).toEqual([200, [3]]);
    expect(generation()).toBe(1);
    add(3, TEXT);
    await server.load("m");
    await expect.poll(generation, { timeout: 20_000 }).toBe(2);
    const metadata = await (await fetch(`${server.httpUrl}/v2/models/chain`)).json();
    expect(metadata).toMatchObject({ inputs: [{ datatype: "BYTES" }] });
  });
});
