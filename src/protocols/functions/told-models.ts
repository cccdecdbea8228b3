import { invalidArgument, ServingError } from "../../errors.ts";
import { LongWork } from "../../platform/limits/long-work.ts";
import type { InferenceService, Lease, ModelRef, ServableState } from "../../serving/inference-service.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";

/** One version of a model as another server tells it; without a description it cannot answer now. */
export interface ToldModel extends Pick<ServableState, "model" | "version" | "unavailableReason"> {
  readonly description: ServableDescription | undefined;
  /** Short steps that read the signatures of the description, which does so at once where they are asked for before. */
  readonly readSignatures?: (() => Iterable<unknown>) | undefined;
}

/** A service with the models that its server has told of. */
export class ToldService implements Pick<InferenceService, "index" | "acquire"> {
  readonly #told: readonly ToldModel[];
  readonly #isOne: boolean;
  readonly #lease: (ref: ModelRef) => Lease;
  readonly #work = new LongWork();
  #read: Promise<void> = Promise.resolve();

  /** `isOne` = the only one is the model that was asked for, by its name or another; `lease` makes those to run. */
  constructor(told: readonly ToldModel[], isOne: boolean, lease: (ref: ModelRef) => Lease) {
    this.#told = told;
    this.#isOne = isOne;
    this.#lease = lease;
  }

  readonly index = (): readonly ServableState[] => this.#told.map(toState);

  /** Rejects with `not_found` for models that the server has not. */
  readonly acquire = async (ref: ModelRef): Promise<Lease> => {
    const { description, readSignatures = NO_STEPS } = this.#find(ref);
    // Signatures take milliseconds to read, and those of all models may be asked for at once.
    const read = this.#read.then(() => this.#work.do(readSignatures()));
    this.#read = read.catch(() => {});
    await read;
    // A name is that of the client: its server knows aliases, and which version is to answer. The only model that is
    // told need not be the only one of the server.
    const model = ref.model || description.model;
    return { ...this.#lease({ ...ref, model }), description, passesOn: true };
  };

  #find({ model, version }: ModelRef): DescribedModel {
    const names = new Set(this.#told.map((one) => one.model));
    if (model === "" && names.size !== 1)
      throw invalidArgument(`The request names no model; expected one of ${names.size}.`);
    const all = this.#told.filter((one) => this.#isOne || model === "" || one.model === model);
    const versions = all.filter((one) => version === undefined || one.version === version);
    const newest = versions.filter(isDescribed).sort(byVersion).at(-1);
    if (newest !== undefined) return newest;
    const [first] = versions;
    if (first !== undefined)
      throw new ServingError(
        "unavailable",
        `The model ${first.model} does not answer now: ${first.unavailableReason}.`,
      );
    throw new ServingError("not_found", `The server behind this one has no model ${model}.`);
  }
}

type DescribedModel = ToldModel & { readonly description: ServableDescription };

function isDescribed(told: ToldModel): told is DescribedModel {
  return told.description !== undefined;
}

const NO_STEPS = () => [];

function byVersion(one: ToldModel, other: ToldModel): number {
  return one.version === other.version ? 0 : one.version < other.version ? -1 : 1;
}

function toState({ model, version, unavailableReason, description }: ToldModel): ServableState {
  const isReady = description !== undefined;
  const state = isReady ? "AVAILABLE" : "LOADING";
  return { model, version, state, isReady, unavailableReason, error: undefined, generation: 0, labels: [] };
}
