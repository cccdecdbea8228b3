import type { CallError } from "../../src/client/call-error.ts";
import type { CallOptions } from "../../src/pipeline/call-options.ts";
import type { InferResponse, PartSink } from "../../src/pipeline/infer-request.ts";
import type { Servable } from "../../src/serving/servable.ts";
import { toTensors, type Values } from "../../src/tensor/plain-value.ts";
import type { Tensors } from "../../src/tensor/tensor.ts";
import { plain } from "./run-pipeline.ts";

/** A sink that keeps what it gets as plain nested values. */
export class CollectedParts implements PartSink {
  readonly parts: Record<string, unknown>[] = [];
  readonly #onPart: (count: number) => unknown;

  /** `onPart` may return a promise that is waited for, or throw. */
  constructor(onPart: (count: number) => unknown = () => {}) {
    this.#onPart = onPart;
  }

  async write({ outputs }: InferResponse): Promise<void> {
    this.parts.push(
      outputs.kind === "tensors" ? plain(outputs.tensors) : JSON.parse(Buffer.from(outputs.json).toString()),
    );
    await this.#onPart(this.parts.length);
  }
}

/** Runs one request whose parts go to the sink. */
export function runParts(
  servable: Servable,
  inputs: Values,
  parts: PartSink,
  options: Partial<CallOptions> = {},
): Promise<InferResponse> {
  const call = { id: "1", metadata: {}, signal: new AbortController().signal, ...options };
  const payload = { kind: "tensors", tensors: toTensors(inputs) } as const;
  return servable.run({ signature: { name: "", spec: undefined }, inputs: payload, parts, call });
}

/** The first number of each `value` among parts, and the error that comes after them. */
export async function valuesOf(parts: AsyncIterable<Tensors>) {
  const values: unknown[] = [];
  try {
    for await (const { value } of parts) values.push(value?.data[0]);
    return { values, error: undefined };
  } catch (error) {
    return { values, error: error as CallError };
  }
}
