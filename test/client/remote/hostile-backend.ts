import { once } from "node:events";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished } from "vitest";
import { createRemoteService } from "../../../src/client/remote/remote-service.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";
import type { MemoryShare } from "../../../src/platform/limits/memory/memory-share.ts";
import type { PartSink } from "../../../src/serving/inference-service.ts";
import { createTensor, createTensors } from "../../../src/tensor/tensor.ts";

/** The most that an answer may have, and that all requests may hold. */
export const MAX_BYTES = 10_000_000;

/** A message as gRPC sends it. */
export function frame(message: Uint8Array, isCompressed = false): Buffer {
  const prefix = Buffer.from([isCompressed ? 1 : 0, 0, 0, 0, 0]);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Rules of a span that a test can wait for. */
export const RULES = { minClientRate: 10_000, spanMs: 300 };

/** Wishes of a request beside the usual. */
interface Asked {
  /** False for one of a hook. */
  readonly countsMemory?: boolean;
  readonly parts?: PartSink;
  /** Numbers that it sends. */
  readonly numbers?: number;
  /** Default: memory of its own. */
  readonly share?: MemoryShare;
}

/** A backend that answers each call as it likes, and requests to it. */
export async function startBackend(answer: (stream: ServerHttp2Stream) => void) {
  const backend = createServer({ maxSessionMemory: 1000 });
  backend.on("stream", (stream) => {
    stream.on("error", () => {});
    answer(stream);
  });
  backend.on("sessionError", () => {});
  backend.listen(0, "127.0.0.1");
  await once(backend, "listening");
  const address = `127.0.0.1:${(backend.address() as AddressInfo).port}`;
  const remote = createRemoteService(address, { maxMessageBytes: MAX_BYTES });
  onTestFinished(async () => {
    await remote.close();
    backend.close();
  });
  const memory = new MemoryBudget(MAX_BYTES);
  memory.overload.configure(RULES);
  const infer = async ({ countsMemory = true, parts, numbers = 1, share = memory.open(0, "a") }: Asked = {}) => {
    const signal = new AbortController().signal;
    const tensor = createTensor("float32", [numbers], new Float32Array(numbers));
    const inputs = { kind: "tensors", tensors: createTensors([["x", tensor]]) } as const;
    try {
      const call = { id: "1", metadata: {}, signal, ...(countsMemory && { memory: share }) };
      return await remote.infer({ ref: { model: "" }, signature: "", inputs, parts, call });
    } finally {
      share.release();
    }
  };
  return { infer, memory, address, remote };
}

/** Begins an answer. */
export function begin(stream: ServerHttp2Stream, headers: Record<string, string> = {}): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc", ...headers }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
}

/** Sends a byte now and then. */
export function drip(stream: ServerHttp2Stream): void {
  const sending = setInterval(() => stream.write(Buffer.alloc(1)), 50);
  stream.once("close", () => clearInterval(sending));
}

/** Sends each byte in a frame, the last one once so many bytes are held for the others; resolves with those. */
export async function sendInPieces(
  stream: ServerHttp2Stream,
  message: Uint8Array,
  { memory, bytes }: { readonly memory: MemoryBudget; readonly bytes: number },
): Promise<number> {
  for (const byte of message.subarray(0, -1)) {
    stream.write(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  for (const end = performance.now() + 5000; memory.heldBytes < bytes && performance.now() < end; )
    await new Promise(setImmediate);
  const { heldBytes } = memory;
  stream.write(message.subarray(-1));
  return heldBytes;
}

/** The error for a backend that sends too little over time. */
export const TOO_SLOW = {
  code: "deadline_exceeded",
  message: expect.stringMatching(/^The server behind this one sends less than 10000 bytes per second/),
};

/** The codes with which requests ended. */
export async function codesOf(answers: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const ended = await Promise.allSettled(answers);
  return ended.map((answer) => (answer.status === "rejected" ? answer.reason.code : "ok"));
}

/** The most that is held until something has ended. */
export async function mostHeld(memory: MemoryBudget, until: Promise<unknown>): Promise<number> {
  let most = 0;
  const look = setInterval(() => {
    most = Math.max(most, memory.heldBytes);
  }, 1);
  await until.catch(() => {});
  clearInterval(look);
  return most;
}
