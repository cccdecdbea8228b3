import { readFileSync } from "node:fs";
import { credentials, type ServiceError } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { codecs } from "../../../src/platform/codec-host/codec-pool.ts";
import type { ServerOptions } from "../../../src/server/server-options.ts";
import type { Plain } from "../../grpc/oracle.ts";
import { hasSharedMemory, sharedObject } from "../../helpers/shared-object.ts";
import { startServer } from "../../helpers/start-server.ts";
import { floats, INFER, post } from "./kserve-http.ts";
import { KserveClient } from "./kserve-oracle.ts";

type Call = (request: Plain, done: (error: ServiceError | null, answer?: Plain) => void) => void;

const head = { name: "x", shape: [2] as const, datatype: "FP32" };
const json = (value: unknown) => post(JSON.stringify(value));
const place = (region: string, byteSize: number, offset?: number) => ({
  shared_memory_region: region,
  shared_memory_byte_size: byteSize,
  ...(offset !== undefined && { shared_memory_offset: offset }),
});
/** Parameters in the form of gRPC. */
const typed = (parameters: Readonly<Record<string, string | number>>) =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [
      name,
      typeof value === "string" ? { string_param: value } : { int64_param: value },
    ]),
  );

/** A server with regions `in` (two floats after 4 bytes) and `out`, and clients of both transports. */
async function connect(options: Partial<ServerOptions> = {}) {
  const everything = { stages: [{ driver: "null" }], allowClientShm: true, ...options };
  const { httpUrl, grpcAddress } = await startServer(everything);
  const client = new KserveClient(grpcAddress, credentials.createInsecure());
  onTestFinished(() => client.close());
  const call = (name: string, message: Plain) =>
    new Promise<Plain>((resolve, reject) => {
      const method = (client[name] as Call).bind(client);
      method(message, (error, answer) => (error === null ? resolve(answer as Plain) : reject(error)));
    });
  const send = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(httpUrl + path, init);
    return { status: response.status, body: JSON.parse((await response.text()) || "{}") };
  };
  const input = sharedObject(Buffer.concat([Buffer.alloc(4), floats(1.5, -2)]));
  const output = sharedObject(Buffer.alloc(24));
  await send("/v2/systemsharedmemory/region/in/register", json({ key: input.key, offset: 4, byte_size: 8 }));
  await call("SystemSharedMemoryRegister", { name: "out", key: output.key, byte_size: 24 });
  return { call, send, input, output };
}

describe.runIf(hasSharedMemory)("KServe V2 with shared memory", () => {
  it("lists regions, and says that it has the extension", async () => {
    const { call, send, input, output } = await connect();
    const regions = {
      in: { name: "in", key: input.key, offset: "4", byte_size: "8" },
      out: { name: "out", key: output.key, offset: "0", byte_size: "24" },
    };
    expect(await call("SystemSharedMemoryStatus", {})).toEqual({ regions });
    expect(await call("SystemSharedMemoryStatus", { name: "in" })).toEqual({ regions: { in: regions.in } });
    const listed = [{ name: "in", key: input.key, offset: 4, byte_size: 8 }];
    expect((await send("/v2/systemsharedmemory/region/in/status")).body).toEqual(listed);
    expect((await send("/v2/systemsharedmemory/status")).body).toHaveLength(2);
    expect((await send("/v2")).body.extensions).toContain("system_shared_memory");
    expect((await call("ServerMetadata", {})).extensions).toContain("system_shared_memory");
    expect((await send("/v2/systemsharedmemory/region/in/unregister", post(""))).status).toBe(200);
    expect((await send("/v2/systemsharedmemory/status")).body).toHaveLength(1);
    await call("SystemSharedMemoryUnregister", {});
    expect(await call("SystemSharedMemoryStatus", {})).toEqual({ regions: {} });
  });

  it("takes an input and leaves an output there, over HTTP", async () => {
    const { send, output } = await connect();
    const { status, body } = await send(
      INFER,
      json({
        inputs: [{ ...head, parameters: place("in", 8) }],
        outputs: [{ name: "x", parameters: place("out", 16, 8) }],
      }),
    );
    expect([status, body.outputs]).toEqual([200, [head]]);
    expect(readFileSync(output.file).equals(Buffer.concat([Buffer.alloc(8), floats(1.5, -2), Buffer.alloc(8)]))).toBe(
      true,
    );
  });

  it("takes an input and leaves an output there, over gRPC, beside others in messages", async () => {
    const { call, output } = await connect();
    const answer = await call("ModelInfer", {
      model_name: "default",
      inputs: [
        { ...head, name: "y" },
        { ...head, parameters: typed(place("in", 8)) },
      ],
      raw_input_contents: [floats(7, 8)],
      outputs: [{ name: "x", parameters: typed(place("out", 8)) }, { name: "y" }],
    });
    expect(answer.raw_output_contents).toEqual([Buffer.alloc(0), floats(7, 8)]);
    expect(answer.outputs).toMatchObject([{ name: "x", shape: ["2"] }, { name: "y" }]);
    expect(readFileSync(output.file).subarray(0, 8).equals(floats(1.5, -2))).toBe(true);
  });

  it("takes many texts, and gives many, of which another thread makes tensors", async () => {
    const { send } = await connect();
    const count = 20_000;
    const texts = Buffer.concat(
      Array.from({ length: count }, (_, index) => Buffer.from(`\x04\0\0\0${1000 + (index % 9)}`)),
    );
    const [from, to] = [sharedObject(texts), sharedObject(Buffer.alloc(texts.length))];
    for (const [name, { key }] of Object.entries({ from, to }))
      await send(`/v2/systemsharedmemory/region/${name}/register`, json({ key, byte_size: texts.length }));
    const { status } = await send(
      INFER,
      json({
        inputs: [{ name: "t", datatype: "BYTES", shape: [count], parameters: place("from", texts.length) }],
        outputs: [{ name: "t", parameters: place("to", texts.length) }],
      }),
    );
    expect([status, readFileSync(to.file).equals(texts)]).toEqual([200, true]);
  });

  it("counts many booleans once, and has another thread look at them", async () => {
    const { send } = await connect({ maxMessageBytes: 3_000_000 });
    const jobs = vi.spyOn(codecs, "run");
    onTestFinished(() => jobs.mockRestore());
    const truths = Buffer.alloc(2_000_000, Buffer.of(0, 1, 1));
    const [from, to] = [sharedObject(truths), sharedObject(Buffer.alloc(truths.length))];
    for (const [name, { key }] of Object.entries({ from, to }))
      await send(`/v2/systemsharedmemory/region/${name}/register`, json({ key, byte_size: truths.length }));
    const { length } = truths;
    const input = { name: "t", datatype: "BOOL", shape: [length], parameters: place("from", length) };
    const { status } = await send(
      INFER,
      json({ inputs: [input], outputs: [{ name: "t", parameters: place("to", length) }] }),
    );
    expect([status, readFileSync(to.file).equals(truths)]).toEqual([200, true]);
    expect(jobs.mock.calls.map(([{ name }]) => name)).toContain("fromRawJob");
  });

  it.each<[string, object, number, string]>([
    [
      "an unknown region",
      { inputs: [{ parameters: place("no", 8) }] },
      404,
      "Unable to find shared memory region: 'no'",
    ],
    [
      "a stretch behind the end",
      { inputs: [{ parameters: place("in", 8, 1) }] },
      400,
      "Invalid offset + byte size for",
    ],
    [
      "too few bytes",
      { inputs: [{ parameters: place("in", 4) }] },
      400,
      "input byte size mismatch for input 'x' for model",
    ],
    [
      "a region without a size",
      { inputs: [{ parameters: { shared_memory_region: "in" } }] },
      400,
      "'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor 'x'",
    ],
    [
      "a size without a region",
      { inputs: [{ parameters: { shared_memory_byte_size: 8 } }] },
      400,
      "'shared_memory_byte_size' can not be specified without 'shared_memory_region' parameter for tensor 'x'",
    ],
    [
      "a region that is no text",
      { inputs: [{ parameters: { shared_memory_region: 1 } }] },
      400,
      "invalid value type for 'shared_memory_region' parameter for tensor 'x'",
    ],
    [
      "a negative offset",
      { inputs: [{ parameters: place("in", 8, -1) }] },
      400,
      "parameter 'shared_memory_offset' is -1; expected an integer of 0 or more",
    ],
    [
      "values too",
      { inputs: [{ data: [1, 2], parameters: place("in", 8) }] },
      400,
      "But set 'data' 'shared_memory_region'",
    ],
    [
      "a place that is too small for the output",
      { inputs: [{ data: [1, 2] }], outputs: [{ parameters: place("out", 7) }] },
      400,
      "shared memory size specified with the request for output 'x' (7 bytes) should be at least 8 bytes to hold the results",
    ],
    [
      "classes",
      { inputs: [{ data: [1, 2] }], outputs: [{ parameters: { ...place("out", 8), classification: 1 } }] },
      400,
      "Output can't set both 'shared_memory_region' and 'classification'",
    ],
    [
      "binary data",
      { inputs: [{ data: [1, 2] }], outputs: [{ parameters: { ...place("out", 8), binary_data: true } }] },
      400,
      "Output can't set both 'shared_memory_region' and 'binary_data'",
    ],
  ])("refuses %s", async (_, request, status, message) => {
    const { send } = await connect();
    const whole = Object.entries(request).map(([part, tensors]) => [
      part,
      (tensors as object[]).map((tensor) => ({ ...(part === "inputs" ? head : { name: "x" }), ...tensor })),
    ]);
    const answer = await send(INFER, json(Object.fromEntries(whole)));
    expect([answer.status, answer.body.error]).toEqual([status, expect.stringContaining(message)]);
    // Nothing of the failed request keeps the regions.
    await send("/v2/systemsharedmemory/unregister", post(""));
    expect((await send("/v2/systemsharedmemory/status")).body).toEqual([]);
  });

  it("refuses contents beside a region over gRPC", async () => {
    const { call } = await connect();
    const input = { ...head, parameters: typed(place("in", 8)), contents: { fp32_contents: [1, 2] } };
    await expect(call("ModelInfer", { model_name: "default", inputs: [input] })).rejects.toMatchObject({
      code: 3,
      details: expect.stringContaining("unexpected 'content' provided when using shared memory for input tensor 'x'"),
    });
    const left = { ...input, contents: undefined };
    const extra = { model_name: "default", inputs: [left], raw_input_contents: [floats(1)] };
    await expect(call("ModelInfer", extra)).rejects.toMatchObject({
      details: expect.stringContaining("raw_input_contents has 1 entries, but the request has 0 inputs"),
    });
  });

  it("refuses inputs that are larger together than a message may be", async () => {
    const { send } = await connect({ maxMessageBytes: 20_000 });
    const ask = async (bytes: number) => {
      const { key } = sharedObject(Buffer.alloc(bytes));
      await send(`/v2/systemsharedmemory/region/r${bytes}/register`, json({ key, byte_size: bytes }));
      const of = (name: string) => ({ ...head, name, shape: [bytes / 4], parameters: place(`r${bytes}`, bytes) });
      return send(INFER, json({ inputs: [of("x"), of("y")], outputs: [] }));
    };
    expect((await ask(400)).status).toBe(200);
    const refused = await ask(12_000);
    expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining("input 'y' takes 12000 bytes")]);
  });

  it.each<[string, object | undefined, number, string]>([
    ["system", { byte_size: 8 }, 400, "Shared memory register request has no 'key' field"],
    ["system", { key: "/k" }, 400, "Shared memory register request has no 'byte_size' field"],
    ["system", { key: "/k", byte_size: 1.5 }, 400, "parameter 'byte_size' is 1.5; expected an integer of 0 or more"],
    ["system", { key: "/kserving-test-absent", byte_size: 8 }, 404, "Unable to open shared memory region"],
    ["cuda", { raw_handle: "AAAA", device_id: 0, byte_size: 8 }, 501, "This server takes no CUDA shared memory"],
  ])("refuses to register %s memory by %j", async (kind, body, status, message) => {
    const { send } = await connect();
    const answer = await send(`/v2/${kind}sharedmemory/region/r/register`, json(body));
    expect([answer.status, answer.body.error]).toEqual([status, expect.stringContaining(message)]);
  });

  it("lets CUDA regions be unregistered, which clients do first, and web pages register none", async () => {
    const { send, input } = await connect();
    expect((await send("/v2/cudasharedmemory/unregister", post(""))).status).toBe(200);
    const status = await send("/v2/cudasharedmemory/region/in/status");
    expect(status.body.error).toBe(
      "The region named 'in' is registered as system shared memory, not CUDA shared memory",
    );
    const page = { headers: { origin: "https://elsewhere.example" } };
    const asked = { ...json({ key: input.key, byte_size: 8 }), ...page };
    expect((await send("/v2/systemsharedmemory/region/page/register", asked)).status).toBe(403);
  });
});
