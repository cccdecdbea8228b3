import { invalidArgument } from "../../errors.ts";
import { type FramedMessage, frameParts } from "../../grpc/framed-message.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { DecodeBudget, decodeQuickly, ELEMENT_BYTES } from "../../platform/limits/memory/decode-budget.ts";
import type { RecordedMessage } from "../../serving/request-log.ts";
import { isQuickToRead } from "../../tensor/codecs/protobuf/quick-look.ts";
import { bytesTag, tagOf, WIRE, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { encodeMessage, integerField, messageField, textElement } from "../../tensor/codecs/protobuf/wire-writer.ts";
import { byteSize, type Tensors } from "../../tensor/tensor.ts";
import { REQUEST_PLACES } from "./grpc-codec.ts";
import { type ModelSpec, modelSpecParts, NO_MODEL_SPEC, readModelSpec } from "./model-spec.ts";
import { TensorMap, tensorFields } from "./tensor-map.ts";
import type { TensorEncoding } from "./tensor-proto-writer.ts";

/**
 * Field numbers of tensorflow.serving.SessionRunRequest and SessionRunResponse, and of RunOptions. A NamedTensorProto
 * has those of a map's entry.
 */
const REQUEST = { modelSpec: 1, feed: 2, fetch: 3, target: 4, options: 5 } as const;
const RESPONSE = { tensor: 1, modelSpec: 3 } as const;
const TIMEOUT_MS = 2;

/** A tensorflow.serving.SessionRunRequest. */
export interface SessionRunRequest {
  readonly spec: ModelSpec;
  /** By the names of the graph's tensors. */
  readonly feeds: Tensors;
  readonly fetches: readonly string[];
  readonly targets: readonly string[];
  /** `options.timeout_in_ms`; 0 = none. */
  readonly timeoutMs: number;
}

/** A tensorflow.serving.SessionRunResponse. */
export interface SessionRunResponse {
  readonly spec: ModelSpec;
  /** By the names that were fetched, in their order. */
  readonly tensors: Tensors;
}

function decode(bytes: Uint8Array, maxBytes: number): SessionRunRequest {
  return readRequest(bytes, new DecodeBudget(maxBytes));
}

/** Reads a SessionRunRequest in a codec thread; throws `invalid_argument`, and nothing else, whatever the bytes are. */
export const decodeSessionRunJob = defineJob(import.meta.url, "decodeSessionRunJob", decode);

/** {@link decodeSessionRunJob} for the main thread; undefined if that would take long. */
export function decodeSessionRunQuickly(bytes: Uint8Array, maxBytes: number): SessionRunRequest | undefined {
  if (bytes.length > LARGE_MESSAGE_BYTES && !isQuickToRead(bytes, REQUEST_PLACES)) return undefined;
  return decodeQuickly(maxBytes, (budget) => readRequest(bytes, budget));
}

function readRequest(bytes: Uint8Array, budget: DecodeBudget): SessionRunRequest {
  const reader = new WireReader(bytes, "SessionRunRequest");
  const feeds = new Feeds(budget);
  const fetches = new Set<string>();
  const targets = new Set<string>();
  let spec = NO_MODEL_SPEC;
  let timeoutMs = 0;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(REQUEST.modelSpec)) spec = readModelSpec(reader.nested("ModelSpec"), spec);
    else if (tag === bytesTag(REQUEST.feed)) feeds.read(reader.nested("NamedTensorProto"));
    else if (tag === bytesTag(REQUEST.fetch)) addName(fetches, reader.text(), budget);
    else if (tag === bytesTag(REQUEST.target)) addName(targets, reader.text(), budget);
    else if (tag === bytesTag(REQUEST.options)) timeoutMs = readTimeout(reader.nested("RunOptions"), timeoutMs);
    else reader.skip(tag);
  }
  return { spec, feeds: feeds.tensors(), fetches: [...fetches], targets: [...targets], timeoutMs };
}

class Feeds {
  readonly #names = new Set<string>();
  readonly #budget: DecodeBudget;
  readonly #map: TensorMap;

  constructor(budget: DecodeBudget) {
    this.#budget = budget;
    this.#map = new TensorMap(budget);
  }

  read(entry: WireReader): void {
    this.#budget.countInputs(1);
    const name = this.#map.read(entry);
    if (this.#names.has(name)) throw invalidArgument(`The tensor "${name}" is fed twice; expected one feed for each.`);
    this.#names.add(name);
  }

  tensors(): Tensors {
    return this.#map.tensors();
  }
}

/** A tensor that is named twice would be sent twice. */
function addName(names: Set<string>, name: string, budget: DecodeBudget): void {
  budget.countOutputs(1);
  budget.spend(ELEMENT_BYTES, () => "one more fetch or target");
  if (names.has(name)) throw invalidArgument(`"${name}" is asked for twice; expected each name once.`);
  names.add(name);
}

function readTimeout(reader: WireReader, earlier: number): number {
  let timeoutMs = earlier;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === tagOf(TIMEOUT_MS, WIRE.varint)) timeoutMs = Math.max(0, Number(reader.int64()));
    else reader.skip(tag);
  }
  return timeoutMs;
}

/** A SessionRunRequest to be recorded. */
export function recordedSessionRun({ spec, feeds, fetches, targets, timeoutMs }: SessionRunRequest): RecordedMessage {
  const encode = () =>
    encodeMessage([
      messageField(REQUEST.modelSpec, modelSpecParts({ ...spec, versionEncoding: "int64" })),
      ...tensorFields(REQUEST.feed, feeds, "content"),
      ...fetches.map((name) => textElement(REQUEST.fetch, name)),
      ...targets.map((name) => textElement(REQUEST.target, name)),
      messageField(REQUEST.options, [integerField(TIMEOUT_MS, timeoutMs)]),
    ]);
  return { bytes: bytesOf(feeds), encode };
}

/** A SessionRunResponse to be recorded. */
export function recordedSessionResponse({ spec, tensors }: SessionRunResponse): RecordedMessage {
  const encode = () =>
    encodeMessage([
      ...tensorFields(RESPONSE.tensor, tensors, "content"),
      messageField(RESPONSE.modelSpec, modelSpecParts({ ...spec, versionEncoding: "int64" })),
    ]);
  return { bytes: bytesOf(tensors), encode };
}

/** A SessionRunResponse in its wire form; with `borrows`, large values are not copied. */
export function frameSessionRun(
  { spec, tensors }: SessionRunResponse,
  encoding: TensorEncoding,
  borrows: boolean,
): FramedMessage {
  const parts = tensorFields(RESPONSE.tensor, tensors, encoding);
  parts.push(messageField(RESPONSE.modelSpec, modelSpecParts(spec)));
  return frameParts(parts, borrows);
}

/** {@link frameSessionRun} for a codec thread. */
export const frameSessionRunJob = defineJob(import.meta.url, "frameSessionRunJob", frameSessionRun);

function bytesOf(tensors: Tensors): number {
  return Object.values(tensors).reduce((bytes, tensor) => bytes + byteSize(tensor), 0);
}
