import { existsSync } from "node:fs";
import { join } from "node:path";
import { failedPrecondition } from "../../../errors.ts";
import type { Logger } from "../../../observability/logger.ts";
import { DEFAULT_SIGNATURE } from "../../../signature/signature.ts";
import type { ModelSource } from "../model-source.ts";
import { type TypeOfTensor, withGraphTypes } from "../saved-model/graph-types.ts";
import { parseTags } from "../saved-model/load-saved-model.ts";
import { type ModelSignature, type ModelSignatures, toModelSignatures } from "../saved-model/model-signatures.ts";
import { parseMessage } from "../saved-model/tensorflow-messages.ts";
import type { TensorflowOptions } from "../tensorflow-options.ts";
import type { TensorflowApi } from "./c-api.ts";
import { createFrozenSignature } from "./frozen-signature.ts";
import { toLoadError } from "./load-error.ts";
import { loadGraphSession, loadSavedModelSession, type SessionSettings } from "./load-session.ts";
import type { TensorflowSession } from "./session.ts";
import { withoutGraph } from "./without-graph.ts";

/** Settings with which a model is loaded. */
export interface OpenSettings extends SessionSettings {
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

/** A name that the graph lacks is refused where it is looked up to be fed. */
function graphTypes({ graph }: TensorflowSession): TypeOfTensor {
  return (name) => (graph.has(name) ? graph.dataType(graph.tensor(name)) : undefined);
}

const VARIABLE_TYPES = ["VarHandleOp", "VariableV2", "Variable"];

/** TensorFlow takes a model whose checkpoint is missing for one without variables, and fails with each run. */
function checkVariables({ graph }: TensorflowSession, folder: string): void {
  if (existsSync(join(folder, "variables", "variables.index")) || !graph.hasAny(VARIABLE_TYPES)) return;
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
