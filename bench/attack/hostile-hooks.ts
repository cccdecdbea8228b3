/** Hooks that send garbage from their thread, or replace what it is built on: the text of the input x says what. */
import { MessagePort, parentPort } from "node:worker_threads";
import type { HookContext, Tensors } from "kserving";

const GARBAGE: readonly unknown[] = [
  null,
  undefined,
  0,
  "text",
  [],
  {},
  { kind: "answer" },
  { kind: 1, id: 1 },
  [[]],
  new Uint8Array(3),
  new ArrayBuffer(8),
  new Map([[1, 2]]),
  new Error("garbage"),
  { type: "ready" },
  { type: "error", error: null },
  [0, 0, 0, 0],
];

/** 50 MB of a text with secrets in it, as a hook makes it of a request's. */
const large = () => "password=a b ".repeat(4_000_000);

const ACTS: Readonly<Record<string, (ctx: HookContext) => void>> = {
  "large-error": () => {
    throw new Error(`bad input ${large()}`, { cause: new Error(large()) });
  },
  "large-rejection": () => void Promise.reject(new Error(large())),
  "large-log": (ctx) => ctx.log.error(large(), { list: Array.from({ length: 100_000 }, () => "x".repeat(100)) }),
  "large-output": () => console.log(large()),
  "many-lines": () => {
    for (let line = 0; line < 300_000; line++) console.log("x");
  },
  "large-metadata": (ctx) => {
    ctx.response.metadata["x-large"] = large();
  },
  "large-timer": () => void setTimeout(() => failWith(large())),
  post: () => {
    for (const message of GARBAGE) parentPort?.postMessage(message);
  },
  flood: () => {
    for (let sent = 0; sent < 200_000; sent++) parentPort?.postMessage(GARBAGE[sent % GARBAGE.length]);
  },
  stringify: () => {
    JSON.stringify = () => "not JSON";
    JSON.parse = () => null;
  },
  prototypes: () => {
    const own = { get: () => "own", set: () => {}, configurable: true };
    for (const name of ["kind", "meta", "tensors", "id"]) Object.defineProperty(Object.prototype, name, own);
    Array.prototype.map = () => [];
    Map.prototype.get = () => undefined;
    Uint8Array.prototype.subarray = () => new Uint8Array(0);
  },
  exit: () => process.exit(),
  hang: () => {
    for (;;);
  },
  port: () => {
    const { postMessage } = MessagePort.prototype;
    MessagePort.prototype.postMessage = function (this: MessagePort) {
      for (const message of GARBAGE) postMessage.call(this, message);
    };
  },
};

function failWith(text: string): never {
  throw new Error(text);
}

/** Does what the input asks for. */
export function preprocess(inputs: Tensors, ctx: HookContext): Tensors {
  const [name] = (inputs.x?.data ?? []) as readonly Uint8Array[];
  ACTS[Buffer.from(name ?? []).toString()]?.(ctx);
  return inputs;
}
