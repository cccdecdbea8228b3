import { stat } from "node:fs/promises";
import { extname } from "node:path";
import type { RawOptions } from "../../drivers/option-table.ts";
import { DRIVER_NAMES, findDriver } from "../../drivers/registry.ts";
import { failedPrecondition } from "../../errors.ts";
import type { ImageNeeds } from "../../export/deployment.ts";
import { type LocatedModel, locateModel } from "../../repository/folders/find-model.ts";
import { listVersions } from "../../repository/folders/list-versions.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
import { readProblem } from "../../text/read-problem.ts";
import { tensorflowNeeds } from "./tensorflow-needs.ts";

interface GivenModel {
  readonly path?: string;
  readonly driver?: string;
  readonly options: RawOptions;
}

/** Drivers of a deployment, each once, and the parts of its image that some of their models need. */
export interface DeploymentNeeds {
  readonly drivers: readonly string[];
  readonly needs: ImageNeeds;
}

/**
 * Finds what models and hooks run on; the driver of a model at an address by its name. Throws for a path without a
 * model.
 */
export async function needsOf(models: readonly GivenModel[], hooks: readonly string[]): Promise<DeploymentNeeds> {
  const drivers = new Set<string>();
  const [runtimes, packages] = [new Set<string>(), new Set<string>()];
  for (const model of models) {
    const located = await locate(model);
    if (located === undefined) continue;
    drivers.add(located.driver);
    if (located.driver !== "tensorflow") continue;
    const needs = await tensorflowNeeds(located.path, model.options);
    for (const name of needs.runtimes) runtimes.add(name);
    for (const name of needs.packages) packages.add(name);
  }
  if (hooks.some((file) => file.endsWith(".py"))) drivers.add("python");
  return { drivers: [...drivers], needs: { runtimes: [...runtimes], packages: [...packages] } };
}

async function locate({ path = "", driver }: GivenModel): Promise<LocatedModel | undefined> {
  if (driver !== undefined && driver !== "tensorflow") {
    await assertThere(path);
    return { path, driver };
  }
  if (path === "") return driver === undefined ? undefined : { path, driver };
  if (isRemoteAddress(path)) return locateByName(path, driver);
  const { versions } = await listVersions(path, driver);
  return locateModel(versions.at(-1)?.path ?? path, driver === undefined ? {} : { driver });
}

/** A model of another form than a file's path, such as the name of a package, is not looked for. */
async function assertThere(path: string): Promise<void> {
  if (extname(path) === "" || isRemoteAddress(path)) return;
  await stat(path).catch((cause) => {
    throw failedPrecondition(`The model "${path}" ${readProblem(cause)}; expected a file or a folder.`, cause);
  });
}

/** Only the name of an address is known. */
async function locateByName(path: string, driver: string | undefined): Promise<LocatedModel | undefined> {
  if (driver !== undefined) return { path, driver };
  for (const name of DRIVER_NAMES) if ((await findDriver(name)).driver.detect?.(path)) return { path, driver: name };
  return undefined;
}
