import { extname } from "node:path";
import type { ModelConfig } from "../config/model-config.ts";
import { isDetected, modelsIn } from "./find-model.ts";
import { type FolderEntry, listFolder } from "./list-folder.ts";
import type { FoundVersion } from "./list-versions.ts";
import { StampedCache } from "./stamped-cache.ts";

/** Drivers whose models are all known by their names. */
const BY_NAME: readonly (string | undefined)[] = [undefined, "onnx", "openvino", "tensorflow"];
/** Other drivers that read files, and no folder of any content. */
const BY_FILE = ["pytorch", "sklearn", "xgboost", "lightgbm", "catboost", "pmml", "statsmodels"];
/** Files that are no model, whatever the driver. */
const NO_MODEL =
  /^(?:readme|licen[cs]e|notes?|changelog)\b|\.(?:txt|md|rst|csv|log|ya?ml|png|jpe?g|html?|sh|tmp|part)$/i;

/** Versions, and warnings about those that are left out. */
export interface VersionsWithModels {
  readonly versions: readonly FoundVersion[];
  readonly warnings: readonly string[];
}

/**
 * Leaves out the folders of versions that have no model in them, so that none hides a good version: of the highest ones
 * down to `count` that have. All stay where no version has one, and where the driver may read any files. Versions of
 * `served` stay: their files may just be replaced.
 */
export async function withModels(
  { name, driver, stages, file }: ModelConfig,
  all: readonly FoundVersion[],
  { count, served }: { readonly count: number; readonly served: readonly bigint[] },
): Promise<VersionsWithModels> {
  const isKnown = BY_NAME.includes(driver) || BY_FILE.includes(driver ?? "");
  if (all.length < 2 || !isKnown || stages !== undefined || file !== undefined) return { versions: all, warnings: [] };
  const empty = new Set<FoundVersion>();
  let found = 0;
  for (const version of all.toReversed()) {
    if (found === count) break;
    const isUsable = served.includes(version.version) || (await holdsModel(version, driver));
    if (isUsable) found++;
    else empty.add(version);
  }
  if (found === 0) return { versions: all, warnings: [] };
  const versions = all.filter((version) => !empty.has(version));
  return { versions, warnings: all.filter((version) => empty.has(version)).map(({ path }) => leftOut(name, path)) };
}

const HOLDING = new StampedCache<boolean>();

function holdsModel({ path, listed = path }: FoundVersion, driver: string | undefined): Promise<boolean> {
  if (BY_NAME.includes(driver)) return HOLDING.get(listed, () => hasKnownModel(listed));
  return listFolder(listed).then(
    (entries) => entries.some(mayBeModel),
    () => true,
  );
}

async function hasKnownModel(folder: string): Promise<boolean> {
  if (await isDetected(folder)) return true;
  const entries = await listFolder(folder).catch(() => undefined);
  // The load says why it cannot be read.
  return entries === undefined || (await modelsIn(entries)).length > 0;
}

function mayBeModel({ name, kind }: FolderEntry): boolean {
  return kind === "folder" || (extname(name) !== "" && !NO_MODEL.test(name));
}

function leftOut(name: string, path: string): string {
  return `${path} is left out, since it has no model: lower versions of ${name} count. It is served once it has one.`;
}
