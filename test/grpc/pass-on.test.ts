import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2, constants } from "node:http2";
import { connect as connectSocket, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { AccessPolicy } from "../../src/access/access-policy.ts";
import { openAuthentication } from "../../src/access/authentication/open-authentication.ts";
import { TrustedProxies } from "../../src/access/trusted-proxies.ts";
import { ServingError } from "../../src/errors.ts";
import { ANSWERED_THERE } from "../../src/grpc/call-record.ts";
import { frameBytes } from "../../src/grpc/framed-message.ts";
import type { StreamMethod } from "../../src/grpc/grpc-route.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { markPassedOn } from "../../src/platform/net/sockets.ts";
import { authFiles, basic, bearer, TOKENS } from "../access/auth-fixture.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { listenOnFreePort } from "../http2/listen-on-free-port.ts";
import { type GrpcOptions, ScriptedService, serve } from "./scripted-service.ts";

const PATH = "/toy.Service/Stream";
const LOCAL = "127.0.0.1";

/** A server that passes all calls on to another one, which answers them by a method, and reports to a log. */
async function start(stream: StreamMethod, options: GrpcOptions = {}, log = createEventLog().log) {
  const protocols = [{ name: "toy", grpc: () => ({ routes: { [PATH]: { kind: "read" as const, stream } } }) }];
  const inner = await serve(new ScriptedService(), { protocols, port: "shared", log, accessLog: true });
  const listener = createServer((socket) => inner.accept(markPassedOn(socket)));
  const port = await listenOnFreePort(listener);
  onTestFinished(() => void listener.close());
  const sockets: Socket[] = [];
  const passOn = () => {
    const socket = connectSocket(port, "127.0.0.1");
    sockets.push(socket);
    return socket;
  };
  const outer = await serve(new ScriptedService(), { protocols, passOn, ...options });
  const session = connectHttp2(`http://${outer.address}`);
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  return { inner, listener, outer, sockets, session };
}

function begin(session: ClientHttp2Session, headers: Record<string, string | string[]> = {}) {
  const fixed = { ":method": "POST", ":path": PATH, "content-type": "application/grpc", te: "trailers" };
  const stream = session.request({ ...fixed, ...headers });
  return stream.on("error", () => {});
}

type Call = ReturnType<typeof begin>;

/** All that is answered. */
async function answerOf(stream: Call) {
  let trailers: Record<string, unknown> = {};
  stream.on("trailers", (received) => {
    trailers = received;
  });
  const [headers] = await once(stream, "response");
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return { headers, trailers, data: Buffer.concat(pieces) };
}

const echo: StreamMethod = async ({ messages, write, memory }) => {
  for await (const message of messages) {
    await write(frameBytes(message));
    memory.shrink(message.length);
  }
};

it.each([0, 1, 16_384, 3_000_000])("a message of %i bytes and its answer come whole", async (bytes) => {
  const { session } = await start(echo);
  const message = Buffer.concat(frameBytes(Buffer.alloc(bytes, "message")));
  const stream = begin(session);
  stream.end(message);
  const { headers, trailers, data } = await answerOf(stream);
  expect(headers[":status"]).toBe(200);
  expect(trailers["grpc-status"]).toBe("0");
  expect(data.equals(message)).toBe(true);
});

it("a call that has no room to be passed on is refused with the reason", async () => {
  const passOn = () => {
    throw new ServingError("unavailable", "no room");
  };
  const { session } = await start(echo, { passOn });
  const { headers } = await answerOf(begin(session));
  expect([headers["grpc-status"], headers["grpc-message"]]).toEqual(["14", "no%20room"]);
});

it("several values of a name stay several", async () => {
  const seen: unknown[] = [];
  const { session } = await start(async ({ metadata }) => {
    seen.push(metadata["x-many"], metadata["x-one"]);
  });
  const stream = begin(session, { "x-many": ["a", "b"], "x-one": "c" });
  stream.end();
  await answerOf(stream);
  expect(seen).toEqual(["a, b", "c"]);
});

it("trailers with several values of a name, of which one is empty, are no harm", async () => {
  const { session } = await start(echo);
  const fixed = { ":method": "POST", ":path": PATH, "content-type": "application/grpc", te: "trailers" };
  const stream = session.request(fixed, { waitForTrailers: true }).on("error", () => {});
  stream.on("wantTrailers", () => stream.sendTrailers({ "x-many": ["a", ""] }));
  stream.end();
  expect((await answerOf(stream)).trailers["grpc-status"]).toBe("0");
});

it("many calls at once keep apart, over one connection", async () => {
  const { session, sockets } = await start(echo);
  const answers = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const stream = begin(session);
      const message = Buffer.concat(frameBytes(Buffer.alloc(1000 * index, index)));
      stream.end(message);
      return (await answerOf(stream)).data.equals(message);
    }),
  );
  expect(answers.every(Boolean)).toBe(true);
  expect(sockets).toHaveLength(1);
});

it("messages go to and fro while a call lasts", async () => {
  const { session } = await start(echo);
  const stream = begin(session);
  for (const text of ["one", "two", "three"]) {
    const message = Buffer.concat(frameBytes(Buffer.from(text)));
    stream.write(message);
    const [data] = await once(stream, "data");
    expect((data as Buffer).equals(message)).toBe(true);
  }
  stream.end();
  await once(stream.resume(), "close");
});

it("an unknown method is refused as the other thread does", async () => {
  const { session } = await start(echo);
  const stream = begin(session, { ":path": "/toy.Service/Other" });
  stream.end();
  const [headers] = await once(stream.resume(), "response");
  expect(headers["grpc-status"]).toBe("12");
});

it("a client that reads nothing holds up the other thread, which goes on once it reads", async () => {
  const message = frameBytes(Buffer.alloc(500_000));
  let written = 0;
  const { session } = await start(async ({ write }) => {
    for (; written < 40; written++) await write(message);
  });
  const stream = begin(session);
  stream.end();
  await once(stream, "response");
  let before = -1;
  await expect
    .poll(() => {
      const isStill = written === before;
      before = written;
      return isStill;
    })
    .toBe(true);
  expect(written).toBeLessThan(40);
  let bytes = 0;
  for await (const piece of stream) bytes += (piece as Buffer).length;
  expect(bytes).toBe(40 * 500_005);
});

describe("a call of a user", () => {
  const users = async () => {
    const authentication = await openAuthentication(await authFiles(), { proxies: new TrustedProxies([]) });
    return { policy: new AccessPolicy({ authentication }), memory: new MemoryBudget(2 ** 24) };
  };

  it.each([
    ["who is known by a token", bearer(TOKENS.user), "user token:user"],
    ["who is known by a password", basic("alice", "open sesame"), "user alice"],
    ["whose password is wrong", basic("alice", "sesame"), LOCAL],
    ["who says nothing", undefined, LOCAL],
  ])("%s counts as that user's, or else as its address's", async (_, authorization, key) => {
    const { policy, memory } = await users();
    const { session } = await start(() => new Promise(() => {}), { policy, memory });
    const stream = begin(session, authorization === undefined ? {} : { authorization });
    stream.write(Buffer.concat([...frameBytes(Buffer.alloc(1)), ...frameBytes(Buffer.alloc(3_000_000))]));
    await expect.poll(() => memory.clients.of(key).bytes).toBeGreaterThan(100_000);
    stream.close(constants.NGHTTP2_CANCEL);
    await expect.poll(() => [memory.heldBytes, memory.clients.of(key).requests]).toEqual([0, 0]);
  });
});

const ANSWER_BYTES = 900_000;
const answer: StreamMethod = async ({ write }) => write(frameBytes(Buffer.alloc(ANSWER_BYTES)));

/** Calls whose answers are not taken until the client's windows are widened. */
async function startUnread(method: StreamMethod, options: GrpcOptions = {}) {
  const memory = new MemoryBudget(1.5 * ANSWER_BYTES);
  const { session } = await start(method, { memory, ...options });
  session.settings({ initialWindowSize: 0 });
  await once(session, "localSettings");
  return { memory, session };
}

it("an answer that its client does not take is counted until it does, and one without room is reset alone", async () => {
  const { memory, session } = await startUnread(answer);
  const first = begin(session).end();
  await expect.poll(() => memory.heldBytes).toBeGreaterThan(ANSWER_BYTES);
  const second = begin(session).end();
  await new Promise((resolve) => second.once("close", resolve));
  expect(second.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  session.settings({ initialWindowSize: 2 ** 20 });
  let bytes = 0;
  for await (const piece of first) bytes += (piece as Buffer).length;
  expect(bytes).toBe(ANSWER_BYTES + 5);
  await expect.poll(() => memory.heldBytes).toBe(0);
});

it("messages that the other thread does not read are counted until their client leaves, and a call without room is refused, with a line in the access log", async () => {
  const memory = new MemoryBudget(ANSWER_BYTES);
  const { log, find } = createEventLog();
  const { session } = await start(() => new Promise(() => {}), { memory, log, accessLog: true });
  // The stream is paused while the first one waits.
  const unread = Buffer.concat([...frameBytes(Buffer.alloc(1)), ...frameBytes(Buffer.alloc(3_000_000))]);
  const first = begin(session);
  first.write(unread);
  await expect.poll(() => memory.heldBytes).toBeGreaterThan(ANSWER_BYTES);
  const second = begin(session, { "x-request-id": "second" });
  second.write(unread);
  const [headers] = await once(second.resume(), "response");
  expect([headers["grpc-status"], headers["grpc-message"]]).toEqual([
    "14",
    expect.stringContaining("--max-queue-bytes"),
  ]);
  expect(await find({ requestId: "second" })).toMatchObject({ msg: "request", path: PATH, status: 14, client: LOCAL });
  first.close(constants.NGHTTP2_CANCEL);
  await expect.poll(() => memory.heldBytes).toBe(0);
});

it("a call that is refused here once it has begun there has one line in the log, as its client was answered", async () => {
  const { log, events, find } = createEventLog();
  const memory = new MemoryBudget(ANSWER_BYTES);
  let [begun, ended] = [0, 0];
  const method: StreamMethod = ({ signal }) => {
    begun++;
    return new Promise((resolve) => {
      signal.addEventListener("abort", () => {
        ended++;
        resolve();
      });
    });
  };
  const { session } = await start(method, { memory, log, accessLog: true }, log);
  const unread = Buffer.concat([...frameBytes(Buffer.alloc(1)), ...frameBytes(Buffer.alloc(3_000_000))]);
  const first = begin(session, { "x-request-id": "first" });
  first.write(unread);
  await expect.poll(() => memory.heldBytes).toBeGreaterThan(ANSWER_BYTES);
  const second = begin(session, { "x-request-id": "second" });
  await expect.poll(() => begun).toBe(2);
  second.write(unread);
  const [headers] = await once(second.resume(), "response");
  expect(headers["grpc-status"]).toBe("14");
  await expect.poll(() => ended).toBe(1);
  first.close(constants.NGHTTP2_CANCEL);
  await find({ requestId: "first" });
  expect(events.filter(({ requestId }) => requestId === "second")).toMatchObject([{ msg: "request", status: 14 }]);
});

it("a client that resets its call has it reported, whatever code it gives", async () => {
  const { log, find } = createEventLog();
  let begun = 0;
  const hang: StreamMethod = () => {
    begun++;
    return new Promise(() => {});
  };
  const { session } = await start(hang, { log, accessLog: true }, log);
  const stream = begin(session, { "x-request-id": "reset" });
  await expect.poll(() => begun).toBe(1);
  stream.close(ANSWERED_THERE);
  expect(await find({ requestId: "reset" })).toMatchObject({ msg: "request", status: 1 });
});

it("a call that is lost once it has begun there has one line in the log; so has one that never came there", async () => {
  const { log, events, find } = createEventLog();
  let begun = 0;
  const { session, sockets, listener } = await start(
    () => {
      begun++;
      return new Promise(() => {});
    },
    { log, accessLog: true },
    log,
  );
  const lost = begin(session, { "x-request-id": "lost" });
  await expect.poll(() => begun).toBe(1);
  sockets[0]?.destroy();
  await once(lost.resume(), "response");
  await find({ requestId: "lost" });
  listener.close();
  await once(begin(session, { "x-request-id": "nowhere" }).resume(), "response");
  expect(await find({ requestId: "nowhere" })).toMatchObject({ msg: "request", status: 14 });
  for (const id of ["lost", "nowhere"]) expect(events.filter(({ requestId }) => requestId === id)).toHaveLength(1);
});

it("a call whose client takes nothing is cut after a time, there too, and the connection goes on", async () => {
  let isAborted = false;
  const held: StreamMethod = async ({ write, signal }) => {
    await write(frameBytes(Buffer.alloc(ANSWER_BYTES)));
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    isAborted = true;
  };
  const { memory, session } = await startUnread(held, { sendTimeoutMs: 50 });
  const call = begin(session).end();
  await once(call, "close");
  expect(call.rstCode).toBe(constants.NGHTTP2_CANCEL);
  await expect.poll(() => [isAborted, memory.heldBytes]).toEqual([true, 0]);
  await new Promise((resolve) => session.ping(resolve));
});

it("a client that leaves ends the call there too", async () => {
  const reasons: unknown[] = [];
  let calls = 0;
  const { session } = await start(({ signal }) => {
    calls++;
    signal.addEventListener("abort", () => reasons.push(signal.reason));
    return new Promise(() => {});
  });
  const stream = begin(session);
  await expect.poll(() => calls).toBe(1);
  stream.close(constants.NGHTTP2_CANCEL);
  await expect.poll(() => reasons).toMatchObject([{ name: "AbortError" }]);
});

it("clients that leave without reading what was answered do not use up the connection's window", async () => {
  let answered = 0;
  const { session } = await start(async ({ write }) => {
    await write(frameBytes(Buffer.alloc(900_000)));
    answered++;
  });
  for (let call = 1; call <= 40; call++) {
    const stream = begin(session);
    stream.end();
    await expect.poll(() => answered, { interval: 1 }).toBe(call);
    await new Promise((resolve) => session.ping(resolve));
    stream.close(constants.NGHTTP2_CANCEL);
  }
  const last = begin(session);
  last.end();
  expect((await answerOf(last)).data).toHaveLength(900_005);
});

it("calls of a connection that is lost are answered as unavailable, and later ones take another", async () => {
  let calls = 0;
  const { session, sockets } = await start(async (call) => {
    if (++calls === 1) await new Promise(() => {});
    await echo(call);
  });
  const lost = begin(session);
  await expect.poll(() => calls).toBe(1);
  sockets[0]?.destroy();
  const [headers] = await once(lost.resume(), "response");
  expect(headers["grpc-status"]).toBe("14");
  const next = begin(session);
  next.end();
  expect((await answerOf(next)).trailers["grpc-status"]).toBe("0");
  expect(sockets).toHaveLength(2);
});

it("a connection that was asked to leave ends its calls, and later ones take another", async () => {
  const { session, sockets, inner } = await start(echo);
  const stream = begin(session);
  stream.write(Buffer.concat(frameBytes(Buffer.from("one"))));
  await once(stream, "data");
  inner.retire();
  // The server's GOAWAY comes before what it answers next.
  stream.write(Buffer.concat(frameBytes(Buffer.from("two"))));
  await once(stream, "data");
  const other = begin(session);
  other.end();
  await answerOf(other);
  expect(sockets).toHaveLength(2);
  stream.end();
  await once(stream.resume(), "close");
  await expect.poll(() => sockets[0]?.destroyed).toBe(true);
});
