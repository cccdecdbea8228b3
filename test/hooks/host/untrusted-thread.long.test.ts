import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { run } from "../../helpers/run-pipeline.ts";
import { ask, startHookThreads } from "../../helpers/start-hook-threads.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** A model in a thread of its own, which doubles x. */
const threadDriver = `
  import { createTensor, defineDriver } from "kserving";
  export default defineDriver({
    name: "double", options: {}, pathless: true,
    load: async () => ({
      signatures: { serving_default: {} },
      predict: async ({ x }: any) => ({ y: createTensor("int32", x.shape, x.data.map((each: number) => 2 * each)) }),
      close: async () => {},
    }),
  });`;

/** Hooks that do one of the attacks when a request names its place, and never answer that request. */
const attackedBy = (attacks: readonly string[]) => `
  const attacks = [${attacks.map((attack) => `() => ${attack}`).join(", ")}];
  export async function preprocess(inputs: any) {
    if (inputs.attack === undefined) return { x: inputs.x };
    attacks[inputs.attack.data[0]]();
    await new Promise(() => {});
  }`;

/** One after the other, on hooks and a model that all of them share. */
async function expectLostThreads(attacks: Readonly<Record<string, string>>): Promise<void> {
  const driver = join(tempFolder({ "double.ts": threadDriver }), "double.ts");
  const servable = await startHookThreads(attackedBy(Object.values(attacks)), { stages: [{ driver }] });
  expect(await ask(servable, { x: [1] })).toEqual({ y: [2] });
  for (const [index, name] of Object.keys(attacks).entries()) {
    const attack = run(servable, { kind: "tensors", tensors: toTensors({ attack: index }) });
    await expect(attack, name).rejects.toMatchObject({ code: "unavailable" });
    expect(await ask(servable, { x: [2] }), name).toEqual({ y: [4] });
  }
}

const PORTS = ["control", "requests", "model"] as const;
/** A frame with one record: its kind and id, without plain data and tensors. */
const record = (kind: number, id: number) => `Int32Array.of(1, 24, ${kind}, ${id}, 0, 0).buffer`;

/** A statement that posts a message by the port of this place. */
const posts = (port: number, message: string) =>
  `(process as any)._getActiveHandles()[${port}].postMessage(${message})`;

const MESSAGES = {
  "a text": '"hello"',
  "an object with names of our own": '{ log: { level: "__proto__", message: {}, fields: null } }',
  "a list without end": "new Array(2 ** 32 - 1)",
  "what contains itself": "(() => { const it: any = []; it.push(it); return it; })()",
  "a frame that claims 2^30 records": "Int32Array.of(2 ** 30, 8).buffer",
  "shared memory": "new SharedArrayBuffer(64)",
  "a record of an unknown kind": record(99, 1),
};

test.each(PORTS.map((name, index) => [name, index] as const))(
  "a message of no known form on the %s port costs the hook thread that sent it, and nothing else",
  async (_, port) => {
    const attacks = Object.entries(MESSAGES).map(([name, message]) => [name, posts(port, message)] as const);
    await expectLostThreads(Object.fromEntries(attacks));
  },
);

test("an answer to a request that was not made, or an error without code and message, costs the hook thread that sent it", async () => {
  await expectLostThreads({
    "an answer to a request that was not made": posts(1, record(0, 12345)),
    "an error without code and message": posts(1, record(1, 1)),
  });
});

test("what a hook posts to its parent port goes nowhere", async () => {
  const servable = await startHookThreads(`
    import { parentPort, workerData } from "node:worker_threads";
    parentPort?.postMessage("hello");
    export function preprocess(inputs: any) {
      parentPort?.postMessage({ failed: 1 });
      parentPort?.close();
      return { known: Object.keys(workerData).length };
    }`);
  expect(await ask(servable, { x: 1 })).toEqual({ known: 0 });
});

describe("requests are answered though a hook replaces", () => {
  test.each([
    ["JSON", "JSON.parse = () => { throw new Error('parse') }; JSON.stringify = () => '{'"],
    ["Atomics", "Object.assign(Atomics, { add: undefined, load: undefined, store: undefined })"],
    [
      "Map's methods",
      "Map.prototype.get = Map.prototype.set = Map.prototype.delete = () => { throw new Error('map') }",
    ],
    [
      "the methods of typed arrays",
      "Object.assign(Object.getPrototypeOf(Uint8Array.prototype), { set: null, slice: null })",
    ],
    ["ArrayBuffer's slice", "ArrayBuffer.prototype.slice = () => new SharedArrayBuffer(8) as any"],
    ["a typed array's subarray", "Uint8Array.prototype.subarray = () => new Uint8Array(0) as any"],
    ["setImmediate", "globalThis.setImmediate = (() => {}) as any"],
    ["a port's postMessage", "MessagePort.prototype.postMessage = () => {}"],
    [
      "process.exit and the streams",
      "process.exit = (() => {}) as any; process.stdout.destroy(); process.stderr.end()",
    ],
  ])("%s", async (_, replacement) => {
    const servable = await startHookThreads(`${replacement}; export const preprocess = ({ x }: any) => ({ y: x });`);
    const x = Array.from({ length: 9000 }, (_, index) => index);
    for (let time = 0; time < 3; time++) expect(await ask(servable, { x })).toEqual({ y: x });
  });
});

/** Hooks that run `replacement` when a request asks for it, then answer it. */
const replacing = (replacement: string) => `
  const own = { get: () => "own", set: () => {}, configurable: true };
  export const preprocess = ({ x, attack }: any) => {
    if (attack) { ${replacement}; }
    return { y: x };
  }`;

test("a request is answered though a hook gives every object the fields of a message", async () => {
  const names = '["kind", "id", "meta", "tensors"]';
  const servable = await startHookThreads(
    replacing(`for (const name of ${names}) Object.defineProperty(Object.prototype, name, own)`),
  );
  for (let time = 0; time < 3; time++) expect(await ask(servable, { x: 1, attack: 1 })).toEqual({ y: 1 });
});

test("a thread is replaced when a hook has replaced what the server's own code is built on", async () => {
  const servable = await startHookThreads(replacing("Array.prototype.map = () => [] as any"), { workers: 1 });
  const attack = { kind: "tensors", tensors: toTensors({ x: 1, attack: 1 }) } as const;
  await run(servable, attack);
  await expect(run(servable, attack)).rejects.toMatchObject({ code: "unavailable" });
  expect(await ask(servable, { x: 2 })).toEqual({ y: 2 });
});

test.each([
  ["the list of a message's parts", "Array.isArray = () => { throw new Error('isArray') }"],
  [
    "how objects are made",
    "Object.create = Object.entries = Object.keys = (() => { throw new Error('object') }) as any",
  ],
  ["how lists are made", "Array.prototype.map = Array.prototype.push = () => { throw new Error('list') }"],
  ["how lists are read", "(Array.prototype as any)[Symbol.iterator] = () => { throw new Error('iterator') }"],

  [
    "the fields of every object",
    "for (const name of ['code', 'dtype', 'shape', 'data', 'length']) Object.defineProperty(Object.prototype, name, own)",
  ],
  ["how lists grow, in silence", "Array.prototype.map = () => [] as any; Array.prototype.push = () => 0"],
])("a request is answered or refused, never lost, where a hook replaces %s", async (_, replacement) => {
  const servable = await startHookThreads(replacing(replacement));
  const attack = () => run(servable, { kind: "tensors", tensors: toTensors({ x: 1, attack: 1 }) });
  for (let time = 0; time < 3; time++) await attack().catch((reason) => expect(reason).toHaveProperty("code"));
});

test("a hook closes the files that it opened, and no others of the process", async () => {
  const servable = await startHookThreads(`
    import fs, { closeSync } from "node:fs";
    import { promisify } from "node:util";
    export async function preprocess() {
      let closed = 0;
      for (let descriptor = 0; descriptor < 200; descriptor++) {
        try { closeSync(descriptor); closed++; } catch {}
        await promisify(fs.close)(descriptor).then(() => closed++, () => {});
      }
      const own = [fs.openSync(import.meta.filename, "r"), await promisify(fs.open)(import.meta.filename, "r")];
      closeSync(own[0]);
      await promisify(fs.close)(own[1]);
      const stream = fs.createReadStream(import.meta.filename);
      for await (const _ of stream);
      const ports = Object.getOwnPropertySymbols(process.stdout).filter((name) => String(name).includes("Port"));
      return { closed, ports: ports.length, wasClosed: stream.closed || stream.destroyed };
    }`);
  expect(await ask(servable, { x: 1 })).toEqual({ closed: 0, ports: 0, wasClosed: true });
});
