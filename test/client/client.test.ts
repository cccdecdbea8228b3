import { readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { type CallError, type ConnectOptions, connect } from "../../src/client/node.ts";
import { ServingError } from "../../src/errors.ts";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { retryInfo } from "../../src/retry-info.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { createTensor, type Tensor } from "../../src/tensor/tensor.ts";
import { authFiles, TOKENS } from "../access/auth-fixture.ts";
import { PIXELS } from "../helpers/echo-driver.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";
const PHOTO = readFileSync("examples/photos/page.png");

/** A connection over each transport to a server with these models. */
async function open(scheme: "http" | "grpc", options: ServerOptions, choices: ConnectOptions = {}) {
  const { httpUrl, grpcAddress } = await startServer(options);
  const models = connect(scheme === "http" ? httpUrl : `grpc://${grpcAddress}`, choices);
  onTestFinished(() => models.$close());
  return models;
}

/** Hooks that give back what they get, and run before a model that does so too. */
function echo(inputs?: Hooks["inputs"]): { driver: string; hooks: Hooks } {
  return { driver: "null", hooks: { ...(inputs && { inputs }), process: (given) => given } };
}

/** The error of a call that fails. */
async function failure(call: Promise<unknown>): Promise<CallError> {
  const reason = await call.then(
    () => undefined,
    (error) => error,
  );
  expect(reason).toBeInstanceOf(ServingError);
  return reason as CallError;
}

describe.each(["http", "grpc"] as const)("a client over %s", (scheme) => {
  test("runs a model on numbers of the dtype and shape that its inputs have", async () => {
    const models = await open(scheme, { models: { half: { path: HALF }, "a/b": echo() } });
    const expected = createTensor("float32", [2], new Float32Array([2.5, 3.25]));
    expect((await models.half!.predict({ x: [1, 2.5] })).y).toEqual(expected);
    expect((await models.half!.predict({ x: new Float32Array([1, 2.5]) })).y).toEqual(expected);
    const tensor = createTensor("int64", [1, 1], new BigInt64Array([2n ** 60n]));
    const { x } = await models["a/b"]!.predict({ x: tensor });
    expect(x).toEqual(tensor);
    expect([...(await models.$list())].sort()).toEqual(["a/b", "half"]);
    expect([await models.$ready(), await models.half!.ready(), await models.haf!.ready()]).toEqual([true, true, false]);
    const { inputs } = await models.half!.metadata();
    expect(inputs).toEqual([{ name: "x", datatype: "FP32", shape: [-1] }]);
  });

  test("carries every dtype of the protocol, of rank 0 and without elements too", async () => {
    const models = await open(scheme, { models: { echo: echo() } });
    const tensors: Readonly<Record<string, Tensor>> = {
      bool: createTensor("bool", [2], new Uint8Array([1, 0])),
      uint64: createTensor("uint64", [1], new BigUint64Array([2n ** 64n - 1n])),
      int8: createTensor("int8", [3], new Int8Array([-1, 0, 1])),
      float16: createTensor("float16", [1], new Uint16Array([0x3c00])),
      bfloat16: createTensor("bfloat16", [1], new Uint16Array([0x3f80])),
      float64: createTensor("float64", [], new Float64Array([Number.NaN])),
      bytes: createTensor("bytes", [1, 2], [new Uint8Array([255, 0]), new Uint8Array(0)]),
      none: createTensor("float32", [0, 3], new Float32Array(0)),
    };
    expect({ ...(await models.echo!.predict(tensors)) }).toEqual(tensors);
  });

  test("sends a Blob and a Buffer as the file of an image, of text as it is", async () => {
    const driver = `${tempFolder({ "driver.ts": PIXELS })}/driver.ts`;
    const models = await open(scheme, { models: { echo: { driver } } });
    const blob = new Blob([PHOTO]);
    const { photo, note } = await models.echo!.predict({ photo: blob, note: [["hi"]] });
    const pixels = await models.echo!.predict({ photo: [PHOTO, PHOTO], note: Buffer.from("hi") });
    expect([photo!.dtype, photo!.shape.length, pixels.photo!.shape[0]]).toEqual(["uint8", 4, 2]);
    expect(photo!.shape.slice(1)).toEqual(pixels.photo!.shape.slice(1));
    expect(note).toEqual(createTensor("bytes", [1, 1], [new TextEncoder().encode("hi")]));
    expect(pixels.note).toEqual(note);
  });

  test("chooses versions, outputs, parameters and metadata, and gives those of the answer", async () => {
    const seen: unknown[] = [];
    const hooks: Hooks = {
      process: (given, ctx) => {
        seen.push(ctx.metadata.team, ctx.request.id);
        ctx.response.metadata.from = "hook";
        return { x: given.x!, z: 1 };
      },
    };
    const models = await open(scheme, { models: { echo: { driver: "null", hooks } } }, { metadata: { Team: "red" } });
    const options = { outputs: ["z"], id: "seven" } as const;
    const { outputs, model, version, metadata } = await models.echo!.version(1).infer({ x: 1 }, options);
    expect([Object.keys(outputs), model, version, metadata.from]).toEqual([["z"], "echo", "1", "hook"]);
    expect(seen).toEqual(["red", "seven"]);
    expect((await failure(models.echo!.version(7).predict({ x: 1 }))).code).toBe("not_found");
  });

  test("says with the server's words and status what is wrong, and what to do", async () => {
    const { httpUrl, grpcAddress } = await startServer({ models: { half: { path: HALF } }, auth: await authFiles() });
    const as = (options: ConnectOptions) => {
      const models = connect(scheme === "http" ? httpUrl : `grpc://${grpcAddress}`, options);
      onTestFinished(() => models.$close());
      return models;
    };
    const models = as({});
    const nobody = await failure(models.half!.predict({ x: [1] }));
    expect(nobody).toMatchObject({ code: "unauthenticated", status: scheme === "http" ? 401 : 16 });
    expect(nobody.message).toContain("credentials: { token }");
    const admin = as({ credentials: { token: TOKENS.admin } });
    const unknown = await failure(admin.haf!.predict({ x: [1] }));
    expect(unknown).toMatchObject({ code: "not_found", status: scheme === "http" ? 404 : 5 });
    expect(unknown.message).toContain(unknown.serverText);
    expect(unknown.serverText).toContain("haf");
    const wrong = await failure(admin.half!.predict({ z: [1] }));
    expect(wrong.code).toBe("invalid_argument");
    expect(wrong.serverText).toContain("z");
    expect((await failure(admin.half!.predict({ x: [[1], [1, 2]] as never }))).message).toContain("ragged");
    const root = as({ credentials: { user: "root", password: "toor" } });
    expect((await root.half!.predict({ x: [1] })).y!.data).toEqual(new Float32Array([2.5]));
  });

  test("gives up a call by its signal or deadline, and the server stops it", async () => {
    let stopped = 0;
    const begun: (() => void)[] = [];
    const hooks: Hooks = {
      process: (_, ctx) =>
        new Promise((_resolve, reject) => {
          begun.shift()?.();
          ctx.signal.addEventListener("abort", () => {
            stopped++;
            reject(ctx.signal.reason);
          });
        }),
    };
    const models = await open(scheme, { models: { slow: { driver: "null", hooks } } });
    const source = new AbortController();
    begun.push(() => source.abort(new Error("the user left")));
    const cancelled = await failure(models.slow!.predict({ x: createTensor("int8", [], new Int8Array(1)) }, source));
    expect([cancelled.code, (cancelled.cause as Error).message]).toEqual(["cancelled", "the user left"]);
    const late = await failure(models.slow!.predict({ x: 1 }, { timeoutMs: 300 }));
    expect(late.code).toBe("deadline_exceeded");
    await expect.poll(() => stopped).toBe(2);
    const already = await failure(models.slow!.predict({ x: 1 }, { signal: AbortSignal.abort() }));
    expect(already.code).toBe("cancelled");
  });

  test("follows a model that is replaced by one with another input", async () => {
    const server = await startServer({ models: { now: echo([{ name: "x", dtype: "float32", shape: [-1] }]) } });
    const models = connect(scheme === "http" ? server.httpUrl : `grpc://${server.grpcAddress}`);
    onTestFinished(() => models.$close());
    expect((await models.now!.predict({ x: [1] })).x!.dtype).toBe("float32");
    await server.load("now", echo([{ name: "y", dtype: "float64", shape: [-1] }]));
    expect((await failure(models.now!.predict({ x: [1] }))).code).toBe("invalid_argument");
    expect((await models.now!.predict({ y: [1] })).y!.dtype).toBe("float64");
  });

  test("names the address where no server answers, after its retries", async () => {
    const closed = await startServer({ models: {} });
    await closed.close();
    const { port } = new URL(scheme === "http" ? closed.httpUrl : `http://${closed.grpcAddress}`);
    const models = connect(`${scheme}://127.0.0.1:${port}`, { retries: { attempts: 2, firstDelayMs: 1 } });
    onTestFinished(() => models.$close());
    const error = await failure(models.half!.predict({ x: [1] }));
    expect(error).toMatchObject({ code: "unavailable", isSafeToRetry: true, status: undefined });
    expect(error.message).toMatch(/127\.0\.0\.1:\d+ cannot be reached: .*Start a server there/);
  });
});

test("a stream gives results with the places of their requests, and goes on after one that fails", async () => {
  const models = await open("grpc", { models: { half: { path: HALF } } });
  const results: [number, unknown][] = [];
  const requests = [{ x: [1] }, { x: createTensor("bytes", [1], [PHOTO]) }, { x: [3] }];
  for await (const { index, outputs, error } of models.half!.stream(requests))
    results.push([index, outputs?.y?.data[0] ?? error?.serverText]);
  const sorted = results.sort(([a], [b]) => a - b);
  expect(sorted[0]).toEqual([0, 2.5]);
  expect(sorted[1]?.[1]).toContain("x");
  expect(sorted[2]).toEqual([2, 3.5]);
});

test("a stream ends where its reader stops, and rejects with the error of its source", async () => {
  const models = await open("grpc", { models: { half: { path: HALF } } });
  let sent = 0;
  let isOver = false;
  async function* endless() {
    try {
      for (; ; sent++) yield { x: [sent] };
    } finally {
      isOver = true;
    }
  }
  for await (const { outputs } of models.half!.stream(endless())) if (outputs?.y?.data[0] === 3) break;
  await expect.poll(() => isOver).toBe(true);
  expect(sent).toBeLessThan(1000);
  async function* broken() {
    yield { x: [1] };
    throw new Error("the camera is gone");
  }
  const reading = (async () => {
    for await (const _ of models.half!.stream(broken()));
  })();
  await expect(reading).rejects.toThrow("the camera is gone");
  await expect(connect("http://localhost:1").half!.stream([]).next()).rejects.toThrow("grpc://HOST:PORT");
});

test("a call over gRPC is sent again where the server is unavailable, after the time that it says", async () => {
  let calls = 0;
  const hooks: Hooks = {
    process: (given) => {
      if (++calls % 3 !== 0) throw new ServingError("unavailable", "full", { details: [retryInfo(2)] });
      return given;
    },
  };
  const models = await open("grpc", { models: { busy: { driver: "null", hooks } } });
  expect((await models.busy!.predict({ x: 1 })).x!.data[0]).toBe(1);
  expect(calls).toBe(3);
  const given = await failure(models.busy!.predict({ x: 1 }, { timeoutMs: 2 }));
  expect(["unavailable", "deadline_exceeded"]).toContain(given.code);
});

test.each(["localhost:9001", "ftp://host", "http://"])("%s is not an address", (address) => {
  expect(() => connect(address)).toThrow("expected http://HOST:PORT");
});

test("an address with a password says where that belongs", () => {
  expect(() => connect("http://a:b@host")).toThrow("credentials");
});
