import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** Bytes per second of the other server: more than the default asks for, and less than this one. */
const SENT_EACH_MS = 10;
const MIN_CLIENT_RATE = 100_000;

/** A server that never comes to the end of its answers; returns its address. */
async function startSlow(): Promise<string> {
  const server = createServer();
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    stream.write(Buffer.of(0, 0, 0x80, 0, 0));
    const sending = setInterval(() => stream.write(Buffer.alloc(100 * SENT_EACH_MS)), 100);
    stream.once("close", () => clearInterval(sending));
  });
  server.on("sessionError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Asks a server with so many hook threads, whose hook calls the slow one. */
async function answerOf(workers: number): Promise<readonly [status: number, text: string]> {
  const address = await startSlow();
  const code = `export default { preprocess: (inputs, ctx) => ctx.remote("${address}").predict(inputs) };`;
  const hooks = join(tempFolder({ "hooks.ts": code }), "hooks.ts");
  const { httpUrl } = await startServer({
    stages: [{ driver: "null" }],
    hooks,
    workers,
    hookTimeoutMs: 0,
    minClientRate: MIN_CLIENT_RATE,
  });
  const answer = await fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body: '{"instances": [1]}' });
  return [answer.status, await answer.text()];
}

test("a server that a hook calls sends its answer at --min-client-rate, in hook threads and without", async () => {
  const refused = [504, expect.stringContaining(`sends less than ${MIN_CLIENT_RATE} bytes per second`)];
  // Both wait for the half minute that a client has at first.
  expect(await Promise.all([1, 0].map(answerOf))).toEqual([refused, refused]);
});
