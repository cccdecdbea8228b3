import { appendFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { main } from "../../../src/cli/main.ts";
import { frameRecord } from "../../../src/observability/request-log/logged-request.ts";
import { encodePredictRequest, encodePredictResponse } from "../../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { encodePredictionLog } from "../../../src/protocols/tensorflow-serving/prediction-log-message.ts";
import { createServer } from "../../../src/server/server.ts";
import { createTensor, createTensors } from "../../../src/tensor/tensor.ts";
import { authFiles } from "../../access/auth-fixture.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { logFiles } from "../../observability/request-log/recorded-files.ts";
import { connectService } from "../../protocols/tensorflow-serving/connect-service.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";
const MODELS = { half: { path: HALF } };
/** Real TensorFlow has written it: two requests of Predict for the model `counter`, and one of SessionRun. */
const BY_TENSORFLOW = "test/fixtures/tensorflow/counter_with_requests/recorded_requests";

/** A file of requests to `half` that a server has recorded, one of them of Regress. */
async function recorded(values: readonly (readonly number[])[] = [[1], [2, 3], [4]]): Promise<string> {
  const folder = tempFolder();
  const server = await createServer({ models: MODELS, http: {}, requestLog: { prefix: `${folder}/t` } });
  for (const inputs of values) {
    const body = JSON.stringify({ inputs });
    await (await fetch(`${server.httpUrl}/v1/models/half:predict`, { method: "POST", body })).text();
  }
  const input = { example_list: { examples: [{ features: { feature: { x: { float_list: { value: [2] } } } } }] } };
  const call = connectService(server, "PredictionService");
  await call("Regress", { model_spec: { name: "half" }, input });
  await call("MultiInference", {
    tasks: [{ model_spec: { name: "half" }, method_name: "tensorflow/serving/regress" }],
    input,
  });
  await server.close();
  return logFiles(folder)[0] as string;
}

/** A file with one request of Predict that was answered so. */
function answered(y: Float32Array, timeMs?: number): Buffer {
  const spec = { model: "half", signature: "", versionEncoding: "int64" } as const;
  const tensors = (name: string, data: Float32Array) =>
    createTensors([[name, createTensor("float32", [data.length], data)]]);
  const request = encodePredictRequest(
    { spec, inputs: tensors("x", new Float32Array(y.length)), outputFilter: [] },
    "typed",
  );
  const response = encodePredictResponse({ spec, outputs: tensors("y", y) }, "typed");
  const metadata = { spec, rate: 1, timeMs };
  return Buffer.from(frameRecord(encodePredictionLog({ kind: "predict_log", request, response }, metadata)));
}

/** Runs `kserving replay` against a server; resolves with its exit code and what it printed. */
async function replay(files: string | readonly string[], flags: readonly string[] = [], models: object = MODELS) {
  const server = await startServer({ models: models as never });
  return run([...[files].flat(), "--against", server.grpcAddress, ...flags]);
}

async function run(argv: readonly string[]) {
  const printed: string[] = [];
  const errors: unknown[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((text: string) => void printed.push(text));
  const err = vi.spyOn(process.stderr, "write").mockImplementation((text) => errors.push(text) > 0);
  onTestFinished(() => {
    log.mockRestore();
    err.mockRestore();
  });
  const code = await main(["replay", ...argv], {});
  log.mockRestore();
  err.mockRestore();
  const [stdout, stderr] = [printed.join("\n"), errors.join("")];
  const [, counts = ""] = stdout.split("\n");
  return { code, stdout, stderr, counts: counts.split(/ +/).slice(0, 5).map(Number) };
}

describe("kserving replay", () => {
  it("shows a server its credentials", async () => {
    const file = await recorded([[1]]);
    const { grpcAddress } = await startServer({ models: MODELS, auth: await authFiles("allow: [{ who: alice }]") });
    const auth = join(tempFolder({ auth: `${grpcAddress} alice:open sesame` }), "auth");
    const given = await run([file, "--against", grpcAddress, "--remote-auth-file", auth]);
    expect([given.code, given.stdout]).toEqual([0, expect.not.stringContaining("sesame")]);
    const without = await run([file, "--against", grpcAddress]);
    expect([without.code, without.stdout]).toEqual([
      1,
      expect.stringContaining("unauthenticated: This server answers"),
    ]);
  });

  it("finds the same answers where the server is the same", async () => {
    const file = await recorded();
    const { code, counts, stderr } = await replay(file);
    expect({ code, counts, stderr }).toEqual({ code: 0, counts: [5, 5, 0, 0, 0], stderr: "" });
  });

  it("asks a model of another name, whatever the requests' APIs", async () => {
    const file = await recorded();
    const other = { canary: { path: HALF } };
    expect(await replay(file, ["--model", "canary"], other)).toMatchObject({ code: 0, counts: [5, 5, 0, 0, 0] });
    const { code, stdout, stderr } = await replay(file, [], other);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^5 +record 1 of .* +not_found: Servable not found for request: Latest\(half\)/m);
    expect(stderr).toContain("5 of 5 requests failed; the results above say which.");
  });

  it("reports the largest difference of each output, and ends with 1", async () => {
    const file = await recorded([[1], [2, 3], [4]]);
    const negative = { half: { path: HALF, hooks: { postprocess: ({ y }: never) => ({ y: negated(y) }) } } };
    const { code, stdout, stderr, counts } = await replay(file, [], negative);
    expect({ code, counts }).toEqual({ code: 1, counts: [5, 0, 5, 0, 0] });
    expect(stdout).toMatch(/^y +3 +by 8 at \[0\]: 4 was recorded, -4 came +record 3 of /m);
    expect(stdout).toMatch(/^outputs +1 +by 6 at \[0\]: 3 was recorded, -3 came +record 4 of /m);
    expect(stdout).toMatch(/^serving_default\.outputs +1 +by 6/m);
    expect(stderr).toContain("5 of 5 answers differ from the recorded ones");
    const json = JSON.parse((await replay(file, ["--json"], negative)).stdout);
    expect(json).toMatchObject({ requests: 5, equal: 0, different: 5, failed: 0, notCompared: 0, failures: [] });
    expect(json.latencyMs.max).toBeGreaterThan(0);
    const place = expect.stringMatching(/^record 3 of /);
    const greatestDifference = "by 8 at [0]: 4 was recorded, -4 came";
    expect(json.outputs).toContainEqual({ output: "y", requests: 3, greatestDifference, place });
  });

  it("ignores differences within the given tolerance", async () => {
    const file = `${tempFolder()}/log`;
    writeFileSync(file, Buffer.concat([answered(Float32Array.of(2.00001)), answered(Float32Array.of(2.01, 2))]));
    expect(await replay(file)).toMatchObject({ code: 1, counts: [2, 1, 1, 0, 0] });
    expect(await replay(file, ["--tolerance", "1e-2"])).toMatchObject({ code: 0, counts: [2, 2, 0, 0, 0] });
    expect(await replay(file, ["--tolerance", "float32=0,1e-7"])).toMatchObject({ code: 1, counts: [2, 0, 2, 0, 0] });
  });

  it("sends what TensorFlow wrote, and says what has no answer to compare with", async () => {
    const flags = ["--model", "any"];
    const { code, counts, stdout } = await replay(BY_TENSORFLOW, flags, { any: { driver: "null" } });
    expect({ code, counts }).toEqual({ code: 1, counts: [3, 0, 0, 1, 2] });
    expect(stdout).toContain("2 requests have no recorded answer to compare with.");
    expect(stdout).toMatch(/^1 +record 2 of .* +unimplemented: /m);
  });

  it("reports what it has sent when it is interrupted", async () => {
    const file = `${tempFolder()}/log`;
    const y = Float32Array.of(2);
    writeFileSync(file, Buffer.concat([answered(y, 1e12), answered(y, 1e12 + 300), answered(y, 1e12 + 9e6)]));
    let asked = 0;
    const postprocess = (outputs: object) => {
      if (++asked === 2) process.emit("SIGINT");
      return outputs;
    };
    const half = { path: HALF, hooks: { postprocess } };
    const models = { half };
    const server = await startServer({ models: models as never, workers: 0 });
    const { code, counts, stderr } = await run([file, "--against", server.grpcAddress, "--rate", "recorded"]);
    expect({ code, counts }).toEqual({ code: 1, counts: [2, 2, 0, 0, 0] });
    expect(stderr).toContain("The replay was stopped before its end.");
  });

  it("keeps the recorded times, or so many requests in a second", async () => {
    const file = `${tempFolder()}/log`;
    const y = Float32Array.of(2);
    writeFileSync(file, Buffer.concat([answered(y, 1e12), answered(y, 1e12 + 200), answered(y, 1e12 + 400)]));
    const took = async (rate: string) => {
      const server = await startServer({ models: MODELS });
      const started = performance.now();
      expect(await run([file, "--against", server.grpcAddress, "--rate", rate])).toMatchObject({ code: 0 });
      return performance.now() - started;
    };
    expect(await took("recorded")).toBeGreaterThan(399);
    expect(await took("10")).toBeGreaterThan(199);
  });
});

describe("answers in parts", () => {
  /** Counts to `x`, in steps of `step`. */
  const counting = (step: number, more = 0) => ({
    driver: "null",
    hooks: {
      inputs: [{ name: "x", dtype: "int32", shape: [1] }],
      async *process({ x }: { readonly x: { readonly data: Int32Array } }) {
        for (let part = 0; part < (x.data[0] ?? 0) + more; part++)
          yield { number: Int32Array.of(part * step), text: "a" };
      },
    },
  });

  async function recordedParts(): Promise<string> {
    const folder = tempFolder();
    const models = { count: counting(1) as never };
    const server = await createServer({ models, http: {}, requestLog: { prefix: `${folder}/t` } });
    for (const x of [3, 2, 0]) {
      const body = JSON.stringify({ x });
      await (await fetch(`${server.httpUrl}/v2/models/count/generate_stream`, { method: "POST", body })).text();
    }
    await server.close();
    return logFiles(folder)[0] as string;
  }

  it("are compared part by part, with the times of their parts", async () => {
    const file = await recordedParts();
    const { code, counts, stdout } = await replay(file, [], { count: counting(1) });
    expect({ code, counts }).toEqual({ code: 0, counts: [3, 3, 0, 0, 0] });
    expect(stdout).toMatch(/^Answers in parts +Parts +First part p50 ms +recorded +Next part p50 ms +recorded$/m);
    expect(stdout).toMatch(/^3 +5 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$/m);
  });

  it("differ where one of their parts does, or their number", async () => {
    const file = await recordedParts();
    const other = await replay(file, ["--model", "other"], { other: counting(2) });
    expect(other).toMatchObject({ code: 1, counts: [3, 1, 2, 0, 0] });
    expect(other.stdout).toMatch(/^number +2 +part 3: by 2 at \[0\]: 2 was recorded, 4 came +record 1 of /m);
    const longer = await replay(file, [], { count: counting(1, 1) });
    expect(longer).toMatchObject({ code: 1, counts: [3, 0, 3, 0, 0] });
    expect(longer.stdout).toMatch(/^\(parts\) +3 +3 were recorded, more came +record 1 of /m);
  });

  it("are given up one part after those that were recorded", async () => {
    const file = await recordedParts();
    const endless = await replay(file, [], { count: counting(1, Number.POSITIVE_INFINITY) });
    expect(endless).toMatchObject({ code: 1, counts: [3, 0, 3, 0, 0] });
    expect(endless.stdout).toMatch(/^\(parts\) +3 +3 were recorded, more came +record 1 of /m);
  });

  it("are asked for in the signature that was recorded", async () => {
    const driver = `${tempFolder({ "driver.ts": OF_TWO_SIGNATURES })}/driver.ts`;
    const models = { two: { driver } };
    const folder = tempFolder();
    const server = await createServer({ models, http: {}, requestLog: { prefix: `${folder}/t` } });
    for (const parameters of [{ signature_name: "negated" }, { signature_name: "serving_default" }, {}]) {
      const body = JSON.stringify({ x: 3, parameters });
      await (await fetch(`${server.httpUrl}/v2/models/two/generate_stream`, { method: "POST", body })).text();
    }
    await server.close();
    const { code, counts } = await replay(logFiles(folder), [], models);
    expect({ code, counts }).toEqual({ code: 0, counts: [3, 3, 0, 0, 0] });
  });

  it("that fail are told with the number of parts before", async () => {
    const file = await recordedParts();
    const models = { count: { driver: "null", hooks: `${tempFolder({ "hooks.mjs": FAILING })}/hooks.mjs` } };
    const { code, counts, stdout } = await replay(file, [], models);
    // The answer that had no parts is given up at its first one.
    expect({ code, counts }).toEqual({ code: 1, counts: [3, 0, 1, 2, 0] });
    expect(stdout).toContain("as asked");
    expect(stdout).toContain("(after 1 parts)");
  });
});

/** Counts to `x`, by the second signature below zero. */
const OF_TWO_SIGNATURES = `
import { createTensor, defineDriver } from "kserving";
const signature = {
  inputs: [{ name: "x", dtype: "int32", shape: [1] }],
  outputs: [{ name: "y", dtype: "int32", shape: [1] }],
};
export default defineDriver({
  name: "two",
  pathless: true,
  options: {},
  load: async () => ({
    signatures: { serving_default: signature, negated: signature },
    async *predictStream({ x }, { signature }) {
      for (let number = 1; number <= x.data[0]; number++)
        yield { y: createTensor("int32", [1], Int32Array.of(signature === "negated" ? -number : number)) };
    },
    close: async () => {},
  }),
});`;

const FAILING = `
export async function* process() {
  yield { number: Int32Array.of(0) };
  throw new Error("as asked");
}`;

function negated({ data }: { readonly data: Float32Array }): Float32Array {
  return data.map((value) => -value);
}

describe("a file", () => {
  it("that is cut is sent as far as it is whole", async () => {
    const file = await recorded();
    truncateSync(file, readFileSync(file).length - 5);
    const { code, counts, stdout } = await replay(file);
    expect({ code, counts }).toEqual({ code: 0, counts: [4, 4, 0, 0, 0] });
    expect(stdout).toMatch(
      /: record 5, at byte \d+, is cut: of its \d+ bytes and their checksum, \d+ bytes are there\./,
    );
  });

  it("with a wrong checksum is sent without that record", async () => {
    const file = `${tempFolder()}/log`;
    const record = answered(Float32Array.of(2));
    writeFileSync(file, Buffer.concat([record, record, record]));
    const bytes = readFileSync(file);
    bytes[record.length + 20]! ^= 1;
    writeFileSync(file, bytes);
    const { code, counts, stdout } = await replay(file);
    expect({ code, counts }).toEqual({ code: 0, counts: [2, 2, 0, 0, 0] });
    expect(stdout).toContain(`${file}: record 2, at byte ${record.length}, has a wrong checksum.`);
  });

  it("that grows while it is read is read as far as it was", async () => {
    const file = `${tempFolder()}/log`;
    writeFileSync(file, answered(Float32Array.of(2)));
    appendFileSync(file, Buffer.alloc(7));
    expect(await replay(file)).toMatchObject({ code: 0, stdout: expect.stringContaining("is cut after 7 bytes") });
  });

  it.each([
    ["of JSON", '{"instances": [1]}', "is JSON. Send such a request with curl"],
    ["of gzip", Buffer.from("1f8b0800000000000003", "hex"), "is compressed by gzip. Unpack it first, with gunzip."],
    ["of text", "hello, this is a text and no record", "is not a TFRecord file."],
    ["that is empty", "", "is empty."],
  ])("%s is refused with what to do, before anything is sent", async (_, content, message) => {
    const file = `${tempFolder()}/log`;
    writeFileSync(file, content);
    const { code, stderr } = await run([file, "--against", "127.0.0.1:1"]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(message) });
  });

  it("of other records is refused too", async () => {
    const file = `${tempFolder()}/log`;
    writeFileSync(file, frameRecord(Buffer.from("0aff", "hex")));
    expect(await replay(file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`record 1 of ${file} is not a tensorflow.serving.PredictionLog`),
    });
    writeFileSync(file, frameRecord(Buffer.from("0a0c0a0a0a0178120512030a0178", "hex")));
    const stderr = expect.stringContaining("the files have none that can be sent again");
    expect(await replay(file)).toMatchObject({ code: 1, stderr });
  });
});

describe("the command line", () => {
  it.each([
    [["--against", "127.0.0.1:1", BY_TENSORFLOW], 1, "No gRPC server answers at 127.0.0.1:1; start one there."],
    [["--against", "here", BY_TENSORFLOW], 2, '--against is "here"; expected HOST:PORT'],
    [["--rate", "fast", BY_TENSORFLOW], 2, '--rate is "fast"; expected recorded, max or a number'],
    [["--tolerance", "float33=1", BY_TENSORFLOW], 2, '--tolerance is "float33=1"; expected [DTYPE=]RTOL[,ATOL]'],
    [["--concurrency", "0", BY_TENSORFLOW], 2, '--concurrency is "0"; expected an integer of 1 or more'],
    [[], 2, "The argument file is missing; kserving replay --help lists its arguments"],
  ])("%j is refused", async (argv, code, message) => {
    expect(await run(argv)).toMatchObject({ code, stderr: expect.stringContaining(message) });
  });
});
