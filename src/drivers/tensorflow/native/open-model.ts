import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { failedPrecondition, ServingError } from "../../../errors.ts";
import type { Logger } from "../../../observability/logger.ts";
import { NativeObject, type Pointer, runAsync } from "../../../platform/native/bind-functions.ts";
import { DEFAULT_SIGNATURE, type TensorSpec } from "../../../tensor/signature/signature.ts";
import type { TensorflowOptions } from "../engine.ts";
import type { ModelSource } from "../model-source.ts";
import { findConditionalNodes } from "../saved-model/conditional-nodes.ts";
import { dataTypeName } from "../saved-model/data-type.ts";
import { loadFrozenGraph, parseTags } from "../saved-model/load-saved-model.ts";
import {
  type BoundTensor,
  type ModelSignature,
  type ModelSignatures,
  type TypeOfTensor,
  toModelSignatures,
  withGraphTypes,
} from "../saved-model/model-signatures.ts";
import { parseMessage } from "../saved-model/tensorflow-messages.ts";
import { readBuffer, type TensorflowApi, withBuffer, withStatus, withStatusAsync } from "./c-api.ts";
import type { GraphTensor, TensorflowGraph } from "./graph.ts";
import { type SessionParts, TensorflowSession } from "./session.ts";
import { toLoadError } from "./tensorflow-errors.ts";

/** Settings with which a model is loaded. */
interface OpenSettings extends SessionSettings {
  readonly options: TensorflowOptions;
  readonly log: Logger;
}

/** A session and what its graph takes and gives. */
export interface OpenedModel {
  readonly session: TensorflowSession;
  readonly signatures: Readonly<Record<string, ModelSignature>>;
  /** Absent for a frozen graph. */
  readonly unserved?: ModelSignatures["unserved"];
}

/** Loads a SavedModel or a frozen graph; throws `failed_precondition` with the reason. */
export async function openModel(api: TensorflowApi, source: ModelSource, settings: OpenSettings): Promise<OpenedModel> {
  try {
    const open = source.format === "saved-model" ? openSavedModel : openFrozenGraph;
    return await open(api, source.path, settings);
  } catch (reason) {
    throw toLoadError(reason, source, { tags: settings.options.tags, version: api.TF_Version() ?? "" });
  }
}

async function openSavedModel(api: TensorflowApi, folder: string, settings: OpenSettings): Promise<OpenedModel> {
  const { options, log } = settings;
  const tags = parseTags(options.tags);
  const { session, metaGraph } = await loadSavedModelSession(api, { folder, tags }, settings);
  return closingOnFailure(session, () => {
    checkVariables(session, folder);
    const meta = parseMessage("MetaGraphDef", withoutGraph(metaGraph));
    const { served, refused, unserved } = toModelSignatures(meta, options.model_signature);
    for (const [signature, reason] of refused) log.warn("a signature cannot be served", { signature, reason });
    return { session, signatures: withGraphTypes(served, graphTypes(session)), unserved };
  });
}

/** A name that the graph lacks is refused when it is looked up to be fed. */
function graphTypes({ graph }: TensorflowSession): TypeOfTensor {
  return (name) => (graph.has(name) ? graph.dataType(graph.tensor(name)) : undefined);
}

/** TensorFlow takes a model whose checkpoint is missing for one without variables, and fails with each run. */
function checkVariables({ graph }: TensorflowSession, folder: string): void {
  if (existsSync(join(folder, "variables", "variables.index")) || !graph.hasAny(VARIABLES)) return;
  throw failedPrecondition(
    `The SavedModel "${folder}" has variables, but not their values: variables/variables.index is missing.`,
  );
}

async function openFrozenGraph(api: TensorflowApi, path: string, settings: OpenSettings): Promise<OpenedModel> {
  const session = loadGraphSession(api, path, settings);
  return closingOnFailure(session, () => ({
    session,
    signatures: { [DEFAULT_SIGNATURE]: createFrozenSignature(session.graph, { ...settings.options, path }) },
  }));
}

async function closingOnFailure(session: TensorflowSession, make: () => OpenedModel): Promise<OpenedModel> {
  try {
    return make();
  } catch (reason) {
    await session.close();
    throw reason;
  }
}

/** Settings of a session. */
interface SessionSettings extends Omit<SessionParts, "graph"> {
  /** A ConfigProto. */
  readonly config: Uint8Array;
}

/**
 * Loads a SavedModel with its variables and runs what initialises it; gives the
 * MetaGraphDef too. Throws TensorflowFailure.
 */
async function loadSavedModelSession(
  api: TensorflowApi,
  { folder, tags }: { readonly folder: string; readonly tags: readonly string[] },
  { config, ...parts }: SessionSettings,
): Promise<{ session: TensorflowSession; metaGraph: Uint8Array }> {
  const graph = createGraph(api);
  const buffer = new NativeObject(api.TF_NewBuffer() as Pointer, (pointer) => api.TF_DeleteBuffer(pointer));
  const options = createOptions(api, config);
  try {
    const session = await withStatusAsync(api, (status) =>
      runAsync(
        api.TF_LoadSessionFromSavedModel,
        options.pointer,
        null,
        folder,
        tags,
        tags.length,
        graph.pointer,
        buffer.pointer,
        status,
      ),
    );
    const metaGraph = readBuffer(buffer.pointer);
    return { session: new TensorflowSession(api, session as Pointer, { ...parts, graph }), metaGraph };
  } catch (reason) {
    graph.release();
    throw reason;
  } finally {
    options.release();
    buffer.release();
  }
}

/** Loads a frozen graph. Throws TensorflowFailure. */
function loadGraphSession(api: TensorflowApi, path: string, { config, ...parts }: SessionSettings): TensorflowSession {
  const graph = createGraph(api);
  const options = createOptions(api, config);
  try {
    importGraph(api, graph.pointer, readFileSync(path));
    const session = withStatus(api, (status) => api.TF_NewSession(graph.pointer, options.pointer, status));
    return new TensorflowSession(api, session as Pointer, { ...parts, graph });
  } catch (reason) {
    graph.release();
    throw reason;
  } finally {
    options.release();
  }
}

function createGraph(api: TensorflowApi): NativeObject {
  return new NativeObject(api.TF_NewGraph() as Pointer, (pointer) => api.TF_DeleteGraph(pointer));
}

function createOptions(api: TensorflowApi, config: Uint8Array): NativeObject {
  const options = new NativeObject(api.TF_NewSessionOptions() as Pointer, (pointer) =>
    api.TF_DeleteSessionOptions(pointer),
  );
  withStatus(api, (status) => api.TF_SetConfig(options.pointer, config, config.length, status));
  return options;
}

function importGraph(api: TensorflowApi, graph: Pointer, definition: Uint8Array): void {
  const options = api.TF_NewImportGraphDefOptions() as Pointer;
  try {
    withBuffer(api, definition, (buffer) =>
      withStatus(api, (status) => api.TF_GraphImportGraphDef(graph, buffer, options, status)),
    );
  } finally {
    api.TF_DeleteImportGraphDefOptions(options);
  }
}

/** The field of a MetaGraphDef that holds its graph. */
const GRAPH_DEF = 2;

/** A MetaGraphDef's bytes without its graph, which is nearly all of them, and which TensorFlow has read already. */
function withoutGraph(metaGraph: Uint8Array): Uint8Array {
  const reader = new BinaryReader(metaGraph);
  const kept: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    reader.skip(wireType, field);
    if (field !== GRAPH_DEF) kept.push(metaGraph.subarray(start, reader.pos));
  }
  return Buffer.concat(kept);
}

/** Operations that a node behind may have no value of. */
const SWITCHES = ["Switch", "RefSwitch"];
/** Operations of variables, whose values are not in the graph. */
const VARIABLES = ["Variable", "VariableV2", "VarHandleOp"];
const CONDITIONAL = [...SWITCHES, ...VARIABLES, "Enter", "RefEnter", "Restore", "RestoreV2", "SaveV2", "Save"];

/**
 * The signature of a graph without one: the options `inputs` and `outputs`, else its placeholders and unused tensors.
 * Throws `failed_precondition`.
 */
function createFrozenSignature(
  graph: TensorflowGraph,
  { inputs, outputs, path }: Pick<TensorflowOptions, "inputs" | "outputs"> & { readonly path: string },
): ModelSignature {
  const given = named(graph, "inputs", inputs) ?? graph.placeholders();
  const results = named(graph, "outputs", outputs) ?? servable(graph, lastingResults(graph, path));
  if (results.length === 0) throw failedPrecondition(noOutput(graph));
  return {
    inputs: given.map((tensor) => toBoundTensor(graph, "Input", tensor)),
    outputs: results.map((tensor) => toBoundTensor(graph, "Output", tensor)),
  };
}

function noOutput(graph: TensorflowGraph): string {
  if (!graph.hasAny(VARIABLES)) return "The graph has no tensor that looks like an output; name some with -o outputs=.";
  const advice = "freeze it, serve a SavedModel of it, or name outputs that need no variable with -o outputs=.";
  return `The graph is not frozen: all its outputs need variables, whose values are not in the file; ${advice}`;
}

function named(graph: TensorflowGraph, option: string, names: string | undefined): GraphTensor[] | undefined {
  if (names === undefined) return undefined;
  const list = names.split(",").map((name) => name.trim());
  return list.filter((name) => name !== "").map((name) => find(graph, option, name));
}

function find(graph: TensorflowGraph, option: string, name: string): GraphTensor {
  try {
    return graph.tensor(name);
  } catch (cause) {
    throw failedPrecondition(`Option "${option}": ${ServingError.from(cause).message}`, cause);
  }
}

/** Those that every run can give. The file is read once more only if some may not. */
function lastingResults(graph: TensorflowGraph, path: string): GraphTensor[] {
  const results = graph.results();
  if (!graph.hasAny(CONDITIONAL)) return results;
  const conditional = findConditionalNodes(loadFrozenGraph(path).node);
  return results.filter(({ name }) => !conditional.has(name.replace(/:\d+$/, "")));
}

function servable(graph: TensorflowGraph, tensors: readonly GraphTensor[]): GraphTensor[] {
  return tensors.filter((tensor) => graph.dtype(tensor) !== undefined);
}

function toBoundTensor(graph: TensorflowGraph, role: string, tensor: GraphTensor): BoundTensor {
  const { name } = tensor;
  const dataType = graph.dataType(tensor);
  const dtype = graph.dtype(tensor);
  if (dtype === undefined)
    throw failedPrecondition(`${role} "${name}" is of type ${dataTypeName(dataType)}, which cannot be served.`);
  const shape: TensorSpec["shape"] = graph.shape(tensor);
  return { name, dtype, ...(shape && { shape }), nativeName: name, dataType };
}
