import { isObject } from "../../tensor/is-object.ts";
import type { DescribedTensor, ModelMetadata } from "../transport.ts";

/** Characters of an answer that a message has at most. */
const MAX_SHOWN = 80;

/** Reads a model's metadata. Throws where the JSON is something else. */
export function readMetadata(json: unknown): ModelMetadata {
  const { inputs, outputs, ...others } = asObject(json) as Readonly<Record<string, unknown>> & {
    readonly name: string;
  };
  return { ...others, ...tensorsIn("inputs", inputs), ...tensorsIn("outputs", outputs) };
}

/** Nothing where the server does not say; some servers write sizes as texts. */
function tensorsIn(key: string, value: unknown): Readonly<Record<string, readonly DescribedTensor[]>> {
  if (value === undefined || value === null) return {};
  if (!isListOf(value, isDescribed)) throw unexpected(`its "${key}" are ${shown(value)}`, "tensors");
  return { [key]: value.map((tensor) => ({ ...tensor, shape: tensor.shape.map(Number) })) };
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
