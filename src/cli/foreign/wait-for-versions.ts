import { setTimeout } from "node:timers/promises";
import { ServingError } from "../../errors.ts";
import type { ModelConfig } from "../../repository/config/model-config.ts";
import { chosenVersions } from "../../repository/folders/chosen-versions.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
import { endOnSignal } from "../lifecycle/shutdown.ts";
import type { Settings } from "../settings/settings.ts";
import { tensorflowLog } from "./tensorflow-log.ts";

/**
 * Waits until every model's folder has a version, as TensorFlow Serving waits before it opens its ports; warns in its
 * words. Where folders are not looked at again it returns at once.
 */
export async function waitForVersions(
  models: readonly ModelConfig[],
  { pollInterval }: Pick<Settings<"serve">, "pollInterval">,
): Promise<void> {
  if (pollInterval <= 0) return;
  const releaseSignals = endOnSignal();
  try {
    for (const model of models) await waitForVersion(model, pollInterval * 1000);
  } finally {
    releaseSignals();
  }
}

async function waitForVersion(model: ModelConfig, pollMs: number): Promise<void> {
  let told = "";
  for (;;) {
    const problem = await problemOf(model);
    if (problem === undefined) return;
    if (problem !== told) tensorflowLog("W", problem);
    told = problem;
    await setTimeout(pollMs);
  }
}

async function problemOf(model: ModelConfig): Promise<string | undefined> {
  const { name, path } = model;
  // The server itself waits for what is elsewhere, and its state tells why.
  if (isRemoteAddress(path ?? "")) return undefined;
  try {
    const { chosen } = await chosenVersions(model);
    return chosen.length > 0 ? undefined : noVersions(name, path);
  } catch (reason) {
    const { code, message } = ServingError.from(reason);
    if (code === "not_found") return noVersions(name, path);
    return `FileSystemStoragePathSource encountered a filesystem access error: Could not find base path ${path} for servable ${name} with error ${code.toUpperCase()}: ${message}`;
  }
}

function noVersions(name: string, path = ""): string {
  return `No versions of servable ${name} found under base path ${path}. Did you forget to name your leaf directory as a number (eg. '/1/')?`;
}
