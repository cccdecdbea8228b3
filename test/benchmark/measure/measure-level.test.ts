import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { benchNotes } from "../../../src/benchmark/bench-table.ts";
import { isSilent } from "../../../src/benchmark/measure/level.ts";
import { measureLevel } from "../../../src/benchmark/measure/measure-level.ts";

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
