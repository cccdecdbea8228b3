import { once } from "node:events";
import { connect, createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { Server, type ServerInterceptingCallInterface } from "@grpc/grpc-js";
import { expect, it, onTestFinished } from "vitest";
import { callInternals, receiveInto, serverInternals } from "../../src/grpc/grpc-internals.ts";
import { createIntake } from "../../src/grpc/message-intake.ts";
import { MemoryBudget } from "../../src/serving/memory-budget.ts";

it("are all there in the version that is installed", () => {
  const server = new Server();
  expect(serverInternals(server)).toBe(server);
});

it.each(["commonServerOptions", "createHttp2Server"])("of a server without %s are none", (name) => {
  expect(serverInternals(Object.assign(new Server(), { [name]: undefined }))).toBeUndefined();
});

it("of a call of another version are none; its messages are left to grpc-js, with one warning", () => {
  const call = { sendStatus: () => {} } as unknown as ServerInterceptingCallInterface;
  expect(callInternals(call)).toBeUndefined();
  const warnings: string[] = [];
  const log = { warn: (message: string) => void warnings.push(message) };
  const limits = { maxMessageBytes: 1, memory: new MemoryBudget(1), messageTimeoutMs: 1 };
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

/** Both ends of a request whose body has not begun. */
async function openStream() {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    session.destroy();
    server.close();
  });
  const request = session.request({ ":method": "POST" });
  request.on("error", () => {});
  const [stream] = (await once(server, "stream")) as [ServerHttp2Stream];
  return { stream, request };
}
