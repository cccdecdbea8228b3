import { describe, expect, it, onTestFinished } from "vitest";
import { createMessageClient } from "../../../src/client/remote/grpc-client.ts";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import { parseTolerances } from "../../../src/tools/replay/compare-tensors.ts";
import { runReplay } from "../../../src/tools/replay/run-replay.ts";
import { missingRuntime } from "../../drivers/missing-runtime.ts";
import { tensorflowRuntime } from "../../drivers/tensorflow/native/tensorflow-runtime.ts";
import { tensorflowModel } from "../../drivers/tensorflow/tensorflow-cases.ts";
import { connect } from "../../grpc/byte-client.ts";
import type { Plain } from "../../grpc/oracle.ts";
import { shareServer, startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { logFiles, readLogs } from "../../observability/request-log/recorded-files.ts";
import { connectService } from "./connect-service.ts";

const missing = await missingRuntime("SessionRun", tensorflowRuntime);

const spec = (name: string) => ({ model_spec: { name } });

function floats(values: readonly number[]): Plain {
  const shape = { dim: [{ size: values.length }, { size: 1 }] };
  return { dtype: "DT_FLOAT", tensor_shape: shape, float_val: values };
}

const fed = (name: string, tensor: Plain) => ({ name, tensor });

describe.skipIf(missing !== undefined)("SessionRun of a graph in libtensorflow", async () => {
  const options = { engine: "native", tensorflow_lib: missing === undefined ? await tensorflowRuntime() : "" };
  const model = (name: string) => ({ driver: "tensorflow", path: tensorflowModel(name), options });
  const hooks = defineHooks({ preprocess: (inputs) => inputs });
  const started = shareServer(() => ({
    models: {
      half: model("half_plus_two"),
      windows: model("windows"),
      hooked: { ...model("half_plus_two"), hooks },
    },
  }));
  const graph = async () => connectService(await started(), "SessionService");

  it("feeds and fetches tensors by their names, in the order of the fetches", async () => {
    const call = await graph();
    const answer = await call("SessionRun", {
      ...spec("half"),
      feed: [fed("x:0", floats([2, 4]))],
      fetch: ["y:0", "Mul", "a/read:0"],
      target: ["y"],
      options: { timeout_in_ms: 60_000, trace_level: "FULL_TRACE" },
    });
    expect(answer).toMatchObject({
      model_spec: { name: "half", version: { value: "1" } },
      tensor: [
        { name: "y:0", tensor: { dtype: "DT_FLOAT", float_val: [3, 4] } },
        { name: "Mul", tensor: { float_val: [1, 2] } },
        { name: "a/read:0", tensor: { float_val: [0.5] } },
      ],
    });
  });

  it("is recorded in its own form, and answers the same when it is sent again", async () => {
    const folder = tempFolder();
    const requestLog = { prefix: `${folder}/` };
    const server = await startServer({ models: { half: model("half_plus_two") }, requestLog });
    const request = { ...spec("half"), feed: [fed("x:0", floats([2, 4]))], fetch: ["y:0", "Mul"], target: ["y"] };
    await connectService(server, "SessionService")("SessionRun", request);
    const kinds = async () => (await readLogs(...logFiles(folder))).map(({ kind }) => kind);
    await expect.poll(kinds).toEqual(["session_run_log"]);
    const files = logFiles(folder);
    const client = createMessageClient(server.grpcAddress);
    onTestFinished(() => client.close());
    const rest = { rate: "max", concurrency: 1, tolerances: parseTolerances([]), timeoutMs: 10_000 } as const;
    expect(await runReplay(client, { files, ...rest })).toMatchObject({ equal: 1, different: 0, failed: 0 });
  });

  it("carries messages that codec threads read and write", async () => {
    const call = await graph();
    const values = Array.from({ length: 300_000 }, (_, index) => index);
    const { tensor } = await call("SessionRun", {
      ...spec("half"),
      feed: [fed("x", floats(values))],
      fetch: ["y:0"],
    });
    const [first] = tensor as { tensor: { float_val: number[] } }[];
    expect(first?.tensor.float_val).toEqual(values.map((value) => value / 2 + 2));
  });

  it("refuses what it cannot run, saying why", async () => {
    const call = await graph();
    const feed = [fed("x:0", floats([2]))];
    const refusals: [Plain, number, RegExp][] = [
      [{ feed, fetch: ["z:0"] }, 3, /^The graph has no operation "z"/],
      [{ feed, fetch: ["y:1"] }, 3, /^The operation "y" has one output; there is no "y:1"\.$/],
      [{ feed: [...feed, ...feed], fetch: ["y:0"] }, 3, /^The tensor "x:0" is fed twice/],
      [{ feed, fetch: ["y:0", "y:0"] }, 3, /^"y:0" is asked for twice/],
      [{ feed }, 3, /^Must specify at least one target to fetch or execute\.$/],
      [
        { feed: [fed("x:0", { dtype: "DT_INT32" })], fetch: ["y:0"] },
        3,
        /^Feed "x:0" is int32; the graph takes float32\.$/,
      ],
      [
        { feed: [fed("x:0", { dtype: "DT_RESOURCE" })], fetch: ["y:0"] },
        3,
        /^tensor parsing error: x:0: dtype DT_RESOURCE/,
      ],
    ];
    for (const [request, code, details] of refusals) {
      await expect(call("SessionRun", { ...spec("half"), ...request })).rejects.toMatchObject({
        code,
        details: expect.stringMatching(details),
      });
    }
  });

  it("keeps clients from what restores, initialises and saves the model, which writes files", async () => {
    const call = await graph();
    for (const request of [
      { fetch: ["save/Const:0"] },
      { fetch: ["save/control_dependency:0"] },
      { target: ["save/restore_all"] },
      { target: ["init_all"] },
      { feed: [fed("save/Const:0", { dtype: "DT_STRING", string_val: [Buffer.from("/etc/x")] })], fetch: ["a/read:0"] },
    ]) {
      const refused = { code: 7, details: expect.stringMatching(/^No signature of the model computes/) };
      await expect(call("SessionRun", { ...spec("half"), ...request })).rejects.toMatchObject(refused);
    }
  });

  it("ends a run at the time that the options set", async () => {
    // Of its own, since its run goes on until it closes.
    const call = connectService(await startServer({ models: { half: model("endless") } }), "SessionService");
    const feed = [fed("serving_default_x:0", { dtype: "DT_FLOAT", float_val: [1] })];
    const request = { ...spec("half"), feed, fetch: ["PartitionedCall:0"], options: { timeout_in_ms: 50 } };
    await expect(call("SessionRun", request)).rejects.toMatchObject({ code: 4 });
  });

  it.each([
    ["max_pool_x", "PartitionedCall", "MaxPool"],
    ["max_pool_3d_x", "PartitionedCall_1", "MaxPool3D"],
    ["conv_x", "StatefulPartitionedCall", "Conv2D"],
    ["conv_3d_x", "StatefulPartitionedCall_1", "Conv3D"],
    ["depthwise_x", "StatefulPartitionedCall_2", "DepthwiseConv2dNative"],
  ])("refuses sizes that would end the process: %s", async (input, output, operation) => {
    const call = await graph();
    const run = (size: number) => {
      const dim = [1, ...Array<number>(operation.endsWith("3D") ? 3 : 2).fill(size), 2].map((each) => ({ size: each }));
      const tensor = { dtype: "DT_FLOAT", tensor_shape: { dim }, float_val: [1] };
      return call("SessionRun", { ...spec("windows"), feed: [fed(input, tensor)], fetch: [output] });
    };
    await expect(run(2)).rejects.toMatchObject({
      code: 3,
      details: expect.stringMatching(new RegExp(`${operation} takes an input of 3x3(x3)? or more for its window`)),
    });
    await expect(run(3)).resolves.toMatchObject({ tensor: [{ name: output }] });
  });

  it("is refused for a model with hooks", async () => {
    const call = await graph();
    await expect(call("SessionRun", { ...spec("hooked"), fetch: ["y:0"] })).rejects.toMatchObject({
      code: 12,
      details: expect.stringContaining("it has hooks, which such a run would leave out"),
    });
  });
});

describe("SessionRun of other models", () => {
  it.each([
    ["the onnx driver", "test/fixtures/models/half-plus-two.onnx", {}, /the onnx driver \(.*\) runs it/],
    [
      "the portable engine",
      tensorflowModel("half_plus_two"),
      { engine: "portable" },
      /the tensorflow driver.* runs it/,
    ],
  ])("is refused for %s", async (_, path, options, why) => {
    const call = connectService(await startServer({ models: { half: { path, options } } }), "SessionService");
    await expect(call("SessionRun", { ...spec("half"), fetch: ["y:0"] })).rejects.toMatchObject({
      code: 12,
      details: expect.stringMatching(why),
    });
    await expect(call("SessionRun", { ...spec("other"), fetch: ["y:0"] })).rejects.toMatchObject({ code: 5 });
  });

  it("is refused for bytes that are no request", async () => {
    const { grpcAddress } = await startServer({ models: { null: { driver: "null" } } });
    const call = connect(grpcAddress).call("/tensorflow.serving.SessionService/SessionRun", Buffer.of(0x12, 99, 0));
    await expect(call).rejects.toMatchObject({
      code: 3,
      details: expect.stringContaining("Malformed SessionRunRequest"),
    });
  });
});
