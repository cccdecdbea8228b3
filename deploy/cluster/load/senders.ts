import { Agent, request } from "node:http";
import { join } from "node:path";
import { credentials, loadPackageDefinition, type ServiceClientConstructor } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import type { Floats, Subject } from "../subjects.ts";

/** Address of a server. */
export interface Target {
  readonly host: string;
  readonly httpPort: number;
  readonly grpcPort: number;
}

/** Sends one request; rejects unless the right values come back. */
export type Send = () => Promise<void>;

const TIMEOUT_MS = 15_000;

/** Clients by the wire that they use; each call makes one with a connection of its own. */
export const SENDERS = {
  "V2 REST": (target, subject) => restSender(target, v2Call(subject), new Agent({ keepAlive: true, maxSockets: 1 })),
  "V2 REST, new connections": (target, subject) => restSender(target, v2Call(subject), false),
  "V2 gRPC": grpcSender,
  "TensorFlow REST": (target, subject) =>
    restSender(target, tensorflowCall(subject), new Agent({ keepAlive: true, maxSockets: 1 })),
} satisfies Record<string, (target: Target, subject: Subject) => Send>;

/** Name of a wire. */
export type Wire = keyof typeof SENDERS;

interface RestCall {
  readonly path: string;
  readonly body: string;
  readonly expected: readonly number[];
  /** Values in an answer's JSON. */
  read(answer: string): unknown;
}

function v2Call({ model, input, expected }: Subject): RestCall {
  return {
    path: `/v2/models/${model}/infer`,
    body: JSON.stringify({ inputs: [{ ...input, datatype: "FP32" }] }),
    expected,
    read: (answer) => JSON.parse(answer).outputs[0].data,
  };
}

function tensorflowCall({ model, input, expected }: Subject): RestCall {
  return {
    path: `/v1/models/${model}:predict`,
    body: JSON.stringify({ inputs: { [input.name]: nest(input) } }),
    expected,
    read: (answer) => JSON.parse(answer).outputs,
  };
}

function nest({ shape, data }: Floats): unknown {
  let rows: readonly unknown[] = data;
  for (const size of shape.slice(1).reverse())
    rows = Array.from({ length: rows.length / size }, (_, row) => rows.slice(row * size, (row + 1) * size));
  return rows;
}

function restSender({ host, httpPort }: Target, call: RestCall, agent: Agent | false): Send {
  const options = { host, port: httpPort, path: call.path, method: "POST", agent, timeout: TIMEOUT_MS };
  return () =>
    new Promise((resolve, reject) => {
      const sent = request(options, (response) => {
        let answer = "";
        response.on("data", (bytes) => (answer += bytes)).once("error", reject);
        response.once("end", () => {
          if (response.statusCode !== 200) return reject(new Error(`${response.statusCode} ${answer.slice(0, 200)}`));
          check(call.read(answer), call.expected, resolve, reject);
        });
      });
      sent.once("timeout", () => sent.destroy(new Error("no answer in time")));
      sent.once("error", reject).end(call.body);
    });
}

function grpcSender({ host, grpcPort }: Target, { model, input, expected }: Subject): Send {
  const folder = join(import.meta.dirname, "../../../proto");
  const definition = loadSync("inference/grpc_service.proto", { includeDirs: [folder], keepCase: true });
  const { GRPCInferenceService: Service } = loadPackageDefinition(definition).inference as unknown as Inference;
  const ownConnection = { "grpc.use_local_subchannel_pool": 1 };
  const client = new Service(`${host}:${grpcPort}`, credentials.createInsecure(), ownConnection);
  const { name, shape, data } = input;
  const message = { model_name: model, inputs: [{ name, shape, datatype: "FP32", contents: { fp32_contents: data } }] };
  return () =>
    new Promise((resolve, reject) => {
      client.ModelInfer?.(message, { deadline: Date.now() + TIMEOUT_MS }, (error: Error | null, answer: RawAnswer) => {
        if (error !== null) return reject(error);
        const bytes = answer.raw_output_contents[0] as Buffer;
        const values = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
        check(values, expected, resolve, reject);
      });
    });
}

interface Inference {
  readonly GRPCInferenceService: ServiceClientConstructor;
}

interface RawAnswer {
  readonly raw_output_contents: readonly Buffer[];
}

function check(
  values: unknown,
  expected: readonly number[],
  resolve: () => void,
  reject: (reason: Error) => void,
): void {
  const numbers = [values].flat(9) as readonly number[];
  const isRight =
    numbers.length === expected.length && numbers.every((value, index) => isClose(value, expected[index]));
  if (isRight) resolve();
  else reject(new Error(`wrong values: ${JSON.stringify(values).slice(0, 100)}`));
}

function isClose(value: number, expected: number | undefined): boolean {
  return Math.abs(value - (expected as number)) < 1e-4;
}
