import { expect, it } from "vitest";
import { FRAME } from "../../src/http2/protocol.ts";
import type { ServerSession } from "../../src/http2/server-session.ts";
import { RawClient, REQUEST, startSessions } from "./raw-client.ts";

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
function sendCalls(client: RawClient, path: string, calls = CALLS): void {
  client.socket.cork();
  for (let call = 0; call < calls; call++) client.sendHeaders(2 * call + 1, { ...REQUEST, ":path": path });
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
