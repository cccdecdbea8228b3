import { connect, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { frameBytes } from "../../../src/grpc/framed-message.ts";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import { makeFrame } from "../../../src/http2/frame-output.ts";
import { FLAG, FRAME } from "../../../src/http2/protocol.ts";
import { StreamTurns } from "../../../src/platform/limits/stream-turns.ts";
import { OPENING, toBlock } from "../../grpc/flood-frames.ts";
import { startNullServer } from "../../grpc/start-null-server.ts";
import { kserveOracle } from "../../protocols/kserve/kserve-oracle.ts";

/** Makes parts without end, and notes the turn of each. */
async function makeParts(
  answer: string,
  parts: number,
  note: (answer: string) => void,
  client?: number,
): Promise<void> {
  const turns = new StreamTurns(client);
  for (let part = 0; part < parts; part++) {
    const turn = turns.next();
    if (turn !== undefined) await turn;
    note(answer);
  }
}

it("lets the event loop turn after a few parts of all answers together, which take turns then", async () => {
  await nextTurn();
  const noted: string[] = [];
  const answers = ["a", "b", "c"].map((answer) => makeParts(answer, 40, (name) => noted.push(name)));
  expect(noted.join("")).toBe("a".repeat(4));
  await Promise.all(answers);
  expect(noted.length).toBe(120);
  // Each turn gives each of them as many.
  expect(noted.indexOf("c")).toBeLessThan(noted.lastIndexOf("b"));
  expect(noted.indexOf("b")).toBeLessThan(60);
});

it("lets a client with one answer go on beside one with a thousand", async () => {
  await nextTurn();
  let count = 0;
  const many = Array.from({ length: 1000 }, () => makeParts("many", 4, () => count++, 1));
  const noted: number[] = [];
  await makeParts("one", 4, () => noted.push(count), 2);
  // Of the many, those that go on in the same turns.
  expect(noted.at(-1)).toBeLessThanOrEqual(5 * 32);
  await Promise.all(many);
  expect(count).toBe(4000);
});

it("lets what waits go on beside any number of ends", async () => {
  await nextTurn();
  const noted: string[] = [];
  const turns = new StreamTurns(1);
  for (let part = 0; part < 4; part++) expect(turns.next()).toBeUndefined();
  const ends = Array.from({ length: 100 }, async () => {
    await StreamTurns.end(2);
    noted.push("end");
  });
  await turns.next();
  noted.push("part");
  await Promise.all(ends);
  expect([noted.indexOf("part"), noted.length]).toEqual([3, 101]);
});

it("lets each of a thousand answers go on, 32 in a turn at most", async () => {
  await nextTurn();
  let count = 0;
  const answers = Array.from({ length: 1000 }, () => makeParts("any", 1, () => count++));
  const counts = [count];
  while (count < 1000) {
    await nextTurn();
    counts.push(count);
  }
  await Promise.all(answers);
  expect(counts[0]).toBeLessThanOrEqual(32);
  expect(counts.length).toBeGreaterThan(30);
});

const STREAMS = 200;
const BODY = JSON.stringify({ inputs: [{ name: "x", datatype: "INT32", shape: [1], data: [1] }] });
const HTTP = `POST /v2/models/default/infer_stream HTTP/1.1\r\nhost: x\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`;

/** Calls of ModelStreamInfer on one connection. */
function grpcCalls(): Buffer {
  const inputs = [{ name: "x", datatype: "INT32", shape: [1] }];
  const request = { model_name: "default", inputs, raw_input_contents: [Buffer.alloc(4)] };
  const message = Buffer.concat(frameBytes(kserveOracle.encodeRequest(request)));
  const block = toBlock("/inference.GRPCInferenceService/ModelStreamInfer");
  const calls = Array.from({ length: STREAMS }, (_, index) => [
    makeFrame(FRAME.headers, FLAG.endHeaders, 2 * index + 1, block),
    makeFrame(FRAME.data, 0, 2 * index + 1, message),
  ]);
  return Buffer.concat([OPENING, ...calls.flat()]);
}

it.each<[string, number, (ports: { http: number; grpc: number }) => Socket, string | Buffer]>([
  ["one connection of gRPC", 1, ({ grpc }) => connect(grpc), grpcCalls()],
  ["as many connections of HTTP", STREAMS, ({ http }) => connect(http), HTTP],
])("ends answers that are left together, on %s, in several turns", async (_, connections, open, requests) => {
  const ends: number[] = [];
  let [begun, turn] = [0, 0];
  const hooks = defineHooks({
    async *process(inputs, { signal }) {
      try {
        begun++;
        yield inputs;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        ends.push(turn);
      }
    },
  });
  const server = await startNullServer({ hooks, http: {} });
  const ports = {
    http: Number(new URL(server.httpUrl as string).port),
    grpc: Number(server.grpcAddress.split(":")[1]),
  };
  const sockets = Array.from({ length: connections }, () => open(ports).resume());
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  for (const socket of sockets) socket.write(requests);
  await expect.poll(() => begun).toBe(STREAMS);
  for (const socket of sockets) socket.destroy();
  for (; ends.length < STREAMS; turn++) await nextTurn();
  const most = Math.max(...ends.map((end) => ends.filter((other) => other === end).length));
  // A turn begins with those that the one before has left to it.
  expect(most).toBeLessThanOrEqual(2 * 32);
  await expect.poll(() => server.inFlight()).toEqual([]);
});
