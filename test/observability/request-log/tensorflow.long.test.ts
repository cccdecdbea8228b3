import { execFileSync, type StdioOptions } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createMessageClient } from "../../../src/client/remote/grpc-client.ts";
import { createServer } from "../../../src/server/server.ts";
import { parseTolerances } from "../../../src/tools/replay/compare-tensors.ts";
import { runReplay } from "../../../src/tools/replay/run-replay.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { missingTensorflow, TENSORFLOW_PYTHON } from "../../helpers/tensorflow-python.ts";
import { logFiles } from "./recorded-files.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";

async function post(url: string, body: string): Promise<void> {
  await (await fetch(url, { method: "POST", body })).arrayBuffer();
}

const missing = missingTensorflow("The request log as TensorFlow reads it");

describe.skipIf(missing !== undefined)("TensorFlow in Python", { timeout: 120_000 }, () => {
  const python = (folder: string, program: string, ...args: readonly string[]) => {
    writeFileSync(join(folder, "program.py"), program);
    const stdio: StdioOptions = ["ignore", "pipe", "ignore"];
    return execFileSync(TENSORFLOW_PYTHON, [join(folder, "program.py"), ...args], { stdio }).toString();
  };

  it("reads the files", async () => {
    const folder = tempFolder();
    const models = { any: { driver: "null" }, half: { path: HALF } };
    const server = await createServer({ models, http: {}, requestLog: { prefix: `${folder}/t` } });
    const inputs = [
      { name: "i", datatype: "INT64", shape: [2], data: [-1, 2] },
      { name: "s", datatype: "BYTES", shape: [1], data: ["ü"] },
      { name: "b", datatype: "BOOL", shape: [2], data: [true, false] },
      { name: "h", datatype: "FP64", shape: [1, 1], data: [1e300] },
    ];
    await post(`${server.httpUrl}/v2/models/any/infer`, JSON.stringify({ inputs }));
    await post(`${server.httpUrl}/v1/models/half:regress`, '{"examples": [{"x": 6.0}]}');
    await server.close();
    const model = (name: string) => ({ name, version: 1, rate: 1 });
    const twice = <Value>(value: Value) => [value, value];
    const any = { i: twice([-1, 2]), s: twice(["ü"]), b: twice([true, false]), h: twice([[1e300]]) };
    expect(JSON.parse(python(folder, READ, ...logFiles(folder)))).toEqual([
      { ...model("any"), ...any },
      { ...model("half"), examples: [6], regressions: [5] },
    ]);
  });

  it("writes files that are sent, compared, and run as a warm-up", async () => {
    const folder = tempFolder();
    const file = join(folder, "requests");
    python(folder, WRITE, file);
    const { log, events } = createEventLog();
    const server = await startServer({ models: { half: { path: HALF, warmup: file } }, log });
    expect(events).toContainEqual(expect.objectContaining({ msg: "model warmed up", requests: 4 }));
    const client = createMessageClient(server.grpcAddress);
    onTestFinished(() => client.close());
    const rest = { rate: "max", concurrency: 1, tolerances: parseTolerances([]), timeoutMs: 10_000 } as const;
    const { equal, different, failures } = await runReplay(client, { files: [file], ...rest });
    expect({ equal, different, failures }).toEqual({ equal: 3, different: 1, failures: [] });
  });
});

/** Prints what the logs hold, as TensorFlow's own classes have it. */
const READ = `
import json, sys
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

def values(proto):
    array = tf.make_ndarray(proto)
    return [one.decode() for one in array] if array.dtype == object else array.tolist()

said = []
for record in tf.data.TFRecordDataset(sys.argv[1:]):
    log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
    meta = log.log_metadata
    entry = {"name": meta.model_spec.name, "version": meta.model_spec.version.value, "rate": meta.sampling_config.sampling_rate}
    if log.HasField("predict_log"):
        request, response = log.predict_log.request, log.predict_log.response
        for name in request.inputs:
            entry[name] = [values(request.inputs[name]), values(response.outputs[name])]
    else:
        request, response = log.regress_log.request, log.regress_log.response
        entry["examples"] = [one.features.feature["x"].float_list.value[0] for one in request.input.example_list.examples]
        entry["regressions"] = [one.value for one in response.result.regressions]
    said.append(entry)
print(json.dumps(said))
`;

/** Writes logs of four APIs as TensorFlow's own classes have them, the last with a wrong answer. */
const WRITE = `
import sys
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

def classic(log):
    log.request.model_spec.name = "half"
    example = log.request.input.example_list.examples.add()
    example.features.feature["x"].float_list.value.append(6)
    return log.response.result

def predict(log, answer):
    log.request.model_spec.name = "half"
    log.request.inputs["x"].CopyFrom(tf.make_tensor_proto([1.0, 2.0]))
    log.response.outputs["y"].CopyFrom(tf.make_tensor_proto(answer))

logs = [prediction_log_pb2.PredictionLog() for _ in range(4)]
classic(logs[0].regress_log).regressions.add().value = 5
multi = logs[1].multi_inference_log
multi.request.tasks.add(method_name="tensorflow/serving/regress").model_spec.name = "half"
example = multi.request.input.example_list.examples.add()
example.features.feature["x"].float_list.value.append(6)
result = multi.response.results.add()
result.model_spec.signature_name = "serving_default"
result.regression_result.regressions.add().value = 5
predict(logs[2].predict_log, [2.5, 3.0])
predict(logs[3].predict_log, [2.5, 3.5])
with tf.io.TFRecordWriter(sys.argv[1]) as writer:
    for log in logs:
        writer.write(log.SerializeToString())
`;
