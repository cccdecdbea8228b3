import { onTestFinished } from "vitest";
import { createRemoteService } from "../../src/client/remote/remote-service.ts";
import type { Payload } from "../../src/pipeline/payload.ts";
import type { Server } from "../../src/server/server.ts";
import { type Element, toNested } from "../../src/tensor/elements.ts";
import { toTensors, type Values } from "../../src/tensor/plain-value.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { plain } from "../helpers/run-pipeline.ts";

type Answer = Readonly<Record<string, unknown>>;

/** Asks a server over one wire; both take the same and give the same: nested arrays, bytes as text. */
export interface Wire {
  /** Predict with tensors. */
  predict(server: Server, inputs: Values): Promise<Answer>;
  /** PredictJSON: one JSON object. */
  predictJson(server: Server, inputs: object): Promise<Answer>;
}

/** The wire of {@link WIRES} that needs no text. */
export const GRPC: Wire = {
  predict: async (server, inputs) => {
    const outputs = await infer(server, { kind: "tensors", tensors: toTensors(inputs) });
    return outputs.kind === "tensors" ? plain(outputs.tensors) : {};
  },
  predictJson: async (server, inputs) => {
    const outputs = await infer(server, { kind: "json", json: Buffer.from(JSON.stringify(inputs)) });
    return outputs.kind === "json" ? JSON.parse(Buffer.from(outputs.json).toString()) : {};
  },
};

const HTTP: Wire = {
  predict: (server, inputs) => {
    const tensors = Object.entries(toTensors(inputs)).map(([name, tensor]) => [name, toJsonTensor(tensor)]);
    return post(`${server.httpUrl}/predict`, { inputs: Object.fromEntries(tensors) });
  },
  predictJson: (server, inputs) => post(`${server.httpUrl}/serving-proxy`, inputs),
};

/** Both wires by name, for `describe.each`. */
export const WIRES: readonly (readonly [name: string, Wire])[] = [
  ["gRPC", GRPC],
  ["HTTP", HTTP],
];

/** One request over gRPC, as it comes back. */
export async function infer(server: Server, inputs: Payload): Promise<Payload> {
  const client = createRemoteService(server.grpcAddress, {});
  onTestFinished(() => client.close());
  const signal = AbortSignal.timeout(15_000);
  const answer = await client.infer({
    ref: { model: "" },
    signature: "",
    inputs,
    call: { id: "1", metadata: {}, signal },
  });
  return answer.outputs;
}

async function post(url: string, body: object): Promise<Answer> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  const answer = (await response.json()) as Answer;
  if (!response.ok) throw new Error(String(answer.error));
  return answer;
}

/** TensorFlow's numbers, which the Kibernetika proxy's JSON takes. */
const DTYPE_NUMBERS: Partial<Record<Tensor["dtype"], number>> = { float32: 1, int32: 3, bytes: 7 };

function toJsonTensor(tensor: Tensor) {
  return { dtype: DTYPE_NUMBERS[tensor.dtype], data: toNested(tensor, toJson) };
}

function toJson(element: Element): unknown {
  return element instanceof Uint8Array ? Buffer.from(element).toString("base64") : element;
}
