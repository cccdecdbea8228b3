import { createHash } from "node:crypto";
import { failedPrecondition, ServingError } from "../../errors.ts";
import type { ModelStorage } from "../../storage/model-storage.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
import type { AspiredModel, AspiredVersion } from "../aspired-model.ts";
import { configText, type ModelConfig } from "./config/model-config.ts";
import { chooseVersions } from "./config/versions.ts";
import { prefetch } from "./fetch-source.ts";
import { chosenVersions, requireStorage } from "./folders/chosen-versions.ts";
import { fingerprintOf } from "./folders/fingerprint.ts";
import { findHooks } from "./folders/list-folder.ts";
import { FLAT_VERSION, type FoundVersion } from "./folders/list-versions.ts";
import type { LoadOptions } from "./load-servable.ts";
import { loadVersion } from "./load-version.ts";
import { neededModels } from "./stage.ts";
import { warmUpFiles } from "./warm-up/warm-up-entry.ts";

/** The versions of a model that its policy chooses from the present ones. */
interface ModelScan {
  readonly model: AspiredModel;
  /** The present versions, chosen or not. */
  readonly available: ReadonlySet<bigint>;
  /** True if a present version will be chosen once its files count as written. */
  readonly isPending: boolean;
  readonly warnings: readonly string[];
  /** True if the present versions have their own folders. */
  readonly hasFolders: boolean;
  /** The number of the disk that its folder is on; undefined if it has none here. */
  readonly disk: number | undefined;
}

/**
 * Decides about a version by the last change of its files: returns it, the one to serve instead, or undefined if it
 * does not count yet.
 */
type Settle = (version: AspiredVersion, changedMs: number) => AspiredVersion | undefined;

/** Results of a model's earlier scans. */
interface ScanChoice {
  readonly settle: Settle;
  /** Versions that are served now. */
  readonly served?: readonly bigint[];
}

/**
 * Lists a model's versions and fingerprints their files. Throws `not_found` if there is none, `failed_precondition`
 * if they cannot be listed, or the model is refused.
 */
export async function scanModel(
  config: ModelConfig,
  options: LoadOptions,
  { settle, served = [] }: ScanChoice,
): Promise<ModelScan> {
  if (config.refusal !== undefined) throw failedPrecondition(`${config.refusal}.`);
  const { storage } = options;
  const { available, warnings, disk } = await chosenVersions(config, { storage, served });
  const shared = await sharedFingerprint(config, storage);
  const needs = neededModels(config);
  const needsVersions = config.stages?.some(({ version }) => version !== undefined) === true;
  const settled = new Map<FoundVersion, AspiredVersion | undefined>();
  for (;;) {
    const usable = available.filter((found) => !settled.has(found) || settled.get(found) !== undefined);
    const chosen = chooseVersions(config.versions, usable);
    const fresh = chosen.filter((found) => !settled.has(found));
    if (fresh.length === 0) {
      return {
        model: toModel(config, chosen, settled),
        available: numbersOf(available),
        isPending: [...settled.values()].includes(undefined),
        warnings,
        hasFolders: available.some(({ path }) => path !== (config.path ?? "")),
        disk,
      };
    }
    for (const found of fresh) {
      const { changedMs, ...prints } = await printsOf(found.path, config, { shared, storage });
      const load = (signal: AbortSignal) => loadVersion({ config, found, signal }, options);
      const prepare = prefetch([found.path, config.hooks, ...stagePaths(config)], storage);
      settled.set(found, settle({ version: found.version, ...prints, needs, needsVersions, prepare, load }, changedMs));
    }
  }
}

function numbersOf(versions: readonly FoundVersion[]): ReadonlySet<bigint> {
  return new Set(versions.map(({ version }) => version));
}

type Prints = Pick<AspiredVersion, "fingerprint" | "modelFingerprint"> & { readonly changedMs: number };

/** Fingerprints a version; its own hook file, or else the model's, has a separate fingerprint. */
async function printsOf(path: string, { hooks }: ModelConfig, { shared, storage }: PrintOptions): Promise<Prints> {
  const own = await findHooks(path);
  const { text, changedMs } = path === "" ? WITHOUT_FILES : await stampOf(path, storage, own);
  const file = own ?? hooks;
  if (typeof file !== "string") return { fingerprint: `${text}${shared}`, changedMs };
  const ofHooks = await stampOf(file, storage);
  // Remote hooks are copied for each load, so that new ones need one.
  if (isRemoteAddress(file)) return { fingerprint: JSON.stringify([text, shared, file, ofHooks.text]), changedMs };
  const modelFingerprint = JSON.stringify([text, shared, file]);
  const lastMs = Math.max(changedMs, ofHooks.changedMs);
  return { fingerprint: `${modelFingerprint}${ofHooks.text}`, modelFingerprint, changedMs: lastMs };
}

interface PrintOptions {
  readonly shared: string;
  readonly storage: ModelStorage | undefined;
}

/** Identity of a version's files, here or on another server; the file `except` of a local folder does not count. */
async function stampOf(path: string, storage: ModelStorage | undefined, except?: string) {
  return isRemoteAddress(path) ? requireStorage(storage, path).stampOf(path) : fingerprintOf(path, except);
}

const WITHOUT_FILES = { text: "", changedMs: 0 };

function toModel(
  { name, labels, maxQueue, maxQueueBytes, idleUnloadMs, traffic, requestLog }: ModelConfig,
  chosen: readonly FoundVersion[],
  settled: ReadonlyMap<FoundVersion, AspiredVersion | undefined>,
): AspiredModel {
  const versions = chosen.map((found) => settled.get(found)!);
  const limits = { maxQueue, maxQueueBytes, idleUnloadMs };
  return { name, labels: Object.fromEntries(labels), versions, traffic, requestLog, ...limits };
}

/** Members that load no version again: they count for loaded ones, or have their own fingerprint, as hooks have. */
const CHANGES_NO_VERSION: ReadonlySet<string> = new Set<keyof ModelConfig>([
  ...(["hooks", "versions", "labels", "traffic", "requestLog", "isClients", "refusal"] as const),
  ...(["maxQueue", "maxQueueBytes", "idleUnloadMs"] as const),
]);

/** Changes with the model's settings, and with files that all its versions share, except for their hooks. */
async function sharedFingerprint(config: ModelConfig, storage: ModelStorage | undefined): Promise<string> {
  const { warmUp, labelFiles = new Map<string, string>() } = config;
  const settings = Object.entries(config).filter(([name]) => !CHANGES_NO_VERSION.has(name));
  const ordered = settings.toSorted(([one], [other]) => (one < other ? -1 : 1));
  const hash = createHash("sha1").update(configText(Object.fromEntries(ordered)));
  for (const file of [...stagePaths(config), ...warmUpFiles(warmUp), ...labelFiles.values()])
    hash.update((await stampOf(file, storage)).text);
  return hash.digest("base64url");
}

/** Files outside the versions' folders. */
function stagePaths({ path, stages = [] }: ModelConfig): string[] {
  return path === undefined ? stages.flatMap((stage) => stage.path ?? []) : [];
}

/**
 * Finds the versions of a model that should be served now. Never rejects: a model whose versions cannot be listed gets
 * one version that fails to load for that reason, so that its state shows the reason.
 */
export async function aspireModel(config: ModelConfig, options: LoadOptions): Promise<AspiredModel> {
  try {
    options.storage?.expire();
    const { model, available, warnings } = await scanModel(config, options, { settle: (version) => version });
    for (const warning of warnings) options.log.warn(warning);
    return { ...model, present: [...available] };
  } catch (reason) {
    return failedModel(config, reason);
  }
}

/** A model that cannot be served: its only version does not load. */
export function failedModel({ name }: ModelConfig, reason: unknown): AspiredModel {
  const error = ServingError.from(reason);
  const load = () => Promise.reject(error);
  const fingerprint = `${FAILED}${error.message}`;
  return { name, versions: [{ version: FLAT_VERSION, fingerprint, refusal: error, load }] };
}

const FAILED = "failed: ";

/** Checks if a fingerprint is that of a {@link failedModel}. */
export function isFailed(fingerprint: string): boolean {
  return fingerprint.startsWith(FAILED);
}
