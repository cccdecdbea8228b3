import { ServingError } from "../../../errors.ts";
import { DEFAULT_SIGNATURE } from "../../../signature/signature.ts";
import type { DriverHost, Model } from "../../driver.ts";
import type { ModelSource } from "../model-source.ts";
import type { GraphDef } from "../saved-model/graph-def.ts";
import { type TypeOfTensor, withGraphTypes } from "../saved-model/graph-types.ts";
import { loadFrozenGraph, loadSavedModel, parseTags } from "../saved-model/load-saved-model.ts";
import { toModelSignatures } from "../saved-model/model-signatures.ts";
import type { TensorflowOptions } from "../tensorflow-options.ts";
import { startTfjs } from "../tfjs/tfjs-backend.ts";
import { toFrozenSignature } from "./frozen-signature.ts";
import { createFunctionLibrary } from "./graph-inliner.ts";
import { loadModelResources } from "./model-resources.ts";
import { outputType } from "./output-types.ts";
import { PortableModel, type PortableSource } from "./portable-model.ts";
import { Refusal, refusedModel, toLoadError } from "./refusal.ts";

/**
 * Loads a SavedModel or a frozen graph; throws `failed_precondition` naming the
 * operations that cannot be computed as TensorFlow does.
 */
export async function loadPortableModel(
  source: ModelSource,
  options: TensorflowOptions,
  { log }: DriverHost,
): Promise<Model> {
  const contents =
    source.format === "saved-model" ? readSavedModel(source.path, options) : readFrozen(source.path, options);
  await startTfjs();
  const model = new PortableModel(contents());
  const reasons = model.refused.get(DEFAULT_SIGNATURE) ?? firstRefusal(model);
  if (reasons !== undefined) {
    await model.close();
    throw toLoadError(reasons);
  }
  for (const [signature, why] of model.refused) log.warn("a signature is not served", { signature, why: [...why] });
  if (model.inexactTypes.size > 0)
    log.warn("the model's numbers are computed in float32", { types: [...model.inexactTypes] });
  return model;
}

/** Reasons of a model of which nothing at all can be served. */
function firstRefusal(model: PortableModel): ReadonlySet<string> | undefined {
  return Object.keys(model.signatures).length === 0 ? [...model.refused.values()][0] : undefined;
}

function readSavedModel(folder: string, options: TensorflowOptions): () => PortableSource {
  const meta = loadSavedModel(folder, parseTags(options.tags));
  const { served, unserved } = toModelSignatures(meta, options.model_signature);
  const graph = meta.graphDef ?? { node: [] };
  const signatures = withGraphTypes(served, placeholderTypes(graph));
  return () => {
    try {
      const resources = loadModelResources(meta, createFunctionLibrary(graph), folder);
      return { graph, signatures, unserved, resources };
    } catch (reason) {
      // A table may hold numbers that cannot be carried.
      const isBeyond = reason instanceof ServingError && reason.code === "invalid_argument";
      if (!(reason instanceof Refusal || isBeyond)) throw reason;
      throw refusedModel(`The portable engine cannot load this model: ${reason.message.replace(/\.$/, "")}.`, reason);
    }
  };
}

function placeholderTypes({ node }: GraphDef): TypeOfTensor {
  const types = new Map(
    node.filter(({ op }) => op === "Placeholder").map((each) => [`${each.name}:0`, outputType(each, 0)]),
  );
  return (name) => types.get(name);
}

function readFrozen(path: string, options: TensorflowOptions): () => PortableSource {
  const graph = loadFrozenGraph(path);
  const signatures = { [DEFAULT_SIGNATURE]: toFrozenSignature(graph, options) };
  return () => ({ graph, signatures, resources: undefined });
}
