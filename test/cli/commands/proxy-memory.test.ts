import { type ClientRequest, request } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { createServer } from "../../../src/server/server.ts";
import { smallContainer } from "../small-container.ts";
import { startKserving } from "../start-kserving.ts";

const MIB = 1024 ** 2;

/** Starts the program before a server without hooks; resolves with the URL of its model. */
async function startProxy(flags: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const { grpcAddress } = await createServer({ stages: [{ driver: "null" }] }).then((server) => {
    onTestFinished(() => server.close());
    return server;
  });
  const program = startKserving(["proxy", "--grpc-address", grpcAddress, "--http-port=0", ...flags], env);
  return `${(await program.event("ready")).http}/v1/models/default:predict`;
}

/** Sends a request of so many bytes; resolves with the start of its answer. */
async function send(url: string, bytes: number): Promise<{ readonly status: number; readonly text: string }> {
  const body = JSON.stringify({ inputs: { x: "a".repeat(bytes) } });
  const response = await fetch(url, { method: "POST", body });
  return { status: response.status, text: (await response.text()).slice(0, 200) };
}

/** Begins a request whose body does not end; again where it is refused, as it comes while another one is there. */
function sendHalf(url: string): { stop(): void } {
  let half: ClientRequest;
  const begin = () => {
    half = request(url, { method: "POST", headers: { "Content-Length": 3 * MIB } }).on("error", () => {});
    half.on("response", begin);
    half.write("a".repeat(2 * MIB));
  };
  begin();
  return { stop: () => half.destroy() };
}

test("the memory of a proxy's requests is limited, and free again when one leaves", async () => {
  const url = await startProxy(["--max-queue-bytes=4MB"]);
  const waiting = sendHalf(url);
  const refusal = { status: 503, text: expect.stringContaining("--max-queue-bytes 4194304") };
  await expect.poll(() => send(url, 1.5 * MIB)).toEqual(refusal);
  expect(await send(url, 1000)).toMatchObject({ status: 200 });
  waiting.stop();
  await expect.poll(async () => (await send(url, 1.5 * MIB)).status).toBe(200);
});

test("a proxy refuses large requests while its container has no memory for them", async () => {
  const container = smallContainer(1024 * MIB);
  container.use(1023.9 * MIB);
  const url = await startProxy([], container.env);
  const refusal = { status: 503, text: expect.stringContaining("The server's container has ") };
  expect(await send(url, MIB)).toEqual(refusal);
  expect(await send(url, 1000)).toMatchObject({ status: 200 });
  container.use(0);
  await expect.poll(async () => (await send(url, MIB)).status).toBe(200);
});

test("a small container has smaller bodies at a proxy too", async () => {
  const url = await startProxy([], smallContainer(16 * MIB).env);
  expect(await send(url, MIB)).toMatchObject({ status: 200 });
  expect(await send(url, 3 * MIB)).toMatchObject({ status: 413 });
});
