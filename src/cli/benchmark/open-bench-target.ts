import { inferBody, modelPath } from "../../client/http/infer-body.ts";
import { isModelAddress, type ModelAddress, parseModelAddress } from "../../client/model-address.ts";
import { openRemoteModel } from "../../client/open-remote-model.ts";
import { encodeInferRequest, methodPath } from "../../client/remote/infer-message.ts";
import type { NamedModelOptions } from "../../server/named-model.ts";
import { toTensors } from "../../tensor/plain-value.ts";
import { guessExamples, randomTensors } from "../../tensor/signature/example-inputs.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import type { BenchTarget } from "../../tools/benchmark/bench-target.ts";
import type { LoadTarget } from "../../tools/benchmark/load/load-job.ts";
import type { Level } from "../../tools/benchmark/measure/level.ts";
import type { Window } from "../../tools/benchmark/measure/window.ts";
import { levelText, msText, rateText } from "../../tools/benchmark/report.ts";
import { type ServedFacts, startServerProcess } from "../../tools/benchmark/server/server-process.ts";
import { readInputs } from "../commands/input-flags.ts";
import { modelName } from "../settings/model-name.ts";
import { applyShapes } from "./apply-shapes.ts";

/** The place to send a load to, and its requests. */
interface BenchRequest extends RequestForm {
  /** An address, or the path of a model, which is then served. */
  readonly place: string;
  readonly protocol: "grpc" | "http";
  readonly model: NamedModelOptions;
  /** `--input` and `--shape` flags. */
  readonly input: readonly string[];
  readonly shape: readonly string[];
  readonly seed: number;
  readonly signal: AbortSignal;
}

/** Opens the target of a load, and sends the request once; rejects with the reason for which it fails. */
export async function openBenchTarget(request: BenchRequest): Promise<BenchTarget> {
  if (isModelAddress(request.place)) return connect(request, parseModelAddress(request.place));
  const name = modelName(request.place);
  const served = await startServerProcess({ name, model: request.model }, request.signal);
  const base = request.protocol === "grpc" ? `grpc://${served.grpcAddress}` : `${served.httpUrl}/v2/models`;
  try {
    const target = await connect(request, parseModelAddress(`${base}/${encodeURIComponent(name)}`), served);
    return { ...target, ...(served.runtime !== undefined && { runtime: served.runtime }), close: served.close };
  } catch (reason) {
    await served.close();
    throw reason;
  }
}

async function connect(request: BenchRequest, address: ModelAddress, served?: ServedFacts): Promise<BenchTarget> {
  const remote = await openRemoteModel(address, request.authorization);
  try {
    const given = toTensors(
      await readInputs(request.input, remote),
      (name) => remote.inputs.find((spec) => spec.name === name)?.dtype,
    );
    const examples = applyShapes(served?.examples ?? guessExamples(remote.inputs), request.shape);
    const missing = examples.filter(({ name }) => !Object.hasOwn(given, name));
    const inputs = { ...given, ...randomTensors(missing, request.seed) };
    await remote.predict(inputs);
    const load = toLoadTarget(address, inputs, request);
    const hasOpenRows = remote.inputs.length > 0 && remote.inputs.every(({ shape }) => shape?.[0] === -1);
    return { load, address: address.text, hasOpenRows, close: async () => {} };
  } finally {
    remote.close();
  }
}

/** Form of a load's requests. */
interface RequestForm {
  /** Form of the values over HTTP. */
  readonly encoding: "binary" | "json";
  readonly connections: number;
  /** `Authorization` header, if the server asks for one. */
  readonly authorization?: string | undefined;
}

/** The request that a load sends to a model. */
function toLoadTarget(address: ModelAddress, inputs: Tensors, form: RequestForm): LoadTarget {
  const { encoding, connections, authorization } = form;
  const own = authorization === undefined ? {} : { authorization };
  if (address.protocol === "grpc") {
    const origin = address.server.replace(/^grpc/, "http");
    const body = encodeInferRequest({ ...address, inputs });
    return { protocol: "grpc", origin, path: methodPath("ModelInfer"), headers: own, body, connections };
  }
  const url = new URL(`${address.server}/${modelPath(address)}/infer`);
  const { headers, body } = inferBody({ inputs }, encoding === "binary");
  return {
    protocol: "http",
    ...{
      origin: url.origin,
      path: url.pathname,
      headers: { ...headers, ...own },
      body: Buffer.from(body.buffer),
      connections,
    },
  };
}

/** The state of a measurement: `concurrency 8: 812 requests/s, p50 9.80 ms, p99 12.1 ms (window 2)`. */
export function progressText(level: Level, windows: readonly Window[]): string {
  const name = level.rate === undefined ? `concurrency ${level.concurrency}` : levelText(level);
  const window = windows.at(-1);
  if (window === undefined) return `${name}: warming up`;
  const sorted = [0.5, 0.99].map((share) => msText(window.percentileMs(share)));
  const rate = rateText(window.requestsPerSecond);
  return `${name}: ${rate} requests/s, p50 ${sorted[0]} ms, p99 ${sorted[1]} ms (window ${windows.length})`;
}
