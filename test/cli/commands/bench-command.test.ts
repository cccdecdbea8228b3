import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import { createServer, type Server } from "../../../src/server/server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { runCommand } from "./run-command.ts";

const half = fileURLToPath(new URL("../../fixtures/models/half-plus-two.onnx", import.meta.url));
const SHORT = ["--warm-up", "0", "--window", "0.1", "--max-windows", "3"];

let server: Server;
beforeAll(async () => {
  const odd = { process: () => Promise.reject(new Error("no")) };
  const models = { half: { path: half }, odd: { path: half, hooks: odd }, any: { driver: "null" } };
  server = await createServer({ models, http: {} });
  return () => server.close();
});

async function bench(...args: string[]) {
  return runCommand(["bench", ...args, ...SHORT]);
}

test.each(["grpc", "http"] as const)("bench measures a model of a server over %s", async (protocol) => {
  const address = protocol === "grpc" ? `grpc://${server.grpcAddress}/half` : `${server.httpUrl}/v2/models/half`;
  const { code, stdout } = await bench(address, "--concurrency", "1,2", "--shape", "x=3", "--json");
  const { levels, ...rest } = JSON.parse(stdout);
  expect([code, rest]).toEqual([0, { address }]);
  expect(levels).toHaveLength(2);
  for (const [index, level] of levels.entries()) {
    expect(level).toMatchObject({ concurrency: index + 1, failures: {}, clientShare: expect.any(Number), backlog: 0 });
    expect(level.requests).toBeGreaterThan(0);
    expect(level.latencyMs.p50).toBeLessThanOrEqual(level.latencyMs.p99);
    expect(level.requestsPerSecond).toBeCloseTo(level.requests / level.seconds);
  }
});

test("bench serves a model itself, and prints a table", async () => {
  const report = join(tempFolder({}), "report.html");
  // A busy machine may have no answer for half a second.
  const windows = ["--warm-up", "0", "--window", "0.5", "--max-windows", "3"];
  const flags = ["--rate", "500", "--goal", "p50=60s", "--report", report, ...windows];
  const { code, stdout } = await runCommand(["bench", half, ...flags]);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^grpc:\/\/127\.0\.0\.1:\d+\/half-plus-two, ONNX Runtime/)]);
  expect(stdout).toMatch(/^Rate +Requests\/s +p50 ms .*\n500\/s +\d/m);
  expect(readFileSync(report, "utf8")).toMatch(/<h1>grpc:.*half-plus-two<\/h1>[\s\S]*<td>500\/s<\/td>/);
});

test("bench ends with 1 where requests fail after the first, or a goal is missed", async () => {
  const { code, stderr } = await bench(`grpc://${server.grpcAddress}/half`, "--goal", "p50=0.001us");
  expect([code, stderr]).toEqual([1, "kserving: p50=0.001us is missed; the figures are above.\n"]);
});

test.each([
  [["grpc://HOST/odd"], 1, "no"],
  [["grpc://HOST/none"], 1, "none"],
  [["grpc://127.0.0.1:1/half"], 1, "grpc://127.0.0.1:1 cannot be reached"],
  [["http://127.0.0.1:1/v2/models/half"], 1, "http://127.0.0.1:1 cannot be reached"],
  [["grpc://HOST"], 2, "expected http://HOST:PORT/v2/models/NAME or grpc://HOST:PORT/NAME"],
  [["grpc://HOST/half", "--shape", "y=1"], 2, 'names the input "y"; the model has x'],
  [["grpc://HOST/any", "--shape", "x=3"], 2, "the model does not declare inputs"],
  [["grpc://HOST/half", "--shape", "x"], 2, "expected NAME=SIZES"],
  [["grpc://HOST/half", "--input", 'x="a"'], 2, "expects 'FP32'"],
  [["grpc://HOST/half", "--concurrency", "1.5"], 2, "expected whole numbers"],
  [["grpc://HOST/half", "--goal", "p99"], 2, "--goal"],
  [["grpc://HOST/half", "--protocol", "tcp"], 2, "grpc, http"],
  [["none.onnx"], 1, 'none.onnx" does not exist'],
  [["grpc://HOST/100%"], 2, "expected http://HOST:PORT/v2/models/NAME or grpc://HOST:PORT/NAME"],
  [["grpc://HOST/half", "--instances", "2"], 2, "--instances is for a model that is served here"],
  [["grpc://HOST/half", "-o", "device=CPU"], 2, "--option is for a model that is served here"],
  [["grpc://HOST/half", "--protocol", "http"], 2, "--protocol is for a model that is served here"],
  [["grpc://HOST/half", "--encoding", "json"], 2, "--encoding json is for HTTP, and this is gRPC"],
  [[half, "--encoding", "json"], 2, "--encoding json is for HTTP, which --protocol http calls"],
  [["grpc://HOST/half", "--report", "/nowhere/r.html"], 2, 'The report "/nowhere/r.html" is in a folder that does not'],
  [["grpc://HOST/half", "--shape", "x=100000,100000"], 2, "expected fewer than 2147483648 elements"],
])("bench %j ends with %i", async ([place, ...flags], code, message) => {
  const outcome = await bench(String(place).replace("HOST", server.grpcAddress), ...flags);
  expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringContaining(message)]);
});

test("bench shows a server's error as it is written", async () => {
  let calls = 0;
  const process = () => {
    if (calls++ > 0) throw new ServingError("invalid_argument", "größer als 100 %");
    return { y: 1 };
  };
  const later = await createServer({ models: { later: { driver: "null", hooks: { process } } } });
  const { code, stdout } = await bench(`grpc://${later.grpcAddress}/later`, "--input", "x=1");
  await later.close();
  expect([code, stdout]).toEqual([1, expect.stringContaining("gRPC status 3: größer als 100 %")]);
});
