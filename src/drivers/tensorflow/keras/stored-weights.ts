import type { LayerVariable } from "@tensorflow/tfjs-layers";
import { failedPrecondition } from "../../../errors.ts";
import type { H5File, StoredArray } from "./h5-file.ts";
import { type LayerConfig, layersOf, nameOf } from "./keras-config.ts";
import type { WeightSlots } from "./weight-slots.ts";

/** One weight of the model, and what the file has for it. */
export interface FoundWeight {
  /** The layer that it belongs to; for messages. */
  readonly layer: string;
  readonly variable: LayerVariable;
  readonly stored: StoredArray;
}

/**
 * Finds every weight in the `model.weights.h5` of a .keras file, where layers lie by class and number.
 * Throws `failed_precondition` naming a layer that the file has no weights or other weights for.
 */
export async function findInArchive(file: H5File, slots: readonly WeightSlots[]): Promise<FoundWeight[]> {
  const weights: FoundWeight[] = [];
  for (const { layer, group, learned, fixed } of slots) {
    const variables = [...learned, ...fixed];
    const names = numbered(await file.names(`${group}vars`));
    checkCount(layer, variables.length, names.length);
    const written = await file.attribute(`${group.replace(/cell\/$/, "")}vars`, "name");
    if (typeof written === "string" && written !== layer) {
      throw failedPrecondition(`The file has weights of layer "${written}" where those of "${layer}" are expected.`);
    }
    for (const [index, variable] of variables.entries())
      weights.push(found(layer, variable, await file.array(`${group}vars/${names[index]}`)));
  }
  return weights;
}

/**
 * Finds every weight in an .h5 file, which lists those of each of the model's layers
 * by name: first the ones that learn, then the others. Throws `failed_precondition`
 * naming a layer that the file has no weights or other weights for.
 */
export async function findInH5(
  file: H5File,
  model: LayerConfig,
  slots: readonly WeightSlots[],
): Promise<FoundWeight[]> {
  const weights: FoundWeight[] = [];
  for (const name of layersOf(model).map(nameOf)) {
    const group = `model_weights/${name}`;
    const names = await namesIn(file, group);
    const wanted = inH5Order(slots.filter(({ top }) => top === name));
    checkCount(name, wanted.length, names.length);
    for (const [index, { variable, owner }] of wanted.entries()) {
      const path = names[index]!;
      checkName(owner, variable, path);
      weights.push(found(owner, variable, await file.array(`${group}/${path}`)));
    }
  }
  return weights;
}

/** Names in an attribute, which is in parts where the list is longer than an attribute may be. */
async function namesIn(file: H5File, group: string): Promise<string[]> {
  const whole = await file.attribute(group, "weight_names");
  if (Array.isArray(whole)) return whole as string[];
  const names: string[] = [];
  for (let part = 0; ; part++) {
    const listed = await file.attribute(group, `weight_names${part}`);
    if (!Array.isArray(listed)) return names;
    names.push(...(listed as string[]));
  }
}

function inH5Order(slots: readonly WeightSlots[]): { owner: string; variable: LayerVariable }[] {
  const owned = (pick: (one: WeightSlots) => readonly LayerVariable[]) =>
    slots.flatMap((one) => pick(one).map((variable) => ({ owner: one.layer, variable })));
  return [
    ...owned(({ trainable, learned }) => (trainable ? learned : [])),
    ...owned(({ trainable, learned, fixed }) => (trainable ? fixed : [...learned, ...fixed])),
  ];
}

/** Names that Keras 3 changed. */
const RENAMED: Readonly<Record<string, string>> = { depthwise_kernel: "kernel" };

function checkName(layer: string, { originalName }: LayerVariable, path: string): void {
  const [expected, written] = [originalName, path].map((name) => name.split("/").at(-1)!.replace(/:0$/, ""));
  if (written === expected || written === RENAMED[expected as string]) return;
  throw failedPrecondition(`The file has the weight "${path}" where "${expected}" of layer "${layer}" is expected.`);
}

function found(layer: string, variable: LayerVariable, stored: StoredArray): FoundWeight {
  const { shape } = variable;
  if (shape.length !== stored.shape.length || shape.some((size, axis) => size !== stored.shape[axis])) {
    throw failedPrecondition(
      `The weight "${stored.name}" has shape [${stored.shape}]; layer "${layer}" takes [${shape}].`,
    );
  }
  return { layer, variable, stored };
}

function checkCount(layer: string, expected: number, written: number): void {
  if (expected === written) return;
  throw failedPrecondition(`The file has ${written} weights for layer "${layer}", which takes ${expected}.`);
}

/** `10` comes after `9`. */
function numbered(names: readonly string[]): string[] {
  return [...names].sort((a, b) => Number(a) - Number(b));
}
