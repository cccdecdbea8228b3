import { extname } from "node:path";
import { failedPrecondition, ServingError } from "../../../errors.ts";
import type { ModelStorage } from "../../../storage/model-storage.ts";
import { addressBelow, isRemoteAddress, shownAddress } from "../../../storage/remote-address.ts";
import { type ModelConfig, modelConfig } from "../config/model-config.ts";
import { chooseVersions } from "../config/versions.ts";
import { isDetected, modelsIn } from "./find-model.ts";
import { type FolderEntry, isVersionFolder, listFolder, StampedCache } from "./list-folder.ts";
import { FLAT_VERSION, type FoundVersion, listVersions, type VersionList } from "./list-versions.ts";

/** The versions of a model that its policy chooses from the existing ones. */
interface ChosenVersions extends Pick<VersionList, "disk"> {
  readonly chosen: readonly FoundVersion[];
  /** All existing versions, in ascending order. */
  readonly available: readonly FoundVersion[];
  readonly warnings: readonly string[];
}

/** Options of {@link chosenVersions}. */
interface ChoiceOptions {
  readonly storage?: ModelStorage | undefined;
  /** Versions that are served now. */
  readonly served?: readonly bigint[];
}

/**
 * Lists the versions and chooses some; throws as {@link listVersions} does if there are none. Versions that the
 * policy names and that do not exist, and folders without a model, are warnings.
 */
export async function chosenVersions(
  config: ModelConfig,
  { storage, served = [] }: ChoiceOptions = {},
): Promise<ChosenVersions> {
  const { name, versions: policy } = config;
  const { versions: listed, warnings: listing, disk } = await versionsOf(config, storage);
  const { versions: available, warnings: empty } = await usable(config, listed, served);
  const warnings = [...listing, ...empty];
  const isThere = (wanted: bigint) => available.some(({ version }) => version === wanted);
  const missing = policy.kind === "specific" ? policy.versions.filter((version) => !isThere(version)) : [];
  const absent = missing.map((version) => `Version ${version} of ${name} is to be served, but is not there (yet).`);
  return {
    chosen: chooseVersions(policy, available),
    available,
    warnings: [...warnings, ...absent],
    ...(disk !== undefined && { disk }),
  };
}

function usable(config: ModelConfig, all: readonly FoundVersion[], served: readonly bigint[]) {
  const { versions: policy, path } = config;
  if (policy.kind === "specific" || path === undefined) return { versions: all, warnings: [] };
  return withModels(config, all, { count: policy.kind === "latest" ? policy.count : all.length, served });
}

function versionsOf({ path, driver }: ModelConfig, storage: ModelStorage | undefined): Promise<VersionList> {
  if (path === undefined) return Promise.resolve(WITHOUT_PATH);
  return isRemoteAddress(path) ? listRemoteVersions(path, { driver, storage }) : listVersions(path, driver);
}

const WITHOUT_PATH = { versions: [{ version: FLAT_VERSION, path: "" }], warnings: [] };

/** Settings of {@link listRemoteVersions}. */
interface RemoteVersionsOptions {
  readonly driver: string | undefined;
  readonly storage: ModelStorage | undefined;
}

/**
 * Lists the versions at an address as those in a folder; an archive is version 1. Throws as {@link listVersions} does,
 * and the errors of the server.
 */
async function listRemoteVersions(
  address: string,
  { driver, storage: given }: RemoteVersionsOptions,
): Promise<VersionList> {
  const storage = requireStorage(given, address);
  return readIndex(address, storage, async (index, toShown) => {
    if (await storage.isArchive(address)) return { versions: [{ version: FLAT_VERSION, path: address }], warnings: [] };
    const { versions, warnings } = await listVersions(index, driver);
    const remote = versions.map(({ version, path }) => ({
      version,
      path: addressBelow(address, path.slice(index.length)),
      listed: path,
    }));
    return { versions: remote, warnings: warnings.map(toShown) };
  });
}

/** Reads the index of an address as a folder; `toShown`, and errors, name the address in place of it. */
export async function readIndex<Found>(
  address: string,
  storage: ModelStorage,
  read: (index: string, toShown: (text: string) => string) => Promise<Found>,
): Promise<Found> {
  const index = await storage.indexOf(address);
  const toShown = (text: string) => text.replaceAll(index, shownAddress(address));
  try {
    return await read(index, toShown);
  } catch (reason) {
    const { code, message } = ServingError.from(reason);
    throw new ServingError(code, toShown(message), { cause: reason });
  }
}

/** Drivers whose models are all known by their names. */
const BY_NAME: readonly (string | undefined)[] = [undefined, "onnx", "openvino", "tensorflow"];
/** Other drivers that read files, and no folder of any content. */
const BY_FILE = ["pytorch", "sklearn", "xgboost", "lightgbm", "catboost", "pmml", "statsmodels"];
/** Files that are no model, whatever the driver. */
const NO_MODEL =
  /^(?:readme|licen[cs]e|notes?|changelog)\b|\.(?:txt|md|rst|csv|log|ya?ml|png|jpe?g|html?|sh|tmp|part)$/i;

/** Versions, and warnings about those that are left out. */
interface VersionsWithModels {
  readonly versions: readonly FoundVersion[];
  readonly warnings: readonly string[];
}

/**
 * Leaves out the folders of versions that have no model in them, so that none hides a good version: of the highest ones
 * down to `count` that have. All stay if no version has one, and if the driver may read any files. Versions of
 * `served` stay: their files may just be replaced.
 */
async function withModels(
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

/**
 * The folder of the highest version with a model if an unpacked archive holds versions; undefined if it holds
 * none, or a model beside them.
 */
export async function highestVersion(path: string): Promise<string | undefined> {
  const entries = await listFolder(path).catch(() => []);
  if (!entries.some(isVersionFolder) || (await isDetected(path))) return undefined;
  if ((await modelsIn(entries.filter(({ kind }) => kind === "file"))).length > 0) return undefined;
  const { versions } = await listVersions(path);
  const usable = await withModels(modelConfig({ name: "", path }), versions, { count: 1, served: [] });
  return usable.versions.at(-1)?.path;
}

/** The storage; throws `failed_precondition` if there is none to read an address with. */
export function requireStorage(storage: ModelStorage | undefined, address: string): ModelStorage {
  if (storage !== undefined) return storage;
  throw failedPrecondition(`${shownAddress(address)} is not read by this command; expected a path on this machine.`);
}
