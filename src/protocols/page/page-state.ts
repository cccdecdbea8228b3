import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { currentScope } from "../../access/call-scope.ts";
import { ServingError } from "../../errors.ts";
import type { PathParameters } from "../../proxy/http-route.ts";
import type { InferenceService, ServableState } from "../../serving/inference-service.ts";
import { hasBatchedModel, maxBatchSize, type ServableDescription } from "../../serving/servable-description.ts";
import type { DType } from "../../tensor/dtype.ts";
import type { ExampleInputs } from "../../tensor/signature/example-inputs.ts";
import { DRAWN_FILES, type ModelGraph, SAVED_MODEL } from "../../tensor/signature/model-graph.ts";
import {
  defaultSignatureName,
  type KnownInput,
  knownInputs,
  type Signature,
  takesImages,
  toSize,
} from "../../tensor/signature/signature.ts";
import { readVersion } from "../../version.ts";
import { isImageInput } from "../example-values.ts";
import { datatypeOf } from "../kserve/datatype.ts";
import type {
  PageColumn,
  PageExample,
  PageSignature,
  PageStage,
  PageState,
  PageTable,
  PageTensor,
  PageVersion,
  TextUse,
} from "./page-data.ts";

type StageFacts = NonNullable<ServableDescription["models"]>[number];

/**
 * Every version of every model that the caller may know of; `hasTexts` = the routes of texts are served, which the page
 * asks.
 */
export async function pageState(
  service: InferenceService,
  { hasTexts, ...ofPage }: Pick<PageState, "mayControl" | "mayWatch" | "token"> & { readonly hasTexts: boolean },
): Promise<PageState> {
  const states = service.index({ loadable: true });
  const versions = await Promise.all(states.map((state) => toVersion(service, state, states)));
  const models = hasTexts ? versions : versions.map((version) => ({ ...version, texts: [] }));
  return { version: readVersion(), user: currentScope()?.user ?? "", ...ofPage, models };
}

async function toVersion(
  service: InferenceService,
  state: ServableState,
  states: readonly ServableState[],
): Promise<PageVersion> {
  const { model, version, isReady, labels, unavailableReason, error } = state;
  const description = await describe(service, state);
  const { models = [], hooks, signatures = {}, decoupled = false } = description ?? {};
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
    notes: description === undefined ? [] : notesOf(description),
    isDecoupled: decoupled,
    texts: description === undefined || !isNamed(state, states) ? [] : await textsOf(description),
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

/** Checks that the name alone means a version: the routes of texts take no other. */
function isNamed({ model, version }: ServableState, states: readonly ServableState[]): boolean {
  return states.every((one) => one.model !== model || one.state !== "AVAILABLE" || one.version <= version);
}

/** The routes of texts are loaded once models are there to answer them. */
async function textsOf(description: ServableDescription): Promise<readonly TextUse[]> {
  const { EMBEDDING_MODELS } = await import("../text/answer-vectors.ts");
  const { PAIR_MODELS } = await import("../openai/answer-numbers.ts");
  const { hasEntry } = await import("../text/lease-for.ts");
  return [
    ...(hasEntry(description, "chat") ? (["chat"] as const) : []),
    ...(hasEntry(description, "embed") || EMBEDDING_MODELS.isEnough(description) ? (["embed"] as const) : []),
    ...(hasEntry(description, "rerank") || PAIR_MODELS.isEnough(description) ? (["rerank"] as const) : []),
  ];
}

function notesOf(description: ServableDescription): string[] {
  const rows = hasBatchedModel(description) ? maxBatchSize(description) : 0;
  return [
    ...(rows === 0 ? [] : [`Waiting requests run in batches of up to ${rows} rows.`]),
    ...(description.decoupled === true ? ["An answer comes in parts, as they are ready."] : []),
  ];
}

function toStage(facts: StageFacts): PageStage {
  const { driver, path, runtime = "", loadMs, memoryBytes } = facts;
  return { driver, file: basename(path), hasGraph: hasGraph(facts), runtime, loadMs, memoryBytes };
}

/** Of loaded models, which do not change: the page asks for its state again and again. */
const withGraph = new WeakMap<StageFacts, boolean>();

function hasGraph(facts: StageFacts): boolean {
  const { path } = facts;
  const known =
    withGraph.get(facts) ?? (DRAWN_FILES.test(path) || (path !== "" && existsSync(join(path, SAVED_MODEL))));
  withGraph.set(facts, known);
  return known;
}

function toSignature(name: string, signature: Signature): PageSignature {
  return {
    name,
    inputs: knownInputs(signature)?.map(toTensor),
    outputs: signature.outputs?.map(toTensor),
    isTable: tableOf(signature) && true,
  };
}

/** Columns that a form has fields for. */
const MAX_COLUMNS = 200;

/** The columns of a model of tables: its inputs, or the features of its only one; undefined for other models. */
function tableOf(signature: Signature): PageTable | undefined {
  const columns = columnsOf(signature);
  if (columns.length === 0 || columns.length > MAX_COLUMNS) return undefined;
  return { columns, knowsMissingTexts: signature.isTabular === true && signature.inputs === undefined };
}

function columnsOf(signature: Signature): readonly PageColumn[] {
  const inputs = (knownInputs(signature) ?? []).filter(hasType);
  const [only, ...others] = inputs;
  if (only === undefined || inputs.length !== knownInputs(signature)?.length) return [];
  const { features = [], shape = [] } = only;
  if (others.length === 0 && shape.length === 2 && features.length > 0 && features.length === shape[1])
    return features.map((name) => toColumn({ ...only, name }));
  const isDeclared = signature.inputs !== undefined;
  return inputs.every(isColumn) && (isDeclared ? isMixed(inputs) : signature.isTabular === true)
    ? inputs.map(toColumn)
    : [];
}

type TypedInput = KnownInput & { readonly dtype: DType };

function hasType(input: KnownInput): input is TypedInput {
  return input.dtype !== undefined;
}

/** One value for each row, which a request has to have. */
function isColumn({ shape = [], default: value }: KnownInput): boolean {
  const [rows, width = 1, ...rest] = shape.map(toSize);
  return rows === -1 && width === 1 && rest.length === 0 && value === undefined;
}

/** Inputs that are declared may be anything: texts alone may be files. */
function isMixed(inputs: readonly TypedInput[]): boolean {
  return inputs.length > 1 && inputs.some(({ dtype }) => dtype !== "bytes");
}

function toColumn({ name, dtype, categories }: TypedInput): PageColumn {
  return { name, datatype: datatypeOf(dtype)?.name ?? dtype, categories };
}

function toTensor(spec: KnownInput): PageTensor {
  const { name, dtype, shape, labels, default: value } = spec;
  return {
    name,
    datatype: dtype === undefined ? "" : (datatypeOf(dtype)?.name ?? dtype),
    shape: shape?.map(toSize),
    takesImages: dtype !== undefined && takesImages({ ...spec, dtype }),
    isForImages: isImageInput(spec),
    isOptional: value !== undefined,
    labels,
  };
}

/** Answers about versions that are kept. */
const MAX_KEPT = 256;

/** Finds out about a version what stays the same until it is loaded again; what fails is tried again. */
function keptByLoad(
  service: InferenceService,
  find: (state: ServableState, place: PathParameters) => Promise<object>,
): (place: PathParameters) => Promise<object> {
  const known = new Map<string, Promise<object>>();
  return async (place) => {
    const { name = "", version = "", stage = "" } = place;
    const state = service.index().find((one) => one.model === name && String(one.version) === version);
    if (state?.state !== "AVAILABLE") {
      throw new ServingError("not_found", `Version ${version} of ${name} is not available.`);
    }
    const key = `${name}/${version}/${state.generation}/${stage}`;
    const found = known.get(key) ?? find(state, place);
    if (known.size >= MAX_KEPT) known.clear();
    known.set(key, found);
    found.catch(() => known.delete(key));
    return found;
  };
}

/** Finds inputs with which a version of a model runs; they are tried once for each load of it. */
export function exampleFinder(service: InferenceService): (place: PathParameters) => Promise<object> {
  return keptByLoad(service, (state) => findExample(service, state));
}

/** Reads the graph of a stage's file, once for each load; `not_found` for a stage that there is not. */
export function graphFinder(
  service: InferenceService,
  readGraph: (path: string) => Promise<ModelGraph>,
): (place: PathParameters) => Promise<object> {
  return keptByLoad(service, async (state, { stage }) => {
    const { models = [] } = (await describe(service, state)) ?? {};
    const model = models.find((_, index) => String(index + 1) === stage);
    if (model === undefined) throw new ServingError("not_found", `There is no stage ${stage} of ${state.model}.`);
    return readGraph(model.path);
  });
}

async function findExample(
  service: InferenceService,
  { model, version }: { readonly model: string; readonly version: bigint },
): Promise<PageExample> {
  const lease = await service.acquire({ model, version });
  try {
    const { signatures } = lease.description;
    const example = await lease.exampleInputs?.();
    const { inputs = [] } = example ?? {};
    return {
      note: noteOf(example),
      table: tableOf(signatures[defaultSignatureName(signatures)] ?? {}),
      inputs: inputs.map(({ name, shape, element }) => ({
        ...{ name, shape },
        element: typeof element === "number" ? element : Buffer.from(element).toString(),
      })),
    };
  } finally {
    lease.release();
  }
}

/** A sentence about an example that is a guess, wholly or in its sizes; empty for one that ran, with no size open. */
function noteOf(example: ExampleInputs | undefined): string {
  if (example?.ran === false) return "These values were tried, and did not run; send sizes and values of your own.";
  if (example?.ran !== true) return "These values are a guess: they have not been run.";
  const open = example.inputs.filter(({ name }) => example.guessed.includes(name));
  const shapes = open.map(({ name, shape }) => `${name} [${shape}]`).join(", ");
  return open.length === 0 ? "" : `The model leaves sizes open; these are guessed, and ran: ${shapes}.`;
}
