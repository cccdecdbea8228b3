import { type ErrorCode, invalidArgument, ServingError, toErrorCode } from "../../errors.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { datatypeNamed } from "../../protocols/kserve/datatype.ts";
import { fromRaw } from "../../protocols/kserve/raw-tensor.ts";
import { parseExactJson, tensorFromJson } from "../../tensor/codecs/json/tensor-from-json.ts";
import { isObject } from "../../tensor/record.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { type DescribedTensor, type ModelAnswer, type ModelMetadata, valuesIn } from "../transport.ts";

interface WireOutput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data?: unknown;
  readonly parameters?: { readonly binary_data_size?: number };
}

interface WireAnswer {
  readonly error?: unknown;
  readonly code?: unknown;
  readonly model_name?: string;
  readonly model_version?: string;
  readonly outputs?: readonly WireOutput[];
}

/**
 * Reads the body of an answer of KServe V2; `jsonBytes` = length of its JSON, null = all of it. Throws
 * `invalid_argument` for any other body.
 */
export function readAnswer(body: Uint8Array, jsonBytes: string | null): Omit<ModelAnswer, "metadata"> {
  const { json, take } = splitBody(body, jsonBytes);
  const answer = parseExactJson(json) as WireAnswer;
  const model = answer.model_name ?? "";
  const budget = new DecodeBudget(Number.POSITIVE_INFINITY);
  const outputs = (answer.outputs ?? []).map((output) => {
    const size = output.parameters?.binary_data_size;
    if (size === undefined) return [output.name, fromJson(output)] as const;
    return [output.name, fromRaw(output, take(size), { model, budget })] as const;
  });
  return { model, version: answer.model_version ?? "", outputs: createTensors(outputs) };
}

/** An event of a stream of KServe V2. */
interface ReadPart {
  readonly outputs: Tensors;
  /** An error in place of a part; `unknown` if the server tells no code. */
  readonly failure?: { readonly text: string; readonly code: ErrorCode };
}

/** Reads an event of a stream of KServe V2: a part of an answer, or the error after which nothing follows. */
export function readPart(json: string): ReadPart {
  const { outputs, error, code } = asObject(parseExactJson(json)) as WireAnswer;
  if (outputs !== undefined)
    return { outputs: createTensors(outputs.map((output) => [output.name, fromJson(output)])) };
  if (typeof error === "string") return { outputs: createTensors(), failure: { text: error, code: toErrorCode(code) } };
  throw new Error(`an event is ${json.slice(0, MAX_SHOWN)}`);
}

/** The JSON of a body of KServe V2, and what takes the bytes after it, a tensor at a time, in their order. */
export function splitBody(body: Uint8Array, jsonBytes: string | null) {
  let position = jsonBytes === null ? body.length : Number(jsonBytes);
  const json = new TextDecoder().decode(body.subarray(0, position));
  const take = (size: number) => {
    position += size;
    return body.subarray(position - size, position);
  };
  return { json, take };
}

function fromJson({ name, datatype, shape, data = [] }: WireOutput): Tensor {
  const dtype = datatypeNamed(datatype)?.dtype;
  if (dtype === undefined)
    throw invalidArgument(`Output "${name}" is ${datatype}, which is not a datatype of KServe V2.`);
  return tensorFromJson(name, { dtype, shape, data });
}

/** Reads the events of a body of Server-Sent Events (WHATWG HTML §9.2.6): their data alone, as they come. */
export class EventReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #maxCharacters: number;
  /** Lines that have come, the last one first, and the beginning of the next one, whose text is not looked at again. */
  #lines: string[] = [];
  #begun = "";
  #isOver = false;

  /** Throws for any other content type. `maxCharacters`: those of an event, at most. Default: as many as V8 takes. */
  constructor(body: ReadableStream<Uint8Array> | null, contentType: string, maxCharacters = MAX_CHARACTERS) {
    this.#maxCharacters = maxCharacters;
    if (body === null || !/^text\/event-stream\b/i.test(contentType)) {
      void body?.cancel();
      throw new Error(`it is ${contentType}, and not a stream of events`);
    }
    this.#reader = body.getReader();
  }

  /**
   * The data of the next event; undefined at the end. Rejects if the body breaks off, and with `resource_exhausted`
   * for an event that is longer than a text can be.
   */
  async next(): Promise<string | undefined> {
    const data: string[] = [];
    for (;;) {
      const line = await this.#nextLine();
      if ((line === undefined || line === "") && data.length > 0) return data.join("\n");
      if (line === undefined) return undefined;
      if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    }
  }

  /** Ends the answer, if it has not ended. */
  async cancel(): Promise<void> {
    // A body that broke off has told so.
    await this.#reader.cancel().catch(() => {});
  }

  async #nextLine(): Promise<string | undefined> {
    while (this.#lines.length === 0) {
      if (this.#isOver) return undefined;
      const { done, value } = await this.#reader.read();
      this.#isOver = done;
      this.#take(done ? "\n" : this.#decoder.decode(value, { stream: true }));
    }
    return this.#lines.pop();
  }

  #take(text: string): void {
    const [first = "", ...others] = text.split("\n");
    if (this.#begun.length + first.length > this.#maxCharacters) throw tooLong(this.#maxCharacters);
    if (others.length === 0) {
      this.#begun += first;
      return;
    }
    const begun = others.pop();
    // Taking the first of many thousands would move all others each time.
    const lines = [this.#begun + first, ...others].reverse();
    this.#lines = lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
    this.#begun = `${begun}`;
  }
}

/** The longest text of V8; other engines take longer ones. */
const MAX_CHARACTERS = 2 ** 29 - 24;

function tooLong(characters: number): ServingError {
  return new ServingError(
    "resource_exhausted",
    `a part has more than ${characters} characters of JSON, which no text can hold. Connect by gRPC, which carries values as bytes, or have the model give smaller parts`,
  );
}

/** Characters of an answer that a message has at most. */
const MAX_SHOWN = 80;

/** Reads a model's metadata. Throws if the JSON is something else. */
export function readMetadata(json: unknown): ModelMetadata {
  const { inputs, outputs, ...others } = asObject(json) as Readonly<Record<string, unknown>> & {
    readonly name: string;
  };
  return { ...others, ...tensorsIn("inputs", inputs), ...tensorsIn("outputs", outputs) };
}

/** Nothing if the server does not say; some servers write sizes as texts. */
function tensorsIn(key: string, value: unknown): Readonly<Record<string, readonly DescribedTensor[]>> {
  if (value === undefined || value === null) return {};
  if (!isListOf(value, isDescribed)) throw unexpected(`its "${key}" are ${shown(value)}`, "tensors");
  const toTensor = (tensor: DescribedTensor & { readonly parameters?: unknown }) => {
    return { ...tensor, shape: tensor.shape.map(Number), ...valuesIn(tensor.parameters) };
  };
  return { [key]: value.map(toTensor) };
}

/** Reads the extensions that a server says it has, likewise. */
export function readExtensions(json: unknown): readonly string[] {
  return textsIn(asObject(json), "extensions");
}

/** Reads the names of a server's list of models, likewise. */
export function readModels(json: unknown): readonly string[] {
  return textsIn(asObject(json), "models");
}

/** Reads the names of a repository's index, each once, likewise. */
export function readIndex(json: unknown): readonly string[] {
  if (isListOf(json, hasName)) return [...new Set(json.map(({ name }) => name))];
  throw unexpected(`it is ${shown(json)}`, "models with names");
}

function textsIn(object: object, key: string): readonly string[] {
  const texts = (object as Readonly<Record<string, unknown>>)[key] ?? [];
  if (isListOf(texts, (text): text is string => typeof text === "string")) return texts;
  throw unexpected(`its "${key}" are ${shown(texts)}`, "texts");
}

function asObject(json: unknown): object {
  if (isObject(json)) return json;
  throw new Error(`it is ${shown(json)}, and not an object`);
}

function isListOf<Element>(value: unknown, is: (element: unknown) => element is Element): value is readonly Element[] {
  return Array.isArray(value) && value.every(is);
}

function hasName(value: unknown): value is { readonly name: string } {
  return typeof (value as { name?: unknown } | null)?.name === "string";
}

function isDescribed(value: unknown): value is DescribedTensor {
  if (!hasName(value)) return false;
  const { datatype, shape } = value as Partial<DescribedTensor>;
  return typeof datatype === "string" && isListOf(shape, (size): size is number => Number.isFinite(Number(size)));
}

function unexpected(what: string, expected: string): Error {
  return new Error(`${what}; expected a list of ${expected}`);
}

function shown(json: unknown): string {
  return JSON.stringify(json).slice(0, MAX_SHOWN);
}
