import { writeAnswer } from "../../src/protocols/kserve/http-response.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import type { BenchRun } from "../engine/bench-run.ts";
import { throughputRatios } from "../engine/bench-run.ts";
import type { Figure } from "../engine/figure.ts";
import { floats } from "../engine/messages.ts";
import { perSecond, race } from "../engine/race.ts";
import { startKserving, startProgram } from "../engine/servers.ts";
import type { LoadTarget } from "../load/load-job.ts";

const PATH = "/v2/models/default/infer";
const SHAPE = [1, 3, 224, 224];
const DATA = floats(150_528);

/** A tensor of 602 KB there and back over HTTP as binary data, beside a server that only echoes the same bytes. */
export async function binaryRest(bench: BenchRun): Promise<Figure> {
  const ours = await startKserving(["--driver", "null"]);
  const bare = await startProgram("echo-server.ts");
  const { body, headers } = makeRequest();
  const target = (port: number, answer: Buffer): LoadTarget => ({
    protocol: "http",
    port,
    path: PATH,
    messages: [{ body, headers, expected: { bytes: answer } }],
  });
  const targets = { ours: target(ours.httpPort, makeAnswer()), bare: target(bare.httpPort, body) };
  const results = await race(bench, targets, { connections: 4, inFlight: 4, seconds: 1 });
  await ours.stop();
  bare.stop();
  return {
    name: "REST, 602 KB of binary data there and back, 4 in flight: null driver",
    ours: perSecond(results.ours),
    ceiling: `${perSecond(results.bare)} bare node:http echo`,
    values: throughputRatios(results.bare, results.ours),
    unit: "×",
    target: { atMost: 1.3 },
  };
}

function makeRequest() {
  const input = { name: "x", datatype: "FP32", shape: SHAPE, parameters: { binary_data_size: DATA.byteLength } };
  const json = Buffer.from(JSON.stringify({ parameters: { binary_data_output: true }, inputs: [input] }));
  const body = Buffer.concat([json, Buffer.from(DATA.buffer)]);
  return { body, headers: `inference-header-content-length: ${json.length}\r\n` };
}

function makeAnswer(): Buffer {
  const outputs = [{ name: "x", datatype: "FP32", shape: SHAPE, tensor: createTensor("float32", SHAPE, DATA) }];
  const answer = { model: "default", version: 1n, id: "", outputs, metadata: {} };
  const { json, binary } = writeAnswer(answer, { isBinary: true, isStrict: false, outputs: [] });
  return Buffer.concat([json, ...binary]);
}
