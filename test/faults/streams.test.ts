import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { type ClientDuplexStream, credentials, Metadata } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { frameBytes } from "../../src/grpc/framed-message.ts";
import { makeFrame, uint32s } from "../../src/http2/frame-output.ts";
import { ERROR, FLAG, FRAME, PREFACE, SETTING } from "../../src/http2/protocol.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { OPENING, toBlock } from "../grpc/flood-frames.ts";
import type { Plain } from "../grpc/oracle.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { ReceivedFrames } from "../http2/received-frames.ts";
import { KserveClient, kserveOracle } from "../protocols/kserve/kserve-oracle.ts";
import { postForParts } from "../proxy/read-parts.ts";

/** Counts up, one part a millisecond, until the fourth, where it does what the first value of x says. */
const HOOKS = `
import { appendFileSync } from "node:fs";
export const inputs = [{ name: "x", dtype: "int32", shape: [2] }];
export const outputs = [{ name: "y", dtype: "int32", shape: [-1] }];
const never = () => new Promise(() => {});
const ACTS = [
  () => { throw new Error("there is no fourth"); },
  () => globalThis.process.exit(1),
  () => { for (;;); },
  never,
  () => new Int32Array(20_000_000),
  (signal) => signal.aborted || new Promise((resolve) => signal.addEventListener("abort", resolve)),
];
appendFileSync(LOG, "loaded\\n");
export async function* process({ x }, { signal }) {
  appendFileSync(LOG, "begun\\n");
  try {
    for (let number = 1; ; number++) {
      if (number === 4 && x.data[0] === END) return;
      const large = number === 4 ? await ACTS[x.data[0]]?.(signal) : undefined;
      yield { y: large ?? Int32Array.of(number) };
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  } finally {
    appendFileSync(LOG, "over\\n");
  }
}`;
const [THROW, EXIT, SPIN, WAIT, LARGE, HOLD, END, COUNT_ON] = [0, 1, 2, 3, 4, 5, 6, 7];

async function start(options: Partial<ServerOptions> = {}) {
  const log = `${tempFolder({ log: "" })}/log`;
  const text = HOOKS.replaceAll("LOG", JSON.stringify(log)).replaceAll("END", String(END));
  const hooks = `${tempFolder({ "hooks.ts": text })}/hooks.ts`;
  const server = await startServer({
    models: { counting: { stages: [{ driver: "null" }], hooks } },
    hookStallMs: 500,
    ...options,
  });
  const count = (word: string) =>
    readFileSync(log, "utf8")
      .split("\n")
      .filter((line) => line === word).length;
  return { server, loaded: () => count("loaded"), begun: () => count("begun"), over: () => count("over") };
}

type Started = Awaited<ReturnType<typeof start>>["server"];
/** A part's number, or the error that came in place of one. */
type Told = number | { readonly error: string };
type Wire = (server: Started, x: readonly [act: number, of: number]) => AsyncGenerator<Told>;

function request(x: readonly number[]): Plain {
  const raw = Buffer.from(Int32Array.from(x).buffer);
  return {
    model_name: "counting",
    inputs: [{ name: "x", datatype: "INT32", shape: [2] }],
    raw_input_contents: [raw],
  };
}

async function* overGrpc({ grpcAddress }: Started, x: readonly number[]): AsyncGenerator<Told> {
  const client = new KserveClient(grpcAddress, credentials.createInsecure());
  onTestFinished(() => client.close());
  const stream = client.ModelStreamInfer!(new Metadata()) as ClientDuplexStream<Plain, Plain>;
  stream.on("error", () => {});
  stream.write(request(x));
  stream.end();
  try {
    for await (const { error_message: error, infer_response: answer } of stream) {
      if (error !== "") yield { error };
      else yield (answer.raw_output_contents[0] as Buffer).readInt32LE();
    }
  } finally {
    stream.cancel();
  }
}

interface HttpWire {
  readonly path: string;
  readonly body: (x: readonly number[]) => object;
  readonly accept?: string;
  readonly read: (part: never) => number;
}

function overHttp({ path, body, accept = "text/event-stream", read }: HttpWire): Wire {
  const isEvents = accept === "text/event-stream";
  return async function* ({ httpUrl }, x) {
    const reader = await postForParts(httpUrl + path, body(x), { accept });
    const mark = isEvents ? "\n\n" : "\n";
    try {
      for (let part = await reader.next(mark); part !== undefined; part = await reader.next(mark)) {
        const json = JSON.parse(isEvents ? part.replace(/^data: /, "") : part);
        yield "error" in json ? { error: json.error } : read(json as never);
      }
    } finally {
      reader.leave();
    }
  };
}

const V2 = "/v2/models/counting";
const WIRES: Readonly<Record<string, Wire>> = {
  ModelStreamInfer: overGrpc,
  infer_stream: overHttp({
    path: `${V2}/infer_stream`,
    body: (x) => ({ inputs: [{ name: "x", datatype: "INT32", shape: [2], data: x }] }),
    read: ({ outputs }: { outputs: [{ data: [number] }] }) => outputs[0].data[0],
  }),
  generate_stream: overHttp({
    path: `${V2}/generate_stream`,
    body: (x) => ({ x }),
    read: ({ y }: { y: number }) => y,
  }),
  "lines of TensorFlow Serving's REST API": overHttp({
    path: "/v1/models/counting:predict",
    body: (x) => ({ inputs: x }),
    accept: "application/x-ndjson",
    read: ({ outputs }: { outputs: [number] }) => outputs[0],
  }),
  "events of the original proxy": overHttp({
    path: "/predict/counting",
    body: (x) => ({ inputs: { x: { dtype: "int32", data: x } } }),
    read: ({ y }: { y: [number] }) => y[0],
  }),
};

async function all(parts: AsyncGenerator<Told>): Promise<readonly Told[]> {
  const told: Told[] = [];
  for await (const part of parts) told.push(part);
  return told;
}

describe("an answer in parts whose hook", () => {
  it.each<[string, number, RegExp, Partial<ServerOptions>?]>([
    ["throws", THROW, /^The hook process failed: there is no fourth$/],
    ["ends its thread", EXIT, /thread has ended/],
    ["spins for ever", SPIN, /thread has ended/],
    [
      "waits for what never settles",
      WAIT,
      /^The hook process has not given part 4 within 500 ms/,
      { hookTimeoutMs: 500 },
    ],
  ])("%s ends with the error on every wire, and others are answered", async (_, act, text, options) => {
    // One client that ends so many threads would have to wait.
    const { server } = await start({ ...options, poisonRequests: 0 });
    for (const [name, wire] of Object.entries(WIRES)) {
      await expectEnd(wire(server, [act, 0]), text, name);
      expect(await all(wire(server, [END, 0])), name).toEqual([1, 2, 3]);
    }
    expect(server.inFlight()).toEqual([]);
  });

  it("gives a part for which there is no room ends with the error on every wire", async () => {
    const { server, begun, over } = await start({ maxQueueBytes: 16 * 1024 * 1024, hookTimeoutMs: 0 });
    // A request that is alone has room for any part.
    const other = overGrpc(server, [HOLD, 0]);
    expect((await other.next()).value).toBe(1);
    for (const [name, wire] of Object.entries(WIRES))
      await expectEnd(wire(server, [LARGE, 0]), /--max-queue-bytes/, name);
    await other.return(undefined);
    await expect.poll(over).toBe(begun());
    expect(server.inFlight()).toEqual([]);
  });
});

async function expectEnd(parts: AsyncGenerator<Told>, text: RegExp, wire: string): Promise<void> {
  const told = await all(parts);
  const numbers = told.slice(0, -1);
  expect(numbers, wire).toEqual([1, 2, 3].slice(0, numbers.length));
  expect(told.at(-1), wire).toEqual({ error: expect.stringMatching(text) });
}

async function begin(server: Started): Promise<readonly AsyncGenerator<Told>[]> {
  const streams = Object.values(WIRES).map((wire) => wire(server, [COUNT_ON, 0]));
  for (const stream of streams) expect((await stream.next()).value).toBe(1);
  return streams;
}

describe("answers in parts on every wire", () => {
  it("end with an error when their model is unloaded meanwhile", async () => {
    const { server, begun, over } = await start();
    const streams = await begin(server);
    const ends = streams.map(async (stream) => (await all(stream)).at(-1));
    vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const unloaded = server.unload("counting");
    await expect.poll(() => server.models()[0]?.state).toBe("UNLOADING");
    vi.advanceTimersByTime(26_000);
    vi.useRealTimers();
    for (const end of ends) expect(await end).toEqual({ error: expect.stringMatching(/again|unload|closed/) });
    await unloaded;
    expect([begun(), over()]).toEqual([streams.length, streams.length]);
    expect(server.inFlight()).toEqual([]);
  });

  it("go on when their hooks are replaced meanwhile", async () => {
    const { server, loaded, begun, over } = await start();
    const streams = await begin(server);
    const reloaded = server.reloadHooks();
    await expect.poll(loaded).toBe(2);
    for (let number = 2; number < 50; number++)
      for (const stream of streams) expect((await stream.next()).value).toBe(number);
    for (const stream of streams) await stream.return(undefined);
    await reloaded;
    expect([begun(), over()]).toEqual([streams.length, streams.length]);
  });
});

const PATH = "/inference.GRPCInferenceService/ModelStreamInfer";

/** A client's opening whose streams have windows of so many bytes. */
function opening(windowBytes: number): Buffer {
  const setting = Buffer.concat([Buffer.of(0, SETTING.initialWindowSize), uint32s(windowBytes)]);
  return Buffer.concat([PREFACE, makeFrame(FRAME.settings, 0, 0, setting)]);
}

/** The frames of a call on the stream of this number. */
function callFrames(id: number, x: readonly number[]): readonly Buffer[] {
  const message = Buffer.concat(frameBytes(kserveOracle.encodeRequest(request(x))));
  return [makeFrame(FRAME.headers, FLAG.endHeaders, id, toBlock(PATH)), makeFrame(FRAME.data, 0, id, message)];
}

it("an answer in parts whose client takes one byte at a time arrives, and others are answered", async () => {
  const { server, begun, over } = await start();
  const [host, port] = server.grpcAddress.split(":");
  const socket = connect(Number(port), host).on("error", () => {});
  onTestFinished(() => void socket.destroy());
  const frames = new ReceivedFrames();
  const taken: Buffer[] = [];
  socket.write(Buffer.concat([opening(1), ...callFrames(1, [COUNT_ON, 0])]));
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    const data = frames.add(piece as Buffer).filter(({ type }) => type === FRAME.data);
    for (const { payload } of data) {
      expect(payload).toHaveLength(1);
      taken.push(payload);
      socket.write(makeFrame(FRAME.windowUpdate, 0, 1, uint32s(1)));
    }
    if (taken.length >= 300) break;
  }
  expect(await all(overGrpc(server, [END, 0]))).toEqual([1, 2, 3]);
  const bytes = Buffer.concat(taken);
  const { infer_response: answer } = kserveOracle.decodeStreamResponse(bytes.subarray(5, 5 + bytes.readUInt32BE(1)));
  expect(((answer as Plain).raw_output_contents as Buffer[])[0]?.readInt32LE()).toBe(1);
  socket.destroy();
  await expect.poll(over).toBe(begun());
});

describe("a thousand streams", () => {
  const STREAMS = 1000;
  const CONNECTIONS = 4;
  const IDS = Array.from({ length: STREAMS / CONNECTIONS }, (_, index) => 2 * index + 1);

  /** Answers that have begun and wait, on few connections, frame by frame: clients of libraries reset in their time. */
  function open({ grpcAddress }: Started, act = HOLD, beginning: Buffer = OPENING): readonly Socket[] {
    const [host, port] = grpcAddress.split(":");
    const calls = IDS.flatMap((id) => callFrames(id, [act, 0]));
    return Array.from({ length: CONNECTIONS }, () => {
      const socket = connect(Number(port), host).on("error", () => {});
      onTestFinished(() => void socket.destroy());
      socket.resume().write(Buffer.concat([beginning, ...calls]));
      return socket;
    });
  }

  it.each<[string, (socket: Socket) => void]>([
    [
      "that are reset at once",
      (socket) =>
        void socket.write(Buffer.concat(IDS.map((id) => makeFrame(FRAME.reset, 0, id, uint32s(ERROR.cancel))))),
    ],
    ["whose connections break", (socket) => void socket.resetAndDestroy()],
  ])("%s leave no generator, and another is answered", async (_, leave) => {
    const { server, begun, over } = await start({ hookTimeoutMs: 0, hookStallMs: 10_000 });
    const sockets = open(server);
    await expect.poll(begun, { timeout: 20_000 }).toBe(STREAMS);
    expect(await all(overGrpc(server, [END, 0]))).toEqual([1, 2, 3]);
    for (const socket of sockets) leave(socket);
    await expect.poll(over, { timeout: 20_000 }).toBe(STREAMS + 1);
    await expect.poll(() => server.inFlight()).toEqual([]);
  });

  it("that are not read wait with what is made, and another is answered", async () => {
    const { server, begun, over } = await start({ hookTimeoutMs: 0, hookStallMs: 10_000 });
    const sockets = open(server, COUNT_ON, opening(0));
    await expect.poll(begun, { timeout: 20_000 }).toBe(STREAMS);
    expect(await all(overGrpc(server, [END, 0]))).toEqual([1, 2, 3]);
    expect(server.inFlight()).toHaveLength(STREAMS);
    const parts = async () => Number((await server.service.statistics())[0]?.requests.parts?.parts);
    let before = -1;
    const isStill = async () => {
      const made = await parts();
      const wasStill = made === before;
      before = made;
      return wasStill;
    };
    await expect.poll(isStill, { interval: 500, timeout: 20_000 }).toBe(true);
    for (const socket of sockets) socket.resetAndDestroy();
    await expect.poll(over, { timeout: 20_000 }).toBe(STREAMS + 1);
    await expect.poll(() => server.inFlight()).toEqual([]);
  });
});
