import { existsSync, readdirSync, type Stats, statSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { failedPrecondition } from "../../errors.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { folderContents } from "../file-kind.ts";
import { readTflite } from "../tflite-format/read-tflite.ts";
import { findWeights, type IrFile, type IrWeights, readIrFile } from "./ir-file.ts";

/** A model on disk. */
export interface ModelSource {
  /** The folder of a SavedModel, else the file. */
  readonly path: string;
  /** Folder of files about the model. */
  readonly folder: string;
  readonly weights?: IrWeights;
  /** Absent for other formats than OpenVINO's own. */
  readonly ir?: IrFile;
}

/** By their endings, the one that is taken first from a folder that has several. */
const FORMATS = [".xml", ".onnx", ".pdmodel", ".tflite", ".pb"];
const SAVED_MODEL = "saved_model.pb";
const EXPECTED = "OpenVINO's .xml, an .onnx, .tflite, .pdmodel or .pb file, or a SavedModel's folder";

/**
 * Determines the kind of a path, and an IR's weights; throws `failed_precondition`
 * with the found and the expected kind.
 */
export function findModelSource(path: string, weights?: string): ModelSource {
  const stat = statOf(path);
  if (stat.isDirectory()) return inFolder(path, weights);
  if (basename(path) === SAVED_MODEL) return findModelSource(dirname(path), weights);
  const ending = extname(path).toLowerCase();
  if (!FORMATS.includes(ending))
    throw failedPrecondition(`"${path}" has the ending "${ending}"; expected ${EXPECTED}.`);
  if (stat.size === 0) throw failedPrecondition(`The model file "${path}" is empty; export or download it again.`);
  const folder = dirname(path);
  if (ending === ".xml") return irSource(path, weights);
  // OpenVINO trusts it, and ends the process if it is damaged.
  if (ending === ".tflite") readTflite(path);
  if (weights !== undefined)
    throw failedPrecondition(`-o model_weights is for .xml models; "${basename(path)}" has its weights itself.`);
  return { path, folder };
}

function irSource(path: string, given: string | undefined): ModelSource {
  const ir = readIrFile(path);
  const weights = findWeights(path, ir, given);
  return { path, folder: dirname(path), ir, ...(weights !== undefined && { weights }) };
}

function statOf(path: string): Stats {
  try {
    return statSync(path);
  } catch (cause) {
    throw failedPrecondition(`The model "${path}" ${readProblem(cause)}; expected ${EXPECTED}.`, cause);
  }
}

/** A SavedModel, the one model of a folder, or that of its highest version. */
function inFolder(folder: string, weights: string | undefined): ModelSource {
  if (existsSync(join(folder, SAVED_MODEL))) return { path: folder, folder };
  const names = readdirSync(folder);
  for (const format of FORMATS) {
    const found = names.filter((name) => extname(name).toLowerCase() === format);
    if (found.length === 1) return findModelSource(join(folder, found[0]!), weights);
    if (found.length > 1)
      throw failedPrecondition(`The folder "${folder}" has several models; give one.`, folderContents(found.sort()));
  }
  const versions = names.filter((name) => /^\d+$/.test(name)).sort((a, b) => Number(a) - Number(b));
  if (versions.length > 0) return findModelSource(join(folder, versions.at(-1)!), weights);
  throw failedPrecondition(`The folder "${folder}" has no model; expected ${EXPECTED}.`);
}
