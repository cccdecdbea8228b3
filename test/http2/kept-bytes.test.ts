import { once } from "node:events";
import { type ClientHttp2Session, constants } from "node:http2";
import { expect, it, onTestFinished } from "vitest";
import { AccessPolicy } from "../../src/access/access-policy.ts";
import type { CallScope } from "../../src/access/call-scope.ts";
import { ServingError } from "../../src/errors.ts";
import { frameBytes } from "../../src/grpc/framed-message.ts";
import type { CallInfo } from "../../src/grpc/grpc-route.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { ScriptedService, serve } from "../grpc/scripted-service.ts";
import { connectHttp2 } from "../proxy/http2-client.ts";
import { serveHttp } from "../proxy/serve-http.ts";

const [STREAM, INFER] = ["/toy.Service/Stream", "/inference.GRPCInferenceService/ModelInfer"];
const PREDICT = "/v1/models/m:predict";
/** More than the window of a stream, most of that, and memory for one. */
const BODY = Buffer.alloc(3_000_000);
const [MOST_BYTES, MEMORY_BYTES] = [900_000, 1_200_000];

/** Finds out for as long as a test wants who calls. */
class SlowPolicy extends AccessPolicy {
  readonly found = createDeferred<CallScope>();

  override enter(): Promise<CallScope> {
    return this.found.promise;
  }
}

function begin(session: ClientHttp2Session, path: string, body: Uint8Array) {
  const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
  const stream = session.request(path === PREDICT ? { ":method": "POST", ":path": path } : headers);
  stream.on("error", () => {}).write(body);
  return stream;
}

/** Reads no messages. */
function untilOver({ signal }: Pick<CallInfo, "signal">): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}

async function expectRefusal(session: ClientHttp2Session, path: string, body: Uint8Array): Promise<void> {
  const [headers] = await once(begin(session, path, body).resume(), "response");
  const { "grpc-status": status, "grpc-message": message } = headers;
  expect([status, message]).toEqual(["14", expect.stringContaining("--max-queue-bytes")]);
}

it("counts what a client sends ahead of the messages that a call reads, and refuses a call without room", async () => {
  const memory = new MemoryBudget(MEMORY_BYTES);
  const routes = { [STREAM]: { kind: "read", stream: untilOver } } as const;
  const protocols = [{ name: "toy", grpc: () => ({ routes }) }];
  const { address } = await serve(new ScriptedService(), { memory, protocols });
  const session = connectHttp2(`http://${address}`);
  // The stream is paused while the first message waits.
  const unread = Buffer.concat([...frameBytes(Buffer.alloc(1)), ...frameBytes(BODY)]);
  const first = begin(session, STREAM, unread);
  await expect.poll(() => memory.heldBytes).toBeGreaterThan(MOST_BYTES);
  await expectRefusal(session, STREAM, unread);
  first.close(constants.NGHTTP2_CANCEL);
  await expect.poll(() => memory.heldBytes).toBe(0);
});

it("counts what comes of a call while it is found out who calls", async () => {
  const [memory, policy] = [new MemoryBudget(MEMORY_BYTES), new SlowPolicy()];
  const { address } = await serve(new ScriptedService(), { memory, policy });
  const session = connectHttp2(`http://${address}`);
  const message = Buffer.concat(frameBytes(BODY));
  const first = begin(session, INFER, message).resume();
  await expect.poll(() => memory.heldBytes).toBeGreaterThan(MOST_BYTES);
  await expectRefusal(session, INFER, message);
  policy.found.reject(new ServingError("unauthenticated", "nobody"));
  await once(first, "response");
  await expect.poll(() => memory.heldBytes).toBe(0);
});

it("counts the body of a request over HTTP/2 that is not read yet, and resets one without room", async () => {
  const [memory, policy] = [new MemoryBudget(MEMORY_BYTES), new SlowPolicy()];
  onTestFinished(() => policy.found.reject(new ServingError("unauthenticated", "nobody")));
  const { url } = await serveHttp(new ScriptedService(), { memory, policy });
  const session = connectHttp2(url);
  const first = begin(session, PREDICT, BODY);
  await expect.poll(() => memory.heldBytes).toBeGreaterThan(MOST_BYTES);
  const second = begin(session, PREDICT, BODY);
  await new Promise((resolve) => second.once("close", resolve));
  expect(second.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  const held = memory.heldBytes;
  first.close(constants.NGHTTP2_CANCEL);
  await expect.poll(() => memory.heldBytes).toBeLessThan(held / 2);
});

it("counts a body once, whose memory goes back with its request", async () => {
  const [memory, policy] = [new MemoryBudget(MEMORY_BYTES), new SlowPolicy()];
  const { url } = await serveHttp(new ScriptedService(), { memory, policy });
  const session = connectHttp2(url);
  const stream = begin(session, PREDICT, BODY);
  await expect.poll(() => memory.heldBytes).toBeGreaterThan(MOST_BYTES);
  policy.found.reject(new ServingError("unauthenticated", "nobody"));
  const [headers] = await once(stream.resume(), "response");
  expect(headers[":status"]).toBe(401);
  await expect.poll(() => memory.heldBytes).toBe(0);
});
