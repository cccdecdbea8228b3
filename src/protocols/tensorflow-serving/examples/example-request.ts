import { invalidArgument } from "../../../errors.ts";
import { defineJob } from "../../../platform/codec-host/job.ts";
import { LARGE_MESSAGE_BYTES } from "../../../platform/codec-host/large-message.ts";
import { DecodeBudget, ELEMENT_BYTES } from "../../../platform/limits/memory/decode-budget.ts";
import type { RecordedMessage } from "../../../serving/request-log.ts";
import { bytesTag, WireReader } from "../../../tensor/codecs/protobuf/wire-reader.ts";
import {
  bytesField,
  encodeMessage,
  messageField,
  textField,
  type WirePart,
} from "../../../tensor/codecs/protobuf/wire-writer.ts";
import { byteSize, createTensor, type Tensor } from "../../../tensor/tensor.ts";
import { type ModelSpec, modelSpecParts, NO_MODEL_SPEC, readModelSpec } from "../model-spec.ts";

/** One thing that a request asks for of its examples. */
export interface ExampleTask {
  readonly spec: ModelSpec;
  /** The signature's method, for example `tensorflow/serving/classify`; empty if the RPC determines it. */
  readonly method: string;
}

/** A ClassificationRequest, a RegressionRequest or a MultiInferenceRequest. */
export interface ExampleRequest {
  /** One, unless it is a MultiInferenceRequest. */
  readonly tasks: readonly ExampleTask[];
  /** Serialised tf.Examples: [count], each with the context before it. */
  readonly examples: Tensor<"bytes">;
}

/** Field numbers of ClassificationRequest, of RegressionRequest and of InferenceTask. */
const REQUEST = { modelSpec: 1, input: 2, methodName: 2 } as const;
const MULTI_REQUEST = { tasks: 1, input: 2 } as const;
/** Field numbers of Input, and of the lists in it. */
const INPUT = { list: 1, listWithContext: 2 } as const;
const LIST = { examples: 1, context: 2 } as const;
const MAX_TASKS = 64;

type Bytes = Uint8Array;

/** Reads a ClassificationRequest or a RegressionRequest. `maxBytes` limits the memory of the result. */
function readSingle(bytes: Bytes, maxBytes: number): ExampleRequest {
  const reader = new WireReader(bytes, "ClassificationRequest or RegressionRequest");
  const input = new InputReader(new DecodeBudget(maxBytes));
  let spec = NO_MODEL_SPEC;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(REQUEST.modelSpec)) spec = readModelSpec(reader.nested("ModelSpec"), spec);
    else if (tag === bytesTag(REQUEST.input)) input.read(reader.nested("Input"));
    else reader.skip(tag);
  }
  return { tasks: [{ spec, method: "" }], examples: input.examples() };
}

/** Reads a MultiInferenceRequest, likewise. */
function readMulti(bytes: Bytes, maxBytes: number): ExampleRequest {
  const reader = new WireReader(bytes, "MultiInferenceRequest");
  const input = new InputReader(new DecodeBudget(maxBytes));
  const tasks: ExampleTask[] = [];
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(MULTI_REQUEST.tasks)) tasks.push(readTask(reader.nested("InferenceTask")));
    else if (tag === bytesTag(MULTI_REQUEST.input)) input.read(reader.nested("Input"));
    else reader.skip(tag);
    if (tasks.length > MAX_TASKS) throw invalidArgument(`The request has more than ${MAX_TASKS} tasks; send several.`);
  }
  return { tasks, examples: input.examples() };
}

/** {@link readSingle} and {@link readMulti} for a codec thread. */
export const readSingleJob = defineJob(import.meta.url, "readSingleJob", readSingle);
export const readMultiJob = defineJob(import.meta.url, "readMultiJob", readMulti);

/** Checks if a message is work for a codec thread. */
export function isLargeRequest(bytes: Bytes): boolean {
  return bytes.length > LARGE_MESSAGE_BYTES;
}

/** A copy of the examples in their own memory, since a run transfers its inputs. */
export function copyExamples({ shape, data }: Tensor<"bytes">): Tensor<"bytes"> {
  return createTensor(
    "bytes",
    shape,
    data.map((example) => new Uint8Array(example)),
  );
}

/**
 * A ClassificationRequest or a RegressionRequest of one task, a MultiInferenceRequest
 * of tasks that have methods; to be recorded.
 */
export function recordedRequest({ tasks, examples }: ExampleRequest): RecordedMessage {
  const encode = () => {
    const list = examples.data.map((example) => bytesField(LIST.examples, example));
    return encodeMessage([...tasks.map(taskField), messageField(REQUEST.input, [messageField(INPUT.list, list)])]);
  };
  return { bytes: byteSize(examples), encode };
}

function taskField({ spec, method }: ExampleTask): WirePart {
  const model = messageField(REQUEST.modelSpec, modelSpecParts({ ...spec, versionEncoding: "int64" }));
  return method === "" ? model : messageField(MULTI_REQUEST.tasks, [model, textField(REQUEST.methodName, method)]);
}

function readTask(reader: WireReader): ExampleTask {
  let spec = NO_MODEL_SPEC;
  let method = "";
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(REQUEST.modelSpec)) spec = readModelSpec(reader.nested("ModelSpec"), spec);
    else if (tag === bytesTag(REQUEST.methodName)) method = reader.text();
    else reader.skip(tag);
  }
  return { spec, method };
}

/** An Input while it is read: lists of one kind are merged, and of two kinds the last one counts. */
class InputReader {
  readonly #budget: DecodeBudget;
  #kind: number | undefined;
  #examples: Bytes[] = [];
  #context: Bytes[] = [];

  constructor(budget: DecodeBudget) {
    this.#budget = budget;
  }

  read(reader: WireReader): void {
    while (reader.hasMore()) {
      const tag = reader.tag();
      const kind = tag >>> 3;
      if (tag !== bytesTag(INPUT.list) && tag !== bytesTag(INPUT.listWithContext)) reader.skip(tag);
      else this.#readList(kind, reader.nested("ExampleList"));
    }
  }

  /** Protobuf merges messages whose bytes follow one another: the features of an example count, then the context's. */
  examples(): Tensor<"bytes"> {
    const context = Buffer.concat(this.#context);
    const examples = context.length === 0 ? this.#examples : this.#examples.map((one) => this.#inContext(context, one));
    return createTensor("bytes", [examples.length], examples);
  }

  #inContext(context: Bytes, example: Bytes): Bytes {
    this.#budget.spend(context.length + example.length, () => "the context of one more example");
    return Buffer.concat([context, example]);
  }

  #readList(kind: number, reader: WireReader): void {
    if (kind !== this.#kind) {
      this.#kind = kind;
      this.#examples = [];
      this.#context = [];
    }
    while (reader.hasMore()) {
      const tag = reader.tag();
      if (tag === bytesTag(LIST.examples)) {
        this.#budget.spend(2 * ELEMENT_BYTES, () => "one more example");
        this.#examples.push(reader.bytes());
      } else if (tag === bytesTag(LIST.context) && kind === INPUT.listWithContext) {
        this.#context.push(reader.bytes());
      } else reader.skip(tag);
    }
  }
}
