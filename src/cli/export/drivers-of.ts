import { DRIVER_NAMES, findDriver } from "../../drivers/registry.ts";
import { locateModel } from "../../repository/folders/find-model.ts";
import { listVersions } from "../../repository/folders/list-versions.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";

interface GivenModel {
  readonly path?: string;
  readonly driver?: string;
}

/**
 * The drivers that models and hooks need, each once; that of a model at an address by
 * its name. Throws for a path without a model.
 */
export async function driversOf(models: readonly GivenModel[], hooks: readonly string[]): Promise<readonly string[]> {
  const drivers = await Promise.all(models.map(driverOf));
  const ofHooks = hooks.some((file) => file.endsWith(".py")) ? ["python"] : [];
  return [...new Set([...drivers.flat(), ...ofHooks])];
}

async function driverOf({ path = "", driver }: GivenModel): Promise<readonly string[]> {
  if (driver !== undefined) return [driver];
  if (path === "") return [];
  // Only its name is known.
  if (isRemoteAddress(path)) return driverByName(path);
  const { versions } = await listVersions(path);
  return [(await locateModel(versions.at(-1)?.path ?? path, {})).driver];
}

async function driverByName(address: string): Promise<readonly string[]> {
  for (const name of DRIVER_NAMES) if ((await findDriver(name)).driver.detect?.(address)) return [name];
  return [];
}
