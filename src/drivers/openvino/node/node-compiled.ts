import { failedPrecondition } from "../../../errors.ts";
import { createTensor, type Tensor } from "../../../tensor/tensor.ts";
import { fromDType, toDType } from "../element-types.ts";
import type { CompiledNetwork, InferRequest, Port, PortRole } from "../engine.ts";
import {
  type AddonCompiledModel,
  type AddonInferRequest,
  type AddonTensor,
  attempt,
  type NodeContext,
  type OpenvinoAddon,
  toFailure,
  toText,
} from "./addon-api.ts";

/** ov::CompiledModel in openvino-node. */
export class NodeCompiled implements CompiledNetwork {
  readonly #context: NodeContext;
  readonly #compiled: AddonCompiledModel;
  readonly #outputs: readonly Port[];

  /** The outputs are those of its network. */
  constructor(context: NodeContext, compiled: AddonCompiledModel, outputs: readonly Port[]) {
    this.#context = context;
    this.#compiled = compiled;
    this.#outputs = outputs;
  }

  property(key: string): string {
    return attempt(() => toText(this.#compiled.getProperty(key)));
  }

  createRequest(): InferRequest {
    return attempt(() => new NodeRequest(this.#context, this.#compiled.createInferRequest(), this.#outputs));
  }

  release(): void {}
}

/** Inputs of running requests: nothing else keeps them from being freed. */
const beingRead = new Set<readonly GivenTensor[]>();

/** ov::InferRequest in openvino-node. */
class NodeRequest implements InferRequest {
  readonly #context: NodeContext;
  readonly #request: AddonInferRequest;
  readonly #outputs: readonly AddonTensor[];

  constructor(context: NodeContext, request: AddonInferRequest, outputs: readonly Port[]) {
    this.#context = context;
    this.#request = request;
    // After each run the addon copies all outputs, and writes past the copy of one without
    // elements that is in the device's own memory.
    this.#outputs = outputs.map((port) => createOutput(context.addon, port));
    for (const [place, tensor] of this.#outputs.entries()) request.setOutputTensor(place, tensor);
  }

  async infer(inputs: readonly Tensor[], outputs: readonly number[]): Promise<Tensor[]> {
    const given = inputs.map((tensor) => toAddonTensor(this.#context.addon, tensor));
    beingRead.add(given);
    try {
      await this.#request.inferAsync(given.map(({ tensor }) => tensor));
    } catch (reason) {
      throw toFailure(reason);
    } finally {
      beingRead.delete(given);
    }
    return attempt(() => outputs.map((place) => fromAddonTensor(this.#outputs[place]!)));
  }

  /** The addon cannot abort a run: it continues without a caller. */
  cancel(): void {}

  release(): void {}
}

/** Element types that the addon has tensors of; of strings it has those that are text, which bytes need not be. */
const CARRIED = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"];
const TITLES = { inputs: "Input", outputs: "Output" } as const;

/** Throws `failed_precondition` for an input or output type that the addon's tensors do not support. */
export function assertCarried(role: PortRole, { name, elementType }: Port): void {
  if (CARRIED.includes(elementType)) return;
  throw failedPrecondition(
    `${TITLES[role]} "${name}" is of element type ${elementType}, which openvino-node does not carry; use -o engine=native.`,
  );
}

/** A tensor that views memory, which has to stay valid as long as it is used. */
interface GivenTensor {
  readonly tensor: AddonTensor;
  readonly data: NodeJS.TypedArray;
}

/**
 * A tensor of the addon on ours; its memory, if that is the whole of a buffer that no other thread has, or else a copy:
 * the addon takes no parts of buffers.
 */
function toAddonTensor(addon: OpenvinoAddon, { dtype, shape, data }: Tensor): GivenTensor {
  const elementType = fromDType(dtype) as string;
  const numbers = data as NodeJS.TypedArray;
  // Memory of length 0 has no address, which the addon treats as missing.
  if (numbers.length === 0) return { tensor: new addon.Tensor(elementType, shape), data: numbers };
  const isWhole = numbers.byteLength === numbers.buffer.byteLength && numbers.buffer instanceof ArrayBuffer;
  const whole = isWhole ? numbers : numbers.slice();
  return { tensor: new addon.Tensor(elementType, shape, whole), data: whole };
}

/** A tensor for an output: of its shape, or as small as it may be, which runs then enlarge. */
function createOutput(addon: OpenvinoAddon, { elementType, shape = [0] }: Port): AddonTensor {
  const least = shape.map((dimension) => (typeof dimension === "number" ? Math.max(0, dimension) : dimension.min));
  return new addon.Tensor(elementType, least);
}

/** A copy of an output. */
function fromAddonTensor(tensor: AddonTensor): Tensor {
  const dtype = toDType(tensor.getElementType(), "The output");
  return createTensor(dtype, tensor.getShape(), tensor.getData() as never);
}
