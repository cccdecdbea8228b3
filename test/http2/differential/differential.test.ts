import { createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { FRAME } from "../../../src/http2/protocol.ts";
import { Random } from "../../grpc/random.ts";
import { listenOnFreePort } from "../listen-on-free-port.ts";
import { writeConversation } from "./conversation.ts";
import { compareServers, recordings } from "./differential.ts";
import { observe } from "./observe.ts";
import { type Servers, startServers } from "./servers.ts";

/** A few seconds; `npm run check -- http2-differential` takes minutes and another seed. */
const CONVERSATIONS = 400;
const LIMIT_MS = 60_000;
const QUIET_MS = 1000;

async function start(): Promise<Servers> {
  const servers = await startServers();
  onTestFinished(servers.close);
  return servers;
}

it("answers the recordings of real clients as node:http2 does", async () => {
  const { ours, nodes } = await start();
  for (const [name, pieces] of Object.entries(recordings())) {
    const bytes = writeConversation(pieces.filter(({ type }) => type !== FRAME.goaway));
    const [our, node] = await Promise.all(
      [ours, await nodes.port()].map((port) => observe(port, bytes, bytes.length, QUIET_MS)),
    );
    expect(our, name).toEqual(node);
    expect(our?.end).toBe("open");
    expect(
      Object.values(our?.streams ?? {}).some((text) => text.startsWith(":status 200")),
      name,
    ).toBe(true);
  }
});

it("does with changed ones what node:http2 does, but for what RFC 9113 explains", { timeout: LIMIT_MS }, async () => {
  const result = await compareServers(await start(), new Random(11), (count) => count < CONVERSATIONS);
  expect(result.unexplained).toEqual([]);
});

it("shows a difference with the frames that it takes", { timeout: LIMIT_MS }, async () => {
  const servers = await start();
  const broken = createServer((socket) => void socket.on("error", () => {}).destroy());
  const port = await listenOnFreePort(broken);
  onTestFinished(() => void broken.close());
  const nodes = { port: () => Promise.resolve(port), deaths: 0 };
  // One that says nothing is as open as one that answers.
  const different = { ...servers, nodes, doubtMs: 60 };
  const { unexplained } = await compareServers(different, new Random(11), (count) => count < 40);
  const frames = [expect.stringContaining("settings flags 0")];
  expect(unexplained).toContainEqual({ what: "ours: open | node: closed", frames });
});
