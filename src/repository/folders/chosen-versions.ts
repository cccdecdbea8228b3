import type { ModelStorage } from "../../storage/model-storage.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { chooseVersions } from "../config/version-policy.ts";
import { listRemoteVersions } from "./list-remote-versions.ts";
import { FLAT_VERSION, type FoundVersion, listVersions, type VersionList } from "./list-versions.ts";
import { withModels } from "./with-models.ts";

/** The versions of a model that its policy chooses from the existing ones. */
export interface ChosenVersions extends Pick<VersionList, "disk"> {
  readonly chosen: readonly FoundVersion[];
  /** All existing versions, in ascending order. */
  readonly available: readonly FoundVersion[];
  readonly warnings: readonly string[];
}

/** Options of {@link chosenVersions}. */
export interface ChoiceOptions {
  readonly storage?: ModelStorage | undefined;
  /** Versions that are served now. */
  readonly served?: readonly bigint[];
}

/**
 * Lists the versions and chooses some; throws as {@link listVersions} does where there are none. Versions that the
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
