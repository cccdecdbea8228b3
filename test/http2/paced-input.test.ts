import { connect } from "node:http2";
import { createServer } from "node:tls";
import { expect, it, type MockInstance, onTestFinished, vi } from "vitest";
import { FRAME } from "../../src/http2/protocol.ts";
import { ServerSession } from "../../src/http2/server-session.ts";
import { tlsFile } from "../helpers/tls-fixture.ts";
import { listenOnFreePort } from "./listen-on-free-port.ts";
import { LIMITS, RawClient, REQUEST, startSessions } from "./raw-client.ts";

const CALLS = 100;

function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

/** A server of which each call takes two milliseconds of the thread; `begun` has the paths of its calls. */
async function start(onCall: (session: ServerSession) => void = () => {}) {
  const begun: string[] = [];
  const port = await startSessions((session) => {
    session.on("stream", (stream, { byName }) => {
      begun.push(byName[":path"] as string);
      work(2);
      stream.respond({ ":status": 200 }, true);
      onCall(session);
    });
  });
  return { begun, port };
}

/** Sends all calls in one write. */
function sendCalls(client: RawClient, path: string, calls = CALLS, first = 0): void {
  client.socket.cork();
  for (let call = first; call < first + calls; call++) client.sendHeaders(2 * call + 1, { ...REQUEST, ":path": path });
  client.socket.uncork();
}

it("lets calls of other connections come between those of one read", async () => {
  const { begun, port } = await start();
  const busy = await RawClient.open(port);
  const others = await Promise.all(Array.from({ length: 3 }, () => RawClient.open(port)));
  sendCalls(busy, "/busy");
  for (const other of others) sendCalls(other, "/other", 1);
  await Promise.all(others.map((other) => other.receive(({ type }) => type === FRAME.headers)));
  expect(begun.lastIndexOf("/other")).toBeLessThan(CALLS / 2);
  const last = ({ type, id }: { type: number; id: number }) => type === FRAME.headers && id === 2 * CALLS - 1;
  await busy.receive(last);
  expect(begun.filter((path) => path === "/busy")).toHaveLength(CALLS);
});

it("takes the fewer calls at once the more work follows from each", async () => {
  // A clock that goes on by the calls' work alone.
  let clockMs = 1;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => clockMs);
  onTestFinished(() => clock.mockRestore());
  const calls = 400;
  let [begun, most] = [0, 0];
  const open = (session: ServerSession) => {
    session.on("stream", async (stream) => {
      clockMs += 0.01;
      begun++;
      await undefined;
      most = Math.max(most, begun);
      begun = 0;
      clockMs += 1;
      stream.respond({ ":status": 200 }, true);
    });
  };
  const port = await startSessions(open, { ...LIMITS, maxConcurrentStreams: calls });
  const client = await RawClient.open(port);
  for (const batch of [0, 1]) {
    most = 0;
    sendCalls(client, "/busy", calls, batch * calls);
    const last = 2 * (batch + 1) * calls - 1;
    await client.receive(({ type, id }) => type === FRAME.headers && id === last);
  }
  expect(most).toBeLessThan(60);
});

it("begins no call that has come with others once the connection has ended", async () => {
  const ended = 20;
  const { begun, port } = await start((session) => {
    if (begun.length === ended) session.destroy();
  });
  const client = await RawClient.open(port);
  sendCalls(client, "/busy");
  await client.closed();
  expect(begun).toHaveLength(ended);
});

it("takes encrypted data in its order, with what a paused connection still delivers", async () => {
  const received: Buffer[] = [];
  let pause: MockInstance | undefined;
  const credentials = { key: tlsFile("server.key"), cert: tlsFile("server.pem"), ALPNProtocols: ["h2"] };
  const server = createServer(credentials, (socket) => {
    pause = vi.spyOn(socket, "pause");
    new ServerSession(socket, LIMITS).on("stream", (stream) => {
      const end = () => stream.respond({ ":status": 200 }, true);
      const take = (bytes: Buffer, start: number, stop: number) => {
        received.push(Buffer.from(bytes.subarray(start, stop)));
        work(3);
      };
      stream.receiveInto({ take, end });
    });
  });
  const client = connect(`https://127.0.0.1:${await listenOnFreePort(server)}`, { rejectUnauthorized: false });
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const sent = Buffer.from(Array.from({ length: 2_000_000 }, (_, index) => index % 251));
  const request = client.request({ ":method": "POST" });
  request.end(sent);
  await new Promise((resolve) => request.on("response", resolve));
  expect(pause).toHaveBeenCalled();
  expect(Buffer.concat(received).equals(sent)).toBe(true);
});
