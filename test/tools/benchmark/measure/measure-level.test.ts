import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { LoadJob } from "../../../../src/tools/benchmark/load/load-job.ts";
import { isSilent } from "../../../../src/tools/benchmark/measure/level.ts";
import { isStable, loadBatches, measureLevel } from "../../../../src/tools/benchmark/measure/measure-level.ts";
import { Window } from "../../../../src/tools/benchmark/measure/window.ts";
import { benchNotes } from "../../../../src/tools/benchmark/report.ts";

/** The result of a level on a server that answers so many requests, and none after them. */
async function measureMute(answers: number) {
  let asked = 0;
  const server = createServer((request, response) => {
    request.resume();
    if (asked++ < answers) response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  onTestFinished(() => server.closeAllConnections());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const request = { path: "/", headers: {}, body: Buffer.from("ask"), connections: 1 };
  const target = { protocol: "http", origin, ...request } as const;
  const signal = AbortSignal.timeout(10_000);
  const measuring = { threads: 1, warmUpSeconds: 0, windowSeconds: 0.2, maxWindows: 10, signal };
  const result = await measureLevel(target, { concurrency: 2 }, measuring);
  return { result, isOver: !signal.aborted };
}

test.each([0, 3])(
  "a measurement ends where a server answers %i requests and is silent from then on",
  async (answers) => {
    const { result, isOver } = await measureMute(answers);
    expect([isOver, result.requests, isSilent(result)]).toEqual([true, answers, true]);
    expect(benchNotes([result])).toEqual([expect.stringMatching(/No request was answered .* at 2; .*--window/)]);
  },
);

/** A second with so many requests of so many milliseconds each. */
function windowOf(requests: number, ms: number): Window {
  const window = new Window(1);
  const latenciesMs = new Float64Array(requests).fill(ms);
  window.add({ seconds: 1, latenciesMs, failures: {}, busyShare: 0.5, backlog: 0 });
  return window;
}

test("a measurement is stable once its last three windows agree within 10 % in requests and latency", () => {
  const steady = [windowOf(100, 10), windowOf(105, 10.5), windowOf(98, 9.8)];
  expect(isStable(steady)).toBe(true);
  expect(isStable([windowOf(10, 90), ...steady])).toBe(true);
  expect(isStable(steady.slice(1))).toBe(false);
  expect(isStable([...steady, windowOf(70, 10)])).toBe(false);
  expect(isStable([...steady, windowOf(100, 14)])).toBe(false);
  expect(isStable([windowOf(0, 0), windowOf(0, 0), windowOf(0, 0)])).toBe(false);
});

test("windows of several threads count each second once", () => {
  const window = new Window(2);
  const share = { seconds: 1, latenciesMs: new Float64Array(50).fill(3), failures: { "status 503": 2 }, backlog: 0 };
  window.add({ ...share, busyShare: 0.2 });
  window.add({ ...share, busyShare: 0.6 });
  expect([window.seconds, window.requestsPerSecond, window.busyShare]).toEqual([1, 100, 0.4]);
  expect([window.percentileMs(0.99), Object.fromEntries(window.failures)]).toEqual([3, { "status 503": 4 }]);
});

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
