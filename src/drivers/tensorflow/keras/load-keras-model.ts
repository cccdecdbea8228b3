import * as tf from "@tensorflow/tfjs-core";
import { type LayersModel, models } from "@tensorflow/tfjs-layers";
import { failedPrecondition, publicText } from "../../../errors.ts";
import type { DType } from "../../../tensor/dtype.ts";
import { findBuiltObstacles } from "./find-built-obstacles.ts";
import type { LayerConfig } from "./keras-config.ts";
import type { KerasFile } from "./keras-file.ts";
import { registerOwnLayers } from "./own-layers/register-own-layers.ts";
import { readInputDTypes } from "./read-input-dtypes.ts";
import { registerResetAfterGRU } from "./reset-after-gru.ts";
import { type FoundWeight, findInArchive, findInH5 } from "./stored-weights.ts";
import { type Obstacles, toLayersConfig } from "./to-layers-config.ts";
import { findWeightSlots } from "./weight-slots.ts";

/** A model of tfjs-layers, which {@link loadKerasModel} made. */
interface KerasModel {
  readonly model: LayersModel;
  readonly inputDTypes: ReadonlyMap<string, DType>;
}

/**
 * Makes a model of a Keras file, and sets its weights; throws `failed_precondition` with what is computed otherwise
 * here, and what the file lacks.
 */
export async function loadKerasModel(file: KerasFile, path: string): Promise<KerasModel> {
  registerResetAfterGRU();
  registerOwnLayers();
  const { config, obstacles } = toLayersConfig(file.config);
  refuse(path, obstacles);
  const model = await build(config, path);
  try {
    refuse(path, findBuiltObstacles(model));
    for (const weight of await findWeights(model, file)) await setWeight(weight);
    return { model, inputDTypes: readInputDTypes(file.config.root) };
  } catch (reason) {
    model.dispose();
    throw reason;
  }
}

const EXPORT = 'Export it in Python with model.export("DIR") and serve that folder, which holds the graph itself.';
/** Maximum number of reasons in a message. */
const MAX_REASONS = 8;

function refuse(path: string, obstacles: Obstacles): void {
  if (obstacles.length === 0) return;
  const more = obstacles.length > MAX_REASONS ? `; and ${obstacles.length - MAX_REASONS} more` : "";
  const reasons = `${obstacles.slice(0, MAX_REASONS).join("; ")}${more}`;
  throw failedPrecondition(`The model "${path}" cannot be served from this file: ${reasons}. ${EXPORT}`);
}

/** tfjs-layers has its own reasons to refuse a model. */
async function build(config: LayerConfig, path: string): Promise<LayersModel> {
  try {
    return await models.modelFromJSON(config as unknown as tf.io.ModelJSON);
  } catch (cause) {
    throw failedPrecondition(
      `The model "${path}" cannot be served from this file: ${publicText(cause)} ${EXPORT}`,
      cause,
    );
  }
}

async function findWeights(
  model: LayersModel,
  { config: { root }, layout, weights }: KerasFile,
): Promise<FoundWeight[]> {
  const slots = findWeightSlots(root, model);
  const found = await (layout === "archive" ? findInArchive(weights, slots) : findInH5(weights, root, slots));
  const known = new Set(found.map(({ variable }) => variable));
  const missing = model.weights.find((variable) => !known.has(variable));
  if (missing !== undefined)
    throw failedPrecondition(`The file has nothing for the weight "${missing.originalName}" of the model.`);
  return found;
}

async function setWeight({ variable, stored }: FoundWeight): Promise<void> {
  const value = tf.tensor(await stored.read(), [...stored.shape]);
  variable.write(value);
  value.dispose();
}
