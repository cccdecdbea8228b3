import { ServingError } from "../../errors.ts";
import type { ModelStorage } from "../../storage/model-storage.ts";
import { addressBelow, shownAddress } from "../../storage/remote-address.ts";
import { FLAT_VERSION, listVersions, type VersionList } from "./list-versions.ts";
import { requireStorage } from "./require-storage.ts";

/** Settings of {@link listRemoteVersions}. */
export interface RemoteVersionsOptions {
  readonly driver: string | undefined;
  readonly storage: ModelStorage | undefined;
}

/**
 * Lists the versions at an address as those in a folder; an archive is version 1. Throws as {@link listVersions} does,
 * and the errors of the server.
 */
export async function listRemoteVersions(
  address: string,
  { driver, storage: given }: RemoteVersionsOptions,
): Promise<VersionList> {
  const storage = requireStorage(given, address);
  const index = await storage.indexOf(address);
  if (await storage.isArchive(address)) return { versions: [{ version: FLAT_VERSION, path: address }], warnings: [] };
  const toShown = (text: string) => text.replaceAll(index, shownAddress(address));
  try {
    const { versions, warnings } = await listVersions(index, driver);
    const remote = versions.map(({ version, path }) => ({
      version,
      path: addressBelow(address, path.slice(index.length)),
      listed: path,
    }));
    return { versions: remote, warnings: warnings.map(toShown) };
  } catch (reason) {
    const { code, message } = ServingError.from(reason);
    throw new ServingError(code, toShown(message), { cause: reason });
  }
}
