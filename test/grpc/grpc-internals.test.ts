import { once } from "node:events";
import { Server, type ServerInterceptingCallInterface } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { callInternals, hasReceivePlace, receiveInto, serverInternals } from "../../src/grpc/grpc-internals.ts";
import { createIntake } from "../../src/grpc/message-intake.ts";
import { SendWatch } from "../../src/grpc/send-watch.ts";
import { MemoryBudget } from "../../src/limits/memory-budget.ts";
import { openStream } from "./open-stream.ts";

it("are all there in the version that is installed", () => {
  const server = new Server();
  expect(serverInternals(server)).toBe(server);
  expect(hasReceivePlace()).toBe(true);
});

it.each(["commonServerOptions", "createHttp2Server"])("of a server without %s are none", (name) => {
  expect(serverInternals(Object.assign(new Server(), { [name]: undefined }))).toBeUndefined();
});

it("of a call of another version are none; its messages are left to grpc-js, with one warning", () => {
  const call = { sendStatus: () => {} } as unknown as ServerInterceptingCallInterface;
  expect(callInternals(call)).toBeUndefined();
  const warnings: string[] = [];
  const log = { warn: (message: string) => void warnings.push(message) };
  const limits = { maxMessageBytes: 1, memory: new MemoryBudget(1), messageTimeoutMs: 1, sends: new SendWatch(0) };
  const intercept = createIntake(limits, log as never);
  for (let calls = 0; calls < 2; calls++) expect(intercept({ path: "/a" } as never, call as never)).toBe(call);
  expect(warnings).toEqual([expect.stringContaining("@grpc/grpc-js")]);
});

it("of a stream let Node write what arrives where it is wanted, up to its end", async () => {
  const sent = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251));
  const received = Buffer.alloc(sent.length + 1);
  const { stream, request } = await openStream();
  let length = 0;
  const receiver = {
    // A different size each time, as any buffer may be smaller than what arrives.
    room: () => received.subarray(length, length + 1 + (length % 7000)),
    filled: (bytes: number) => {
      length += bytes;
    },
  };
  expect(receiveInto(stream, receiver)).toBe(true);
  stream.resume();
  request.end(sent);
  await once(stream, "end");
  expect(length).toBe(sent.length);
  expect(sent.compare(received, 0, length)).toBe(0);
});

it("of a stream that is destroyed are none; it stays as it is", async () => {
  const { stream } = await openStream();
  stream.destroy();
  await once(stream, "close");
  const receiver = { room: () => expect.unreachable(), filled: () => expect.unreachable() };
  expect(receiveInto(stream, receiver)).toBe(false);
});
