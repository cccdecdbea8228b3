import { createHash } from "node:crypto";
import { hintedError, missingInput, unknownName } from "../../error-info.ts";
import { invalidArgument } from "../../errors.ts";
import type { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { cutText } from "../../platform/text/cut-text.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { dumpJson, isJsonObject, type JsonObject, type JsonValue } from "../../tensor/codecs/json/json-value.ts";
import { reshape } from "../../tensor/packed-tensor.ts";
import {
  type KnownInput,
  knownInputs,
  type Signature,
  type TensorSpec,
  takesImages,
  toSize,
} from "../../tensor/signature/signature.ts";
import { createTensors, elementCount, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { isImageInput } from "../example-values.ts";
import { aboutTensor } from "../http-standard/llms-text.ts";
import { classesSchemas } from "../kibernetika/http-outputs.ts";
import { withinMost } from "../kserve/describe-all.ts";
import { fitShape } from "../kserve/generate-request.ts";
import { defaultSignature } from "../kserve/model-metadata.ts";
import { describeModel } from "../kserve/model-ref.ts";
import { readInputs } from "../tensorflow-serving/http-request.ts";
import { nestedSchema } from "../value-schema.ts";
import { FUNCTION_TOOLS, TOOL_FUNCTIONS, type ToolFunction } from "./function-tools.ts";

/** A tool as clients list it: https://modelcontextprotocol.io/specification/2025-11-25/server/tools. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: object;
  readonly outputSchema?: object;
  readonly annotations?: object;
}

/** Characters of a tool's name that every assistant takes, and how many. */
const NAME_CHARACTERS = /[^A-Za-z0-9_-]/g;
const MAX_NAME = 64;

/**
 * The names of the models that the caller may know of, by the names of their tools; `ready` = of those alone that
 * answer now. A name does not depend on which of them are ready: where two would get the same, one that is called so
 * has it, and others end in a hash of their own.
 */
export function toolNames(service: InferenceService, which: "all" | "ready"): ReadonlyMap<string, string> {
  const states = service.index();
  const models = [...new Set(states.map(({ model }) => model))];
  const listed = new Set(states.flatMap(({ model, isReady }) => (isReady || which === "all" ? [model] : [])));
  const users = new Map<string, number>();
  for (const model of models) users.set(plainName(model), (users.get(plainName(model)) ?? 0) + 1);
  const nameOf = (model: string) => {
    const plain = plainName(model);
    return plain !== model && (users.get(plain) ?? 0) > 1 ? hashedName(plain, model) : plain;
  };
  return new Map(models.filter((model) => listed.has(model)).map((model) => [nameOf(model), model]));
}

function plainName(model: string): string {
  return model.replace(NAME_CHARACTERS, "_").slice(0, MAX_NAME) || "_";
}

const HASH_CHARACTERS = 8;

function hashedName(plain: string, model: string): string {
  const hash = createHash("sha256").update(model).digest("hex").slice(0, HASH_CHARACTERS);
  return `${plain.slice(0, MAX_NAME - HASH_CHARACTERS - 1)}_${hash}`;
}

/** A name for a function of the hooks of the model whose tool is called `name`. */
function functionToolName(name: string, entry: ToolFunction): string {
  const whole = `${name}_${entry}`;
  return whole.length <= MAX_NAME ? whole : hashedName(name, whole);
}

/** A model, or a function of its hooks. */
interface ToolTarget {
  readonly model: string;
  /** Absent = the model, or pipeline, itself. */
  readonly entry?: ToolFunction;
}

/** Finds a tool of a model that may be loading; undefined = no model has, or could have, one of that name. */
export function findTool(service: InferenceService, asked: string): ToolTarget | undefined {
  const names = toolNames(service, "all");
  const own = names.get(asked);
  if (own !== undefined) return { model: own };
  for (const [name, model] of names) {
    const entry = TOOL_FUNCTIONS.find((each) => functionToolName(name, each) === asked);
    if (entry !== undefined) return { model, entry };
  }
  return undefined;
}

/** Checks if a model is a tool: its inputs are known. */
export function isTool(description: ServableDescription): boolean {
  return knownInputs(defaultSignature(description)) !== undefined;
}

/**
 * Those of some models whose inputs are known, as tools, and the functions of their hooks. Beyond the tensors that a
 * document describes, one is there without its schemas.
 */
export async function describeTools(
  service: InferenceService,
  names: readonly (readonly [name: string, model: string])[],
): Promise<readonly Tool[]> {
  const found = names.map(async ([name, model]) => {
    const description = await describeModel(service, { model }).catch(() => undefined);
    // Unloaded meanwhile.
    return description === undefined ? [] : [{ name, description }];
  });
  const models = (await Promise.all(found)).flat();
  const pipelines = models.filter(({ description }) => isTool(description));
  const told = withinMost(pipelines.map(({ name, description }) => [name, defaultSignature(description)]));
  const all = toolNames(service, "all");
  return [
    ...pipelines.map(({ name, description }, index) => toTool(name, told[index]?.[1] ?? {}, description)),
    ...models.flatMap(({ name, description }) =>
      functionTools(name, description).filter((tool) => !all.has(tool.name)),
    ),
  ];
}

function functionTools(name: string, { model, hooks }: ServableDescription): readonly Tool[] {
  return TOOL_FUNCTIONS.filter((entry) => hooks?.entries?.includes(entry)).map((entry) => {
    const { about, signature } = FUNCTION_TOOLS[entry];
    const outputs = outputSchema(signature, false);
    return {
      ...{ name: functionToolName(name, entry), title: `${model}: ${entry}` },
      description: cutText(hooks?.description === undefined ? about : `${about} ${hooks.description}`),
      inputSchema: inputSchema(knownInputs(signature) ?? [], true),
      ...(outputs && { outputSchema: outputs }),
    };
  });
}

function toTool(name: string, signature: Signature, description: ServableDescription): Tool {
  const { model: title, decoupled = false, hooks, configured, models = [] } = description;
  const leavesNothing = hooks === undefined && models.length > 0 && models.every(({ isPure }) => isPure === true);
  const inputs = knownInputs(signature) ?? [];
  const outputs = outputSchema(signature, decoupled);
  const told = hooks?.description ?? configured?.parameters?.get("description");
  return {
    name,
    title,
    description: cutText(told ?? aboutModel(title, defaultSignature(description))),
    inputSchema: inputSchema(inputs, signature.inputs !== undefined),
    ...(outputs && { outputSchema: outputs }),
    // Hooks may do anything, and a state is what a run leaves behind.
    ...(leavesNothing && { annotations: { readOnlyHint: true, openWorldHint: false } }),
  };
}

/** Names of inputs or outputs that a description has; a wide model has thousands. */
const MAX_LISTED = 20;

function aboutModel(model: string, signature: Signature): string {
  const listed = (specs: readonly KnownInput[]) =>
    specs.slice(0, MAX_LISTED).map(aboutTensor).join(", ") + (specs.length > MAX_LISTED ? " and more" : "");
  const gives = signature.outputs ? `; gives ${listed(signature.outputs) || "nothing"}` : "";
  return `Runs the model ${model}: takes ${listed(knownInputs(signature) ?? []) || "nothing"}${gives}.`;
}

function inputSchema(inputs: readonly KnownInput[], isChecked: boolean): object {
  const required = isChecked ? inputs.filter(({ default: value }) => value === undefined).map(({ name }) => name) : [];
  return {
    type: "object",
    properties: Object.fromEntries(inputs.map((spec) => [spec.name, argumentSchema(spec)])),
    ...(required.length > 0 && { required }),
    ...(isChecked && { additionalProperties: false }),
  };
}

const BYTES = { type: "object", required: ["b64"], properties: { b64: { type: "string" } } };
const IMAGE = { ...BYTES, description: "An encoded image (PNG, JPEG, WebP …) in base64" };
const TEXT = { anyOf: [{ type: "string" }, BYTES] };

/** An input of images takes them encoded, too; bytes are texts, or base64. */
function argumentSchema(spec: KnownInput): object {
  const { dtype, shape, categories } = spec;
  const description = aboutTensor(spec);
  if (dtype === undefined) return { description };
  const isImage = isImageInput(spec);
  if (isImage && dtype !== "bytes")
    return { description, anyOf: [nestedSchema({ ...spec, dtype }), { type: "array", items: IMAGE }, IMAGE] };
  const element = isImage ? IMAGE : dtype === "bytes" ? TEXT : nestedSchema({ dtype, shape: [] });
  if (shape === undefined) return { description };
  const items = categories === undefined || isImage ? element : { enum: categories };
  return { description, ...inLists(shape, items) };
}

/** Lists of any length: a model may give others than its file says. */
function inLists(shape: NonNullable<KnownInput["shape"]>, element: object): object {
  return shape.reduceRight<object>((items) => ({ type: "array", items }), element);
}

/** Of parts, if a model answers in them; undefined = it does not say what it gives. */
function outputSchema({ outputs }: Signature, isDecoupled: boolean): object | undefined {
  if (outputs === undefined) return undefined;
  const schemas = outputs.map((spec) => {
    const { name, dtype, shape } = spec;
    const isFloat = /float/.test(dtype);
    // Null stands for NaN, and a text for an image or sound, with its place among the content.
    const element = isFloat ? { type: ["number", "null"] } : dtype === "bytes" ? { type: "string" } : {};
    const value = shape === undefined ? {} : inLists(shape, element);
    return [name, { description: aboutTensor(spec), ...value }] as const;
  });
  const properties = { ...classesSchemas(outputs), ...Object.fromEntries(schemas) };
  const one = { type: "object", properties, required: outputs.map(({ name }) => name) };
  if (!isDecoupled) return one;
  return { type: "object", properties: { parts: { type: "array", items: one } }, required: ["parts"] };
}

/**
 * The arguments of a call as tensors. A value without lists around it, or with too few, gets the shape of its input.
 * Throws `invalid_argument` for those that do not fit, with the names that do.
 */
export function readArguments(given: JsonValue, signature: Signature, budget: DecodeBudget): Tensors {
  if (!isJsonObject(given)) throw invalidArgument(`arguments is ${dumpJson(given)}; expected an object.`);
  const { inputs } = signature;
  checkNames(Object.keys(given), inputs);
  if (inputs?.length === 0) return createTensors();
  const told = withoutNulls(given, inputs);
  const body = { root: { inputs: told }, signature: "", outputFilter: [], budget, isPlain: true };
  const { inputs: tensors } = readInputs(body, signature);
  for (const spec of inputs ?? []) {
    const tensor = tensors[spec.name];
    if (tensor !== undefined) tensors[spec.name] = fitted(tensor, spec);
  }
  return tensors;
}

/** Assistants send null for an argument that they have no value for. */
function withoutNulls(given: JsonObject, inputs: Signature["inputs"] = []): JsonObject {
  const isNull = ({ name, default: value }: TensorSpec) => value !== undefined && given[name] === null;
  const nulls = new Set(inputs.filter(isNull).map(({ name }) => name));
  return nulls.size === 0 ? given : Object.fromEntries(Object.entries(given).filter(([name]) => !nulls.has(name)));
}

function checkNames(given: readonly string[], inputs: Signature["inputs"]): void {
  const names = inputs?.map(({ name }) => name);
  const unknown = names && given.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const hint = unknownName("UNKNOWN_INPUT", unknown, names ?? []);
    const near = hint.didYouMean === undefined ? "" : ` Did you mean ${hint.didYouMean}?`;
    const message = `There is no argument ${cutText(unknown)}; expected ${hint.expected ?? "none"}.${near}`;
    throw hintedError("invalid_argument", message, hint);
  }
  const missing = inputs?.find(({ name, default: value }) => value === undefined && !given.includes(name));
  if (missing !== undefined && names !== undefined)
    throw hintedError(
      "invalid_argument",
      `The argument ${missing.name} is missing; expected ${aboutTensor(missing)}.`,
      missingInput(missing.name, names),
    );
}

function fitted(tensor: Tensor, spec: KnownInput): Tensor {
  const { shape } = spec;
  const isImage = tensor.dtype === "bytes" && spec.dtype !== undefined && takesImages({ ...spec, dtype: spec.dtype });
  if (isImage) return tensor.shape.length === 0 ? reshape(tensor, [1]) : tensor;
  if (shape === undefined || tensor.shape.length > 1 || tensor.shape.length >= shape.length) return tensor;
  const sizes = fitShape(elementCount(tensor.shape), shape.map(toSize));
  return sizes === undefined ? tensor : reshape(tensor, sizes);
}
