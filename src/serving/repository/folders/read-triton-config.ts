import { stat } from "node:fs/promises";
import { join } from "node:path";
import { basename } from "node:path/posix";
import { parseTextFormat } from "../../../tensor/codecs/config/parse-text-format.ts";
import { readConfigText } from "../config/config-source.ts";
import { Findings } from "../config/findings.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { readTriton } from "../formats/triton.ts";
import { StampedCache } from "./list-folder.ts";

/** Name of the file that marks a folder as a model of Triton's. */
const TRITON_CONFIG = "config.pbtxt";

/** Checks if a folder has such a file. */
export function hasTritonConfig(folder: string): Promise<boolean> {
  return stat(join(folder, TRITON_CONFIG)).then(
    (found) => found.isFile(),
    () => false,
  );
}

/** A model as its own folder describes it, and its settings that have no effect here. */
export interface FolderModel {
  readonly config: ModelConfig;
  readonly warnings: readonly string[];
}

/**
 * Reads the config.pbtxt of a model's folder; throws `invalid_argument` with all errors, `failed_precondition` for a
 * file that cannot be read. `isAlone` = the folder is in no repository, so that its name is not the model's.
 */
export function readTritonConfig(folder: string, isAlone = false): Promise<FolderModel> {
  const file = join(folder, TRITON_CONFIG);
  return (isAlone ? READ_ALONE : READ).get(file, () => readAgain(file, { folder, isAlone }));
}

const READ = new StampedCache<FolderModel>();
const READ_ALONE = new StampedCache<FolderModel>();

async function readAgain(
  file: string,
  place: { readonly folder: string; readonly isAlone: boolean },
): Promise<FolderModel> {
  const findings = new Findings();
  const config = readTriton(parseTextFormat(await readConfigText(file), file), { findings, ...place });
  findings.assertNone();
  return { config: config as ModelConfig, warnings: findings.warnings };
}

/** Checks by its name if a file describes a model, so that it is read before a version is chosen. */
export function isDescription(name: string): boolean {
  return basename(name) === TRITON_CONFIG;
}
