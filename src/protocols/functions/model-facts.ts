import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { invalidArgument, ServingError } from "../../errors.ts";
import { TEXT_FUNCTIONS } from "../../serving/infer-text.ts";
import type { InferenceService, Lease, ModelRef, ServableState } from "../../serving/inference-service.ts";
import { functionFacts, mostRows, type ServableDescription } from "../../serving/servable-description.ts";
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
  const rows = mostRows(description);
  const names = Object.keys(signatures).sort((a, b) => Number(b === first) - Number(a === first));
  return {
    drivers: [...drivers],
    functions: TEXT_FUNCTIONS.filter((name) => hooks?.entries?.includes(name)),
    description: hooks?.description ?? "",
    decoupled,
    max_rows: String(Number.isFinite(rows) ? rows : 0),
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
    hooks: { ...functionFacts(entries), ...(description !== "" && { description }) },
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

/** A service with the models that its server has told of. */
export class ToldService implements Pick<InferenceService, "index" | "acquire"> {
  readonly #told: readonly ToldModel[];
  readonly #isOne: boolean;
  readonly #lease: (ref: ModelRef) => Lease;

  /** `isOne` = the only one is the model that was asked for, by its name or another; `lease` makes those to run. */
  constructor(told: readonly ToldModel[], isOne: boolean, lease: (ref: ModelRef) => Lease) {
    this.#told = told;
    this.#isOne = isOne;
    this.#lease = lease;
  }

  readonly index = (): readonly ServableState[] => this.#told.map(toState);

  /** Rejects with `not_found` for models that the server has not. */
  readonly acquire = async (ref: ModelRef): Promise<Lease> => {
    const description = this.#describe(ref);
    // A name is that of the client: its server knows aliases, and which version is to answer. The only model that is
    // told need not be the only one of the server.
    const model = ref.model || description.model;
    return { ...this.#lease({ ...ref, model }), description, passesOn: true };
  };

  #describe({ model, version }: ModelRef): ServableDescription {
    const names = new Set(this.#told.map((one) => one.model));
    if (model === "" && names.size !== 1)
      throw invalidArgument(`The request names no model; expected one of ${names.size}.`);
    const all = this.#told.filter((one) => this.#isOne || model === "" || one.model === model);
    const versions = all.filter((one) => version === undefined || one.version === version);
    const newest = versions
      .filter(({ description }) => description !== undefined)
      .sort(byVersion)
      .at(-1);
    if (newest?.description !== undefined) return newest.description;
    const [first] = versions;
    if (first !== undefined)
      throw new ServingError(
        "unavailable",
        `The model ${first.model} does not answer now: ${first.unavailableReason}.`,
      );
    throw new ServingError("not_found", `The server behind this one has no model ${model}.`);
  }
}

function byVersion(one: ToldModel, other: ToldModel): number {
  return one.version === other.version ? 0 : one.version < other.version ? -1 : 1;
}

function toState({ model, version, unavailableReason, description }: ToldModel): ServableState {
  const isReady = description !== undefined;
  const state = isReady ? "AVAILABLE" : "LOADING";
  return { model, version, state, isReady, unavailableReason, error: undefined, generation: 0, labels: [] };
}
