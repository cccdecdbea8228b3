import { basename } from "node:path";
import { currentScope } from "../../access/call-scope.ts";
import { ServingError } from "../../errors.ts";
import type { InferenceService, ServableState } from "../../serving/inference-service.ts";
import { maxBatchSize, type ServableDescription } from "../../serving/servable-description.ts";
import {
  defaultSignatureName,
  type KnownInput,
  knownInputs,
  type Signature,
  takesImages,
  toSize,
} from "../../tensor/signature/signature.ts";
import { readVersion } from "../../version.ts";
import { datatypeOf } from "../kserve/datatype.ts";

/** Answer of `GET ui/models`. */
export interface PageState {
  /** The server's version. */
  readonly version: string;
  /** Name of the user; empty = no name is needed. */
  readonly user: string;
  /** True if the page may load and unload models. */
  readonly mayControl: boolean;
  /** True if the page may show requests and the log. */
  readonly mayWatch: boolean;
  /** The running server's, for a page that has been open since before its start. */
  readonly token: string;
  readonly models: readonly PageVersion[];
}

/** One version of a model. */
export interface PageVersion {
  readonly model: string;
  readonly version: string;
  /** TensorFlow Serving's: START, LOADING, AVAILABLE, UNLOADING, END. */
  readonly state: string;
  readonly isReady: boolean;
  /** Reason why it is not ready, or why its newer files are not loaded; empty = there is nothing to say. */
  readonly reason: string;
  readonly labels: readonly string[];
  readonly stages: readonly PageStage[];
  /** The hooks that requests go through: `preprocess 1`, `postprocess 2`, `process`. */
  readonly hooks: readonly string[];
  /** Rows of a batch of waiting requests at most; 0 = each runs alone. */
  readonly maxBatchSize: number;
  /** By name; the first is the one that requests get which name none. */
  readonly signatures: readonly PageSignature[];
}

/** One model of a pipeline. */
export interface PageStage {
  readonly driver: string;
  /** The name of its file or folder, without the folders around it. */
  readonly file: string;
  /** Empty = nothing but this program. */
  readonly runtime: string;
  readonly loadMs: number;
  /** Undefined = not known. */
  readonly memoryBytes?: number | undefined;
}

/** Inputs and outputs. */
export interface PageSignature {
  readonly name: string;
  /** Undefined = any. */
  readonly inputs?: readonly PageTensor[] | undefined;
  /** Undefined = not known before a request. */
  readonly outputs?: readonly PageTensor[] | undefined;
}

/** One input or output. */
export interface PageTensor {
  readonly name: string;
  /** KServe V2's: FP32, BYTES; empty = any. */
  readonly datatype: string;
  /** -1 = any size; undefined = any rank. */
  readonly shape?: readonly number[] | undefined;
  /** True if encoded images are taken too. */
  readonly takesImages: boolean;
  /** True if a request may leave it out. */
  readonly isOptional: boolean;
  /** Names of its classes, by index. */
  readonly labels?: readonly string[] | undefined;
}

type StageFacts = NonNullable<ServableDescription["models"]>[number];

/** Every version of every model that the caller may know of. */
export async function pageState(
  service: InferenceService,
  ofPage: Pick<PageState, "mayControl" | "mayWatch" | "token">,
): Promise<PageState> {
  const states = service.index({ loadable: true });
  const models = await Promise.all(states.map((state) => toVersion(service, state)));
  return { version: readVersion(), user: currentScope()?.user ?? "", ...ofPage, models };
}

async function toVersion(service: InferenceService, state: ServableState): Promise<PageVersion> {
  const { model, version, isReady, labels, unavailableReason, error } = state;
  const description = await describe(service, state);
  const { models = [], hooks, signatures = {} } = description ?? {};
  const first = defaultSignatureName(signatures);
  const names = Object.keys(signatures).toSorted((a, b) => Number(b === first) - Number(a === first));
  return {
    model,
    version: String(version),
    state: state.state,
    isReady,
    reason: error?.message ?? unavailableReason,
    labels,
    stages: models.map(toStage),
    hooks: hooks?.hookPlaces ?? [],
    maxBatchSize: description === undefined ? 0 : maxBatchSize(description),
    signatures: names.map((name) => toSignature(name, signatures[name] ?? {})),
  };
}

/** Undefined for a version that is not available, or not any more. */
async function describe(
  service: InferenceService,
  { model, version, state }: ServableState,
): Promise<ServableDescription | undefined> {
  if (state !== "AVAILABLE") return undefined;
  try {
    const lease = await service.acquire({ model, version });
    lease.release();
    return lease.description;
  } catch {
    return undefined;
  }
}

function toStage({ driver, path, runtime = "", loadMs, memoryBytes }: StageFacts): PageStage {
  return { driver, file: basename(path), runtime, loadMs, memoryBytes };
}

function toSignature(name: string, signature: Signature): PageSignature {
  return { name, inputs: knownInputs(signature)?.map(toTensor), outputs: signature.outputs?.map(toTensor) };
}

function toTensor(spec: KnownInput): PageTensor {
  const { name, dtype, shape, labels, default: value } = spec;
  return {
    name,
    datatype: dtype === undefined ? "" : (datatypeOf(dtype)?.name ?? dtype),
    shape: shape?.map(toSize),
    takesImages: dtype !== undefined && takesImages({ ...spec, dtype }),
    isOptional: value !== undefined,
    labels,
  };
}

/** Versions whose examples are kept. */
const MAX_EXAMPLES = 256;

/** Finds inputs with which a version of a model runs; they are tried once for each load of it. */
export function exampleFinder(service: InferenceService): (name: string, version: string) => Promise<object> {
  const known = new Map<string, Promise<object>>();
  return async (name, version) => {
    const state = service.index().find((one) => one.model === name && String(one.version) === version);
    if (state?.state !== "AVAILABLE") {
      throw new ServingError("not_found", `Version ${version} of ${name} is not available.`);
    }
    const key = `${name}/${version}/${state.generation}`;
    const found = known.get(key) ?? findExample(service, state);
    if (known.size >= MAX_EXAMPLES) known.clear();
    known.set(key, found);
    return found;
  };
}

/** As `{"inputs": [{"name", "shape", "element"}]}`. */
async function findExample(
  service: InferenceService,
  { model, version }: { readonly model: string; readonly version: bigint },
): Promise<object> {
  const lease = await service.acquire({ model, version });
  try {
    const { inputs = [] } = (await lease.exampleInputs?.()) ?? {};
    return {
      inputs: inputs.map(({ name, shape, element }) => ({
        ...{ name, shape },
        element: typeof element === "number" ? element : Buffer.from(element).toString(),
      })),
    };
  } finally {
    lease.release();
  }
}
