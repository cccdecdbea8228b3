import type { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { createRemoteService } from "../../src/client/remote/remote-service.ts";
import { createGrpcServer } from "../../src/grpc/grpc-server.ts";
import { LARGE_MESSAGE_BYTES } from "../../src/platform/codec-host/large-message.ts";
import { sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import { createHttpServer } from "../../src/proxy/http-server.ts";
import { PROTOCOLS } from "../../src/server/protocols.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { createEventLog, type EventLog } from "../helpers/event-log.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { WIRES, type Wire } from "./wires.ts";

const PROMISE = "the server's log has the cause.";

/** Hooks that leave a trap for the code after them, which expects plain values. */
const HOOKS = `
  const x = { name: "x", dtype: "float32", shape: [-1] };
  export const inputs = [x], outputs = [x];
  export function postprocess(outputs, ctx) {
    ctx.response = { get metadata() { throw new TypeError("a bug behind hooks"); } };
    return outputs;
  }`;

const PLACES: Readonly<Record<string, Partial<ServerOptions>>> = {
  "a hook thread": {},
  "hooks in the main thread": { workers: 0 },
  "a thread behind listeners": { listeners: 2 },
  "hooks of an isolated model": { isolate: true },
};

function serve(options: Partial<ServerOptions>, { log }: EventLog) {
  const hooks = `${tempFolder({ "hooks.ts": HOOKS })}/hooks.ts`;
  return startServer({ stages: [{ driver: "null" }], hooks, log, simpleTensorflowServing: true, ...options });
}

/** The protocols in front of another server, as `kserving proxy` has them. */
async function serveProxy(address: string, { log }: EventLog) {
  const service = createRemoteService(address, {});
  const options = {
    host: "127.0.0.1",
    port: 0,
    protocols: PROTOCOLS,
    log,
    settings: sliceSettings({ simpleTensorflowServing: true }),
  };
  const [grpc, http] = [await createGrpcServer(service, options), await createHttpServer(service, options)];
  onTestFinished(async () => void (await Promise.all([grpc.close(0), http.close(0)])));
  return { grpcAddress: grpc.address, httpUrl: http.url };
}

/** Asks over a wire; resolves once the logs have the cause of what was promised. */
async function expectCause(wire: Wire, name: string, { ask, logs, bug = /a bug behind hooks/ }: Asked): Promise<void> {
  const id = `request over ${name}`;
  const [, message] = await ask(wire, id);
  expect(message, name).toContain(PROMISE);
  const hasCause = ({ events }: EventLog) =>
    events.some(({ level, requestId, err }) => level === "error" && requestId === id && bug.test(JSON.stringify(err)));
  for (const log of logs) await expect.poll(() => hasCause(log), { message: `${name}: ${message}` }).toBe(true);
}

interface Asked {
  readonly ask: (wire: Wire, id: string) => Promise<readonly [number, string]>;
  /** Each has to have the cause. */
  readonly logs: readonly EventLog[];
  /** Part of the cause. */
  readonly bug?: RegExp;
}

const entries = Object.entries<Wire>(WIRES).filter(([name]) => !/Regress|MultiInference/.test(name));

test.each(Object.entries(PLACES))(
  "a promised cause is in the log with the request's id, from %s",
  async (_, options) => {
    const log = createEventLog();
    const server = await serve(options, log);
    for (const [name, wire] of entries) {
      await expectCause(wire, name, { ask: (each, id) => each.ask(server, { id }), logs: [log] });
    }
  },
);

test("a promised cause is in the log of the server behind a proxy, with the id that the proxy's client gave", async () => {
  const [behind, before] = [createEventLog(), createEventLog()];
  const { grpcAddress } = await serve({}, behind);
  const proxy = await serveProxy(grpcAddress as string, before);
  // Those that name no input need a model whose inputs are known.
  for (const [name, wire] of entries.filter(([each]) => !/^(?:TensorFlow Serving|SageMaker) HTTP/.test(each))) {
    await expectCause(wire, name, { ask: (each, id) => each.ask(proxy, { id }), logs: [behind] });
    expect(
      before.events.find(({ requestId }) => requestId === `request over ${name}`),
      name,
    ).toBeDefined();
  }
});

test("a codec thread that fails is in the log of each request that it was to read", async () => {
  const log = createEventLog();
  const server = await serve({ listeners: 1 }, log);
  // A command that is none is what a bug of ours would be.
  const spoil = (worker: Worker) => worker.postMessage(null);
  process.on("worker", spoil);
  onTestFinished(() => void process.off("worker", spoil));
  const ask: Asked["ask"] = (wire, id) => wire.ask(server, { id, count: LARGE_MESSAGE_BYTES });
  for (const name of ["KServe HTTP", "TensorFlow Serving HTTP", "Kibernetika HTTP"] as const) {
    await expectCause(WIRES[name], name, { ask, logs: [log], bug: /TypeError/ });
  }
});
