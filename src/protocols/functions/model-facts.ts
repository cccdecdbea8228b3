import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { TEXT_FUNCTIONS } from "../../serving/infer-text.ts";
import type { ServableState } from "../../serving/inference-service.ts";
import { maxBatchSize, type ServableDescription } from "../../serving/servable-description.ts";
import { isDType } from "../../tensor/dtype.ts";
import { createRecord } from "../../tensor/record.ts";
import { defaultSignatureName, type Signature, type TensorSpec, toSize } from "../../tensor/signature/signature.ts";

/** One version of a model as another server tells it; without a description it cannot answer now. */
export interface ToldModel extends Pick<ServableState, "model" | "version" | "unavailableReason"> {
  readonly description: ServableDescription | undefined;
}

/** A kserving.ListModelsResponse in protobuf's JSON form. */
export function toModelList(models: readonly ToldModel[]): JsonObject {
  const told = models.map(({ model: name, version, unavailableReason, description }) => ({
    ...{ name, version: String(version), unavailable_reason: unavailableReason },
    ...(description && { facts: toFacts(description) }),
  }));
  return { models: told };
}

function toFacts(description: ServableDescription): JsonObject {
  const { drivers, hooks, decoupled = false, signatures } = description;
  const first = defaultSignatureName(signatures);
  const names = Object.keys(signatures).sort((a, b) => Number(b === first) - Number(a === first));
  return {
    drivers: [...drivers],
    functions: TEXT_FUNCTIONS.filter((name) => hooks?.entries?.includes(name)),
    description: hooks?.description ?? "",
    decoupled,
    max_rows: String(maxBatchSize(description)),
    signatures: names.map((name) => toSignature(name, signatures[name] ?? {})),
  };
}

function toSignature(name: string, { inputs, outputs }: Signature): JsonObject {
  const needed = inputs?.filter(({ default: value }) => value === undefined);
  return { name, ...(needed && { inputs: toTensors(needed) }), ...(outputs && { outputs: toTensors(outputs) }) };
}

function toTensors(specs: readonly TensorSpec[]): JsonObject {
  const tensors = specs.map(({ name, dtype, shape }) => {
    const sizes = shape?.map((each) => String(toSize(each)));
    return { name, dtype, ...(sizes && { shape: { sizes } }) };
  });
  return { tensors };
}

/** Reads the same form; a tensor of an unknown type makes its list unknown. */
export function fromModelList(list: JsonObject): readonly ToldModel[] {
  return (list.models as JsonObject[]).map((told) => {
    const [model, version] = [String(told.name), BigInt(String(told.version))];
    const unavailableReason = String(told.unavailable_reason);
    const facts = told.facts as JsonObject | null | undefined;
    const description = facts ? { model, version, ...fromFacts(facts) } : undefined;
    return { model, version, unavailableReason, description };
  });
}

function fromFacts(facts: JsonObject): Omit<ServableDescription, "model" | "version"> {
  const signatures = createRecord<Signature>();
  for (const told of facts.signatures as JsonObject[]) {
    const [inputs, outputs] = [fromTensors(told.inputs), fromTensors(told.outputs)];
    signatures[String(told.name)] = { ...(inputs && { inputs }), ...(outputs && { outputs }) };
  }
  const [description, maxRows] = [String(facts.description), Number(facts.max_rows)];
  const entries = facts.functions as string[];
  return {
    ...{ drivers: facts.drivers as string[], signatures },
    hooks: { entries, hookPlaces: [], ...(description !== "" && { description }) },
    ...(facts.decoupled === true && { decoupled: true }),
    ...(maxRows > 0 && { configured: { maxRequestRows: maxRows } }),
  };
}

function fromTensors(told: JsonValue | undefined): readonly TensorSpec[] | undefined {
  if (!told) return undefined;
  const tensors = (told as JsonObject).tensors as JsonObject[];
  const specs = tensors.map(({ name, dtype, shape }): TensorSpec | undefined => {
    if (typeof dtype !== "string" || !isDType(dtype)) return undefined;
    const sizes = shape && ((shape as JsonObject).sizes as string[]).map(Number);
    return { name: String(name), dtype, ...(sizes && { shape: sizes }) };
  });
  const known = specs.filter((spec) => spec !== undefined);
  return known.length === specs.length ? known : undefined;
}
