import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { loadBatches } from "../../../src/benchmark/load/load-batches.ts";
import type { LoadJob } from "../../../src/benchmark/load/load-job.ts";
import { Window } from "../../../src/benchmark/measure/window.ts";

/** A server of plain HTTP, and the load's target on it. */
async function startTarget(listener: RequestListener): Promise<LoadJob["target"]> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    protocol: "http",
    ...{ origin: `http://127.0.0.1:${port}`, path: "/", headers: {}, body: Buffer.from("ask"), connections: 1 },
  };
}

/** The measurements of a load until they suffice. */
async function measure(job: LoadJob, isEnough: (window: Window) => boolean, threads = 1): Promise<Window> {
  const window = new Window(threads);
  for await (const batch of loadBatches(job, threads, new AbortController().signal)) {
    window.add(batch);
    if (isEnough(window)) break;
  }
  return window;
}

test("a closed load keeps so many requests open, and no more", async () => {
  const bodies = new Set<string>();
  const open: ServerResponse[] = [];
  let most = 0;
  const answerAll = () => {
    for (const response of open.splice(0)) response.end("answer");
  };
  const target = await startTarget((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      bodies.add(body);
      most = Math.max(most, open.push(response));
      if (open.length === 7) setTimeout(answerAll, 5);
    });
  });
  const window = await measure({ target, concurrency: 7 }, ({ requests }) => requests > 50, 2);
  expect([most, [...bodies], window.failures.size]).toEqual([7, ["ask"], 0]);
  expect(window.percentileMs(0.5)).toBeGreaterThan(4);
});

test("an open load has the wait of every request that was due while the server hung", async () => {
  let stopped: Promise<void> | undefined;
  let asked = 0;
  const target = await startTarget(async (request, response) => {
    request.resume();
    asked++;
    if (asked === 10) stopped = new Promise((resolve) => setTimeout(resolve, 500));
    await stopped;
    response.end();
  });
  // With one request at a time, a load that counts from the sending would see a single slow one.
  const window = await measure({ target, concurrency: 1, rate: 100 }, ({ requests }) => requests >= 80);
  const slow = window.sorted().filter((ms) => ms > 100);
  expect(slow.length).toBeGreaterThan(25);
});

test("what fails is counted by its reason, and has no latency", async () => {
  let asked = 0;
  const target = await startTarget((request, response) => {
    request.resume();
    asked++;
    if (asked % 3 === 0) request.socket.destroy();
    else response.writeHead(asked % 3 === 1 ? 200 : 503).end();
  });
  const window = await measure(
    { target, concurrency: 1 },
    ({ failures, requests }) => requests > 2 && failures.size > 1,
  );
  expect([...window.failures.keys()].sort()).toEqual(["ECONNRESET", "status 503"]);
});
