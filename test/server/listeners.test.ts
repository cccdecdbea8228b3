import { Session } from "node:inspector";
import { connect as connectNet, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { decodeInferResponse, encodeInferRequest } from "../../src/client/remote/infer-message.ts";
import { containerRoom } from "../../src/platform/limits/memory/container-room.ts";
import { createServer, whyOneListener } from "../../src/server/server.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { createTensor, createTensors } from "../../src/tensor/tensor.ts";
import { connect } from "../grpc/byte-client.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { healthOf } from "../helpers/health-of.ts";
import { missingListeners } from "../helpers/missing-listeners.ts";
import { startServer } from "../helpers/start-server.ts";

const INFER = "/inference.GRPCInferenceService/ModelInfer";
const LIVE = "/inference.GRPCInferenceService/ServerLive";
const WATCH = "/grpc.health.v1.Health/Watch";
const URL_PATH = "/v2/models/default/infer";
const CONNECTIONS = 12;

const why = missingListeners();

function message(value: number): Uint8Array {
  const inputs = createTensors([["x", createTensor("float32", [2], Float32Array.of(value, 1))]]);
  return encodeInferRequest({ model: "", inputs });
}

const NULL = { driver: "null" };
const ONE_PIPELINE: ServerOptions = { stages: [NULL] };
const ONE_MODEL: ServerOptions = { models: { default: NULL } };
const TWO_MODELS: ServerOptions = { models: { default: NULL, other: NULL } };

async function start(models = ONE_PIPELINE, options: Partial<ServerOptions> = {}) {
  const workers: Worker[] = [];
  const note = (worker: Worker) => void workers.push(worker);
  process.on("worker", note);
  const { log, events, find } = createEventLog();
  const server = await startServer({ ...models, listeners: 2, log, ...options });
  process.off("worker", note);
  /** Clients with a connection each, which are spread among the listeners. */
  const clients = Array.from({ length: CONNECTIONS }, () => connect(server.grpcAddress));
  const infer = async (client: (typeof clients)[number], value: number) => {
    const { bytes } = await client.call(INFER, message(value));
    return decodeInferResponse(bytes).outputs.x?.data[0];
  };
  const post = (data: readonly number[]) => {
    const inputs = [{ name: "x", datatype: "FP32", shape: [data.length], data }];
    const body = JSON.stringify({ inputs });
    return fetch(server.httpUrl + URL_PATH, { method: "POST", body, headers: { connection: "close" } });
  };
  const port = (url: string) => Number(url.split(":").at(-1));
  return { server, workers, clients, infer, post, log, events, find, port };
}

async function valuesOf(response: Response): Promise<readonly number[] | undefined> {
  const answer = (await response.json()) as { readonly outputs: readonly { readonly data: readonly number[] }[] };
  return answer.outputs[0]?.data;
}

/** Keeps this thread busy, once, after it has asked a thread for its counts until that has waited long enough. */
function beBusyAfterCount(worker: Worker): void {
  const post = worker.postMessage.bind(worker);
  worker.postMessage = (message: object) => {
    post(message);
    if (!("count" in message)) return;
    worker.postMessage = post;
    const until = performance.now() + 1200;
    while (performance.now() < until);
  };
}

/** Lets the first thread of that name loop without end. */
async function hangWorker(name: string): Promise<void> {
  const session = new Session();
  session.connect();
  onTestFinished(() => session.disconnect());
  const attached = new Promise<string>((resolve) => {
    session.on("NodeWorker.attachedToWorker", ({ params: { sessionId, workerInfo } }) => {
      if (workerInfo.title.includes(name)) resolve(sessionId);
    });
  });
  session.post("NodeWorker.enable", { waitForDebuggerOnStart: false });
  const evaluation = { id: 1, method: "Runtime.evaluate", params: { expression: "for (;;);" } };
  session.post("NodeWorker.sendMessageToWorker", { sessionId: await attached, message: JSON.stringify(evaluation) });
}

async function open(port: number): Promise<Socket> {
  const socket = connectNet(port, "127.0.0.1").on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await new Promise<void>((resolve) => socket.once("connect", resolve).once("close", () => resolve()));
  return socket;
}

describe.skipIf(why !== undefined)("several listeners", () => {
  test("answer on all connections to the same ports, each its own request", async () => {
    const { clients, infer, post, workers } = await start();
    expect(workers).toHaveLength(2);
    const numbers = Array.from({ length: 300 }, (_, index) => index);
    const answers = numbers.map((value) => infer(clients[value % CONNECTIONS] as (typeof clients)[number], value));
    expect(await Promise.all(answers)).toEqual(numbers);
    const posted = await Promise.all(numbers.slice(0, 30).map(async (value) => valuesOf(await post([value]))));
    expect(posted.flat()).toEqual(numbers.slice(0, 30));
  });

  test("pass on what is no single request: reads, streams, the page, unknown methods and paths", async () => {
    const { server, clients } = await start();
    const [client] = clients as [(typeof clients)[number]];
    const watched = client.stream(WATCH, new Uint8Array(0));
    expect((await watched.next()).value).toEqual(Buffer.from([8, 1]));
    expect((await client.call(LIVE, new Uint8Array(0))).bytes).toEqual(Buffer.from([8, 1]));
    await expect(client.call("/a.B/C", new Uint8Array(0))).rejects.toMatchObject({ code: 12 });
    const statuses = ["/v2/models/default", "/v1/models/default", "/metrics", "/ui", "/nowhere"].map(
      async (path) => (await fetch(server.httpUrl + path, { headers: { accept: "text/html" } })).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 200, 200, 200, 404]);
  });

  test("fail as one does: unknown models, wrong inputs, calls that may not be made", async () => {
    const { server, clients } = await start();
    const [client] = clients as [(typeof clients)[number]];
    const unknown = encodeInferRequest({ model: "other", inputs: createTensors() });
    await expect(client.call(INFER, unknown)).rejects.toMatchObject({ code: 5, details: /'other' is not found/ });
    const unload = await fetch(`${server.httpUrl}/v2/repository/models/default/unload`, { method: "POST" });
    expect(unload.status).toBe(403);
  });

  test("count requests together, whichever of them answered, and log them with the client's address", async () => {
    const { server, post, clients, infer, events } = await start(ONE_PIPELINE, { accessLog: true });
    await Promise.all(Array.from({ length: 20 }, () => post([1])));
    await Promise.all(clients.map((client) => infer(client, 1)));
    const metrics = await (await fetch(`${server.httpUrl}/metrics`)).text();
    const total = (method: string) =>
      new RegExp(`^kserving_requests_total\\{.*method="${method}".*\\} (\\d+)$`, "m").exec(metrics)?.[1];
    expect([total("POST /v2/models/:name/infer"), total(INFER)]).toEqual(["20", String(CONNECTIONS)]);
    const lines = events.filter(({ msg }) => msg === "request");
    await expect.poll(() => events.filter(({ msg }) => msg === "request").length).toBe(20 + CONNECTIONS + 1);
    expect(new Set(lines.map(({ client }) => client))).toEqual(new Set(["127.0.0.1"]));
  });

  test("lose no count that comes too late", async () => {
    const { server, post, workers } = await start();
    await Promise.all(Array.from({ length: 20 }, () => post([1])));
    beBusyAfterCount(workers[1] as Worker);
    const counted = async () => {
      const metrics = await (await fetch(`${server.httpUrl}/metrics`)).text();
      return /^kserving_requests_total\{.*method="POST \/v2\/models\/:name\/infer".*\} (\d+)$/m.exec(metrics)?.[1];
    };
    await counted();
    expect(await counted()).toBe("20");
  });

  test("have one limit of connections", async () => {
    const { server, port } = await start(ONE_PIPELINE, { maxConnections: 6 });
    const sockets: Socket[] = [];
    for (let count = 0; count < 8; count++) sockets.push(await open(port(server.httpUrl)));
    // Which of them are refused depends on which listener is first.
    const openOnes = () => sockets.filter(({ destroyed }) => !destroyed).length;
    await expect.poll(openOnes).toBe(6);
    await wait(200);
    expect(openOnes()).toBe(6);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => healthOf(server)).toBe(200);
  });

  test("have one limit for each client, and give back what a request that is over took", async () => {
    const { post } = await start(ONE_PIPELINE, { clientRate: 1, clientBurst: 5 });
    const statuses = [];
    for (let count = 0; count < 8; count++) statuses.push((await post([1])).status);
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(6);
    expect(statuses.slice(0, 5)).toEqual([200, 200, 200, 200, 200]);
    expect(statuses).toContain(429);
  });

  test("take a single request beyond the limit of memory, as one does", async () => {
    const { post } = await start(ONE_PIPELINE, { maxQueueBytes: 1000 });
    const large = Array.from({ length: 2000 }, (_, index) => index);
    expect(await valuesOf(await post(large))).toEqual(large);
  });

  test("refuse what the container has no memory for, and answer what is small, as one does", async () => {
    const { post } = await start();
    containerRoom.update({ bytes: 100_000, of: "this container" });
    onTestFinished(() => containerRoom.update(undefined));
    const refused = await post(Array.from({ length: 40_000 }, (_, index) => index));
    expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining("container has 99328 bytes")]);
    expect(await valuesOf(await post([1]))).toEqual([1]);
  });

  test("lose no request while versions change", async () => {
    const { server, clients, infer } = await start(ONE_MODEL);
    let isOver = false;
    let answered = 0;
    const ask = async (client: (typeof clients)[number]) => {
      for (let value = 0; !isOver; value++) {
        expect(await infer(client, value)).toBe(value);
        answered++;
      }
    };
    const asking = Promise.all(clients.map(ask));
    for (let load = 0; load < 8; load++) {
      await server.load("default");
      await wait(50);
    }
    isOver = true;
    await asking;
    expect(answered).toBeGreaterThan(CONNECTIONS);
  });

  test("see a model go and come back", async () => {
    const { server, clients, infer } = await start(TWO_MODELS);
    const [client] = clients as [(typeof clients)[number]];
    const inputs = createTensors([["x", createTensor("float32", [1], Float32Array.of(7))]]);
    const other = () => client.call(INFER, encodeInferRequest({ model: "other", inputs }));
    await other();
    const began = performance.now();
    await server.unload("other");
    expect(performance.now() - began).toBeLessThan(10_000);
    await expect(other()).rejects.toMatchObject({ code: expect.any(Number) });
    await server.load("other");
    await other();
    await expect(infer(client, 1)).rejects.toMatchObject({ code: 5 });
  });

  test("know a model that has just been loaded, in protocols that look for its name", async () => {
    const { server } = await start(ONE_MODEL, { simpleTensorflowServing: true });
    const ask = async (model: string) => {
      const body = JSON.stringify({ model_name: model, data: { x: [1] } });
      const headers = { connection: "close", "content-type": "application/json" };
      const answer = await fetch(server.httpUrl, { method: "POST", body, headers });
      return [answer.status, await answer.text()];
    };
    // Whatever waits for a time comes too late.
    vi.useFakeTimers({ toFake: ["setTimeout", "setImmediate"] });
    for (const model of ["one", "two"]) await server.load(model, NULL);
    vi.useRealTimers();
    for (const model of ["one", "two"]) expect(await ask(model)).toEqual([200, expect.any(String)]);
  });

  test("take no name with a version in it for that version", async () => {
    const { server } = await start(TWO_MODELS);
    const [{ version } = { version: 0n }] = server.models();
    const ask = async (path: string) => {
      const body = JSON.stringify({ inputs: [{ name: "x", datatype: "FP32", shape: [1], data: [1] }] });
      const url = `${server.httpUrl}/v2/models/${path}/infer`;
      return (await fetch(url, { method: "POST", body, headers: { connection: "close" } })).status;
    };
    const statuses = async (path: string) => Promise.all(Array.from({ length: CONNECTIONS }, () => ask(path)));
    expect(new Set(await statuses(`other/versions/${version}`))).toEqual(new Set([200]));
    expect(new Set(await statuses(`other%00${version}`))).toEqual(new Set([404]));
  });

  test("finish the requests under way when the server closes, and take no more", async () => {
    const { server, clients, infer } = await start();
    const answers = clients.map((client, value) => infer(client, value).catch((reason) => reason.code));
    await Promise.race(answers);
    await server.close();
    for (const [value, answer] of (await Promise.all(answers)).entries()) expect([value, 14]).toContain(answer);
    await expect(fetch(`${server.httpUrl}/health`)).rejects.toThrow();
  });

  test("are replaced when one ends, and what it counted is not held for ever", async () => {
    const { server, workers, infer, find } = await start(ONE_PIPELINE, { maxConnections: 40 });
    await workers[0]?.terminate();
    await find({ msg: "a thread that listens has ended; another one takes its place" });
    await wait(1500);
    const clients = Array.from({ length: CONNECTIONS }, () => connect(server.grpcAddress));
    const values = await Promise.all(clients.map((client, value) => infer(client, value)));
    expect(values).toEqual(clients.map((_, value) => value));
  });

  test("are ended and replaced when one hangs", { timeout: 60_000 }, async () => {
    const { events, find, infer, server } = await start();
    await hangWorker("listener");
    const hasNoticed = () => events.some(({ msg }) => msg === "a thread that listens hangs, and is ended");
    await expect.poll(hasNoticed, { timeout: 30_000 }).toBe(true);
    await find({ msg: "a thread that listens has ended; another one takes its place" });
    await wait(1500);
    const clients = Array.from({ length: CONNECTIONS }, () => connect(server.grpcAddress));
    const values = await Promise.all(clients.map((client, value) => infer(client, value)));
    expect(values).toEqual(clients.map((_, value) => value));
  });

  test("refuse a port that another server has, though it has several listeners too", async () => {
    const { server, port } = await start();
    const again = createServer({ stages: [{ driver: "null" }], port: port(server.grpcAddress), listeners: 2 });
    await expect(again).rejects.toMatchObject({ code: "unavailable", message: /in use/ });
  });
});

test.each([
  [{}, { version: "20.20.0" }, "Node 20.20.0 cannot open one port several times, as 22.12 can"],
  [{}, { version: "22.11.0" }, "Node 22.11.0 cannot open one port several times, as 22.12 can"],
  [{}, { version: "23.0.0" }, "Node 23.0.0 cannot open one port several times, as 22.12 can"],
  [{}, { platform: "darwin" }, "darwin does not spread connections among sockets of one port, as Linux does"],
  [{ sockets: { grpc: 3 } }, {}, "a socket that the program was started with can be listened on by one thread"],
  [{ sockets: { admin: 3 } }, {}, undefined],
  [{ grpcSocketOnly: true }, {}, "gRPC is served on a Unix socket alone, which one thread can listen on"],
  [{ allowClientShm: true }, {}, "the memory that clients share (--allow-client-shm) is known to one thread"],
  [{}, {}, undefined],
  [{}, { version: "24.0.0" }, undefined],
])("the reason why one thread listens, for %o at %o", (options, place, reason) => {
  const at = { version: "22.12.0", platform: "linux", ...place };
  expect(whyOneListener({ allowClientShm: false, ...options }, at)).toBe(reason);
});

test.runIf(why !== undefined)("the log says why one thread listens where more were asked for", async () => {
  const { log, find } = createEventLog();
  await startServer({ stages: [{ driver: "null" }], listeners: 2, log });
  await find({ msg: `one thread listens, not 2 (--listeners): ${why}` });
});
