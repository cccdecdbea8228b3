import { onTestFinished } from "vitest";
import { inferBody, JSON_BYTES } from "../../../src/client/http/infer-body.ts";
import { readAnswer } from "../../../src/client/http/read-answer.ts";
import { connect } from "../../../src/client/node.ts";
import { createRemoteService } from "../../../src/client/remote/remote-service.ts";
import type { Server } from "../../../src/server/server.ts";
import { parseExactJson, tensorFromJson } from "../../../src/tensor/codecs/json/tensor-from-json.ts";
import { type Element, toNested } from "../../../src/tensor/elements.ts";
import { createTensors, type Tensor, type Tensors } from "../../../src/tensor/tensor.ts";

/** A request to a model. `expected`: outputs that have the dtypes which some wires do not tell. */
interface WireCall {
  readonly model: string;
  readonly inputs: Tensors;
  readonly expected: Tensors;
}

/** A protocol on a transport, to which a server is connected. */
export interface OperatorWire {
  /** False for a value that the wire has no form for. */
  carries(tensor: Tensor): boolean;
  /** Gives the outputs; undefined where it has no form for such a request. */
  ask(call: WireCall): Promise<Tensors | undefined>;
}

/** Connects to a server over every wire that tensors go over, until the test ends. */
export function openWires({ grpcAddress, httpUrl }: Pick<Server, "grpcAddress" | "httpUrl">) {
  const kserve = connect(`grpc://${grpcAddress}`, { retries: false });
  const tensorflow = createRemoteService(grpcAddress, {});
  onTestFinished(async () => {
    kserve.$close();
    await tensorflow.close();
  });
  const post = (path: string, body: string | Uint8Array, headers = JSON_TYPE) =>
    ask(`${httpUrl}${path}`, body, headers);
  return {
    "V2 gRPC": { carries: () => true, ask: ({ model, inputs }) => kserve.$model(model).predict(inputs) },
    "V2 HTTP with binary values": { carries: () => true, ask: (call) => askV2(post, call, true) },
    "V2 HTTP with JSON": { carries: isFiniteTensor, ask: (call) => askV2(post, call, false) },
    "TensorFlow Serving gRPC": {
      carries: () => true,
      ask: async ({ model, inputs }) => {
        const payload = { kind: "tensors", tensors: inputs } as const;
        const { signal } = new AbortController();
        const answer = await tensorflow.infer({
          ref: { model },
          signature: "",
          inputs: payload,
          call: { id: "", metadata: {}, signal },
        });
        return (answer.outputs as typeof payload).tensors;
      },
    },
    "TensorFlow Serving REST": {
      carries: hasNestedShape,
      ask: async ({ model, inputs, expected }) => {
        const members = Object.entries(inputs).map(([name, tensor]) => `${JSON.stringify(name)}:${nestedText(tensor)}`);
        // As TensorFlow Serving does, it refuses JSON without inputs.
        if (members.length === 0) return undefined;
        const { bytes } = await post(`/v1/models/${model}:predict`, `{"inputs":{${members}}}`);
        const { outputs } = parseExactJson(bytes.toString()) as { outputs: Record<string, unknown> };
        const names = Object.keys(expected);
        return fromNested(names.length === 1 ? { [names[0]!]: outputs } : outputs, expected);
      },
    },
    Kibernetika: {
      carries: (tensor) => isFiniteTensor(tensor) && hasNestedShape(tensor),
      ask: async ({ model, inputs, expected }) => {
        const members = Object.entries(inputs).map(
          ([name, tensor]) => `${JSON.stringify(name)}:{"dtype":"${tensor.dtype}","data":${nestedText(tensor)}}`,
        );
        const { bytes } = await post(`/predict/${model}`, `{"inputs":{${members}}}`);
        return fromNested(parseExactJson(bytes.toString()) as Record<string, unknown>, expected);
      },
    },
  } satisfies Record<string, OperatorWire>;
}

const JSON_TYPE: Readonly<Record<string, string>> = { "content-type": "application/json" };

type Post = (path: string, body: string | Uint8Array, headers?: typeof JSON_TYPE) => ReturnType<typeof ask>;

async function askV2(post: Post, { model, inputs }: WireCall, isBinary: boolean): Promise<Tensors> {
  const { headers, body } = inferBody({ inputs }, isBinary);
  const answer = await post(`/v2/models/${model}/infer`, body, headers);
  return readAnswer(answer.bytes, answer.headers.get(JSON_BYTES)).outputs;
}

async function ask(url: string, body: string | Uint8Array, headers: typeof JSON_TYPE) {
  const response = await fetch(url, { method: "POST", body: body as string, headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`${response.status} ${bytes}`);
  return { bytes, headers: response.headers };
}

/** JSON has no words for other numbers. */
function isFiniteTensor(tensor: Tensor): boolean {
  let areFinite = true;
  toNested(tensor, (element) => {
    if (typeof element === "number") areFinite &&= Number.isFinite(element);
  });
  return areFinite;
}

/** Lists tell a shape where a list without elements is the innermost. */
function hasNestedShape({ shape }: Tensor): boolean {
  return !shape.slice(0, -1).includes(0);
}

function nestedText(tensor: Tensor): string {
  const text = (value: unknown): string => (Array.isArray(value) ? `[${value.map(text)}]` : String(value));
  return text(toNested(tensor, elementText));
}

/** NaN and infinities as words. */
function elementText(element: Element): string {
  if (element instanceof Uint8Array) return JSON.stringify({ b64: Buffer.from(element).toString("base64") });
  return String(element);
}

function fromNested(values: Readonly<Record<string, unknown>>, expected: Tensors): Tensors {
  const tensors = Object.entries(values).map(([name, data]) => {
    const fields = { dtype: expected[name]?.dtype, shape: shapeOf(data), data };
    return [name, tensorFromJson(name, fields)] as const;
  });
  return createTensors(tensors);
}

function shapeOf(value: unknown): number[] {
  if (!Array.isArray(value)) return [];
  return [value.length, ...(value.length === 0 ? [] : shapeOf(value[0]))];
}
