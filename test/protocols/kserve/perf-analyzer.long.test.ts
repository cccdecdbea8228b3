import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import { findPerfAnalyzer } from "../../helpers/find-perf-analyzer.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const run = promisify(execFile);
const analyzer = findPerfAnalyzer();
const LIMIT_MS = 60_000;
const BATCHED = { path: "test/fixtures/models/matmul-dynamic-batch.onnx", options: { max_batch_size: "8" } };
const PLAIN = { path: "test/fixtures/models/half-plus-two.onnx", options: {} };

/** Runs the program for three short windows, whatever their figures are; returns its report's one row by column. */
async function analyze(address: string, flags: readonly string[]): Promise<Record<string, number>> {
  const report = join(tempFolder(), "report.csv");
  const windows = ["--measurement-mode", "count_windows", "--measurement-request-count", "20", "-s", "999", "-r", "5"];
  const { path, env } = analyzer as NonNullable<typeof analyzer>;
  await run(path, ["-m", "default", "-u", address, ...flags, ...windows, "-f", report], { env, timeout: LIMIT_MS });
  const [names = [], values = []] = readFileSync(report, "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split(","));
  return Object.fromEntries(names.map((name, index) => [name, Number(values[index])]));
}

describe.skipIf(analyzer === undefined)("perf_analyzer measures, with the server's own statistics,", () => {
  it.each([
    ["over gRPC", "grpc", PLAIN, ["-i", "grpc", "--shape", "x:8"]],
    ["over HTTP", "http", PLAIN, ["-i", "http", "--shape", "x:8"]],
    ["over a gRPC stream", "grpc", PLAIN, ["-i", "grpc", "--streaming", "--shape", "x:8"]],
    ["with batches, four requests at a time", "grpc", BATCHED, ["-i", "grpc", "-b", "2", "--concurrency-range", "4"]],
  ] as const)("%s", { timeout: LIMIT_MS }, async (_, wire, { path, options }, flags) => {
    const { grpcAddress, httpUrl } = await startServer({ stages: [{ driver: "onnx", path }], options });
    const address = wire === "grpc" ? grpcAddress : new URL(httpUrl).host;
    const report = await analyze(address, flags);
    expect(report["Inferences/Second"]).toBeGreaterThan(0);
    expect(report["Server Compute Infer"]).toBeGreaterThan(0);
    expect(report["Server Compute Input"]).toBeGreaterThan(0);
    expect(report["Server Queue"]).toBeGreaterThanOrEqual(0);
    expect(report["Server Compute Output"]).toBeGreaterThanOrEqual(0);
  });

  it("of hooks that answer without a model", { timeout: LIMIT_MS }, async () => {
    const inputs = [{ name: "x", dtype: "float32", shape: [-1] }] as const;
    const hooks: Hooks = { inputs, preprocess: ({ x }) => ({ x: x ?? 0 }) };
    const { grpcAddress } = await startServer({ stages: [{ driver: "null" }], hooks });
    const report = await analyze(grpcAddress, ["-i", "grpc", "--shape", "x:8"]);
    expect(report["Inferences/Second"]).toBeGreaterThan(0);
  });
});
