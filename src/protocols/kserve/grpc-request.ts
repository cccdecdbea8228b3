import { defineJob } from "../../codec-host/job.ts";
import { LARGE_MESSAGE_BYTES } from "../../codec-host/large-message.ts";
import { isQuickToRead, type ValuePlaces } from "../../codecs/protobuf/quick-look.ts";
import { WIRE, WireReader } from "../../codecs/protobuf/wire-reader.ts";
import { invalidArgument } from "../../errors.ts";
import type { Nesting } from "../../grpc/payload-start.ts";
import { DecodeBudget, ELEMENT_BYTES } from "../../limits/decode-budget.ts";
import { decodeQuickly } from "../../limits/quick-budget.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { VIEWED_CONTENTS } from "./grpc-contents.ts";
import { readParameter } from "./grpc-parameters.ts";
import { INPUT_CONTENTS, type InputFields, readInput, readOutput } from "./grpc-request-tensors.ts";
import type { KserveRequest, RequestedOutput, SharedInput } from "./kserve-request.ts";
import { type Parameter, readBoolean } from "./parameters.ts";
import { fromRaw } from "./raw-tensor.ts";

/** Field numbers of inference.ModelInferRequest. */
const REQUEST = { model: 1, version: 2, id: 3, parameters: 4, inputs: 5, outputs: 6, raw: 7 } as const;
/** The paths to the values of a ModelInferRequest: raw ones are at the top level, typed ones in `contents` of an input. */
export const INFER_NESTING: Nesting = [REQUEST.inputs, INPUT_CONTENTS];

/** Places of a ModelInferRequest's values that may be viewed. */
const REQUEST_PLACES: ValuePlaces = { nesting: INFER_NESTING, viewedFields: VIEWED_CONTENTS, rawField: REQUEST.raw };

/** Place of an answer's values: `raw` = raw_output_contents, `typed` = the typed fields, where the datatype has one. */
export type KserveEncoding = "raw" | "typed";

/** A ModelInferRequest, and the form of its answer: raw, unless the client asked for typed fields or uses them itself. */
export interface DecodedInferRequest extends KserveRequest {
  readonly encoding: KserveEncoding;
  /** True where each answer in a stream has to be marked as the last one to its request. */
  readonly tellsFinal: boolean;
}

/**
 * Reads a ModelInferRequest; its tensors may view `bytes`. `maxBytes` bounds what they take beyond it.
 * Throws `invalid_argument`, and nothing else, whatever the bytes are.
 */
export function decodeInferRequest(bytes: Uint8Array, maxBytes: number): DecodedInferRequest {
  return readRequest(bytes, new DecodeBudget(maxBytes));
}

/** {@link decodeInferRequest} for a codec thread. */
export const decodeInferRequestJob = defineJob(import.meta.url, "decodeInferRequestJob", decodeInferRequest);

/** {@link decodeInferRequest} for the main thread; undefined where that would take long. */
export function decodeInferRequestQuickly(bytes: Uint8Array, maxBytes: number): DecodedInferRequest | undefined {
  if (bytes.length > LARGE_MESSAGE_BYTES && !isQuickToRead(bytes, REQUEST_PLACES)) return undefined;
  return decodeQuickly(maxBytes, (budget) => readRequest(bytes, budget));
}

function readRequest(bytes: Uint8Array, budget: DecodeBudget): DecodedInferRequest {
  const fields = new InferRequestFields(budget);
  fields.read(new WireReader(bytes, "ModelInferRequest"));
  return fields.toRequest();
}

/** Number of fields that are searched for an id, which clients write among the first. */
const ID_FIELDS = 64;

/** The id of a ModelInferRequest that was not or cannot be read; empty where none of its first valid fields has it. */
export function requestIdOf(bytes: Uint8Array): string {
  const reader = new WireReader(bytes, "ModelInferRequest");
  let id = "";
  try {
    for (let rest = ID_FIELDS; rest > 0 && reader.hasMore(); rest--) {
      const tag = reader.tag();
      if (tag === ((REQUEST.id << 3) | WIRE.bytes)) id = reader.text();
      else reader.skip(tag);
    }
    return id;
  } catch {
    return id;
  }
}

/** The fields of a ModelInferRequest, in any order; values are interpreted after the last field. */
class InferRequestFields {
  #model = "";
  #version = "";
  #id = "";
  readonly #parameters = new Map<string, Parameter>();
  readonly #inputs: InputFields[] = [];
  /** Those in shared memory. */
  readonly #shared: InputFields[] = [];
  readonly #outputs: RequestedOutput[] = [];
  readonly #raw: Uint8Array[] = [];
  readonly #budget: DecodeBudget;

  constructor(budget: DecodeBudget) {
    this.#budget = budget;
  }

  read(reader: WireReader): void {
    while (reader.hasMore()) this.#readField(reader, reader.tag());
  }

  toRequest(): DecodedInferRequest {
    const isTyped = this.#raw.length === 0;
    return {
      model: this.#model,
      version: this.#version,
      id: this.#id,
      parameters: this.#parameters,
      inputs: isTyped ? this.#typedInputs() : this.#rawInputs(),
      ...(this.#shared.length > 0 && { shared: this.#sharedInputs() }),
      outputs: this.#outputs,
      encoding: isTyped && readBoolean(this.#parameters, "typed_outputs") === true ? "typed" : "raw",
      tellsFinal: readBoolean(this.#parameters, "triton_enable_empty_final_response") === true,
    };
  }

  #readField(reader: WireReader, tag: number): void {
    switch (tag) {
      case (REQUEST.model << 3) | WIRE.bytes:
        this.#model = reader.text();
        return;
      case (REQUEST.version << 3) | WIRE.bytes:
        this.#version = reader.text();
        return;
      case (REQUEST.id << 3) | WIRE.bytes:
        this.#id = reader.text();
        return;
      case (REQUEST.parameters << 3) | WIRE.bytes:
        readParameter(reader.nested("ModelInferRequest.parameters"), this.#parameters, this.#budget);
        return;
      case (REQUEST.inputs << 3) | WIRE.bytes:
        this.#readInput(reader.nested("InferInputTensor"));
        return;
      case (REQUEST.outputs << 3) | WIRE.bytes:
        this.#budget.countOutputs(1);
        this.#outputs.push(readOutput(reader.nested("InferRequestedOutputTensor"), this.#budget));
        return;
      case (REQUEST.raw << 3) | WIRE.bytes:
        this.#budget.spend(ELEMENT_BYTES, () => "one more entry of raw_input_contents");
        this.#raw.push(reader.bytes());
        return;
      default:
        reader.skip(tag);
    }
  }

  #readInput(reader: WireReader): void {
    this.#budget.countInputs(1);
    const input = readInput(reader, this.#budget);
    if (input.place === undefined) this.#inputs.push(input);
    else this.#shared.push(input);
  }

  #sharedInputs(): SharedInput[] {
    return this.#shared.flatMap(({ head, contents, place }) => {
      if (contents.isEmpty) return place === undefined ? [] : { head, place };
      throw invalidArgument(
        `unexpected 'content' provided when using shared memory for input tensor '${head.name}' for model '${this.#model}'`,
      );
    });
  }

  #typedInputs(): (readonly [string, Tensor])[] {
    return this.#inputs.map(({ head, contents }) => [head.name, contents.toTensor(head, this.#model)]);
  }

  #rawInputs(): (readonly [string, Tensor])[] {
    if (this.#inputs.length === 0) this.#refuseLeftOver();
    return this.#inputs.map(({ head, contents }, index) => {
      const raw = this.#raw[index];
      if (!contents.isEmpty)
        throw invalidArgument(
          `contents field must not be specified when using raw_input_contents for '${head.name}' for model '${this.#model}'`,
        );
      if (raw === undefined)
        throw invalidArgument(
          `unable to find data for input tensor '${head.name}' for model '${this.#model}' in request.`,
        );
      if (index === this.#inputs.length - 1) this.#refuseLeftOver();
      return [head.name, fromRaw(head, raw, { model: this.#model, id: this.#id, budget: this.#budget })];
    });
  }

  #refuseLeftOver(): void {
    const [entries, inputs] = [this.#raw.length, this.#inputs.length];
    if (entries === inputs) return;
    throw invalidArgument(
      `raw_input_contents has ${entries} entries, but the request has ${inputs} inputs for model '${this.#model}'`,
    );
  }
}
