import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import util from "node:util";
import * as tf from "@tensorflow/tfjs-core";
import { openLibrary } from "../../../native/open-library.ts";
import { libraryIn } from "../../../runtimes/find-library.ts";
import { tensorflow } from "../../../runtimes/native-runtimes.ts";
import { checkOnlyTensorflow } from "../native/check-only-tensorflow.ts";
import { quietTensorflow } from "../native/quiet-tensorflow.ts";
import { startTfjs } from "./tfjs-backend.ts";

/** Backends that {@link startFastestTfjs} may start. */
export type TfjsBackend = "tensorflow" | "wasm";

const ADDON = "tfjs_binding.node";

let started: Promise<TfjsBackend> | undefined;

/**
 * Starts TensorFlow.js in this thread, once: on @tensorflow/tfjs-node where that
 * package is installed and loads, else on WebAssembly.
 */
export function startFastestTfjs(load: () => Promise<unknown> = importTfjsNode): Promise<TfjsBackend> {
  started ??= start(load);
  return started;
}

async function start(load: () => Promise<unknown>): Promise<TfjsBackend> {
  const hasNode = await loadNodeBackend(load);
  if (hasNode && (await tf.setBackend("tensorflow"))) return "tensorflow";
  await startTfjs();
  return "wasm";
}

/** The package registers its backend when it loads. */
async function loadNodeBackend(load: () => Promise<unknown>): Promise<boolean> {
  // Node 23 took away what its kernels call.
  Object.assign(util, { isNullOrUndefined: (value: unknown) => value === null || value === undefined });
  try {
    await load();
    return tf.engine().registryFactory.tensorflow !== undefined;
  } catch {
    return false;
  }
}

/** Without its addon the package is an error that takes a second to come. */
async function importTfjsNode(): Promise<void> {
  const root = dirname(createRequire(import.meta.url).resolve("@tensorflow/tfjs-node/package.json"));
  const addons = readdirSync(join(root, "lib")).map((name) => join(root, "lib", name, ADDON));
  const built = addons.filter((path) => existsSync(path));
  if (built.length === 0) return;
  quietTensorflow();
  checkOnlyTensorflow(libraryIn(tensorflow, join(root, "deps", "lib")) ?? built[0]!);
  await import("@tensorflow/tfjs-node");
  // Node unloads an addon with its thread, and TensorFlow with it, whose threads and exit handlers remain.
  for (const path of built) openLibrary(path);
}
