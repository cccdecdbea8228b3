import { setTimeout } from "node:timers/promises";
import { ServingError } from "../../errors.ts";
import type { ServedVersion } from "../../server/served-version.ts";
import type { ModelConfig } from "../../serving/repository/config/model-config.ts";
import { chosenVersions } from "../../serving/repository/folders/chosen-versions.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
import { portOf } from "../addresses/address-text.ts";
import { endOnSignal } from "../lifecycle/shutdown.ts";
import type { Settings } from "../settings/settings.ts";
import type { StatusReporter } from "../status-reporter/status-reporter.ts";

const log = (text: string) => tensorflowLog("I", text);

type ListenSettings = Pick<Settings<"serve">, "port" | "grpcSocketPath">;

/** Prints the lines of `tensorflow_model_server` that scripts wait for, to standard error as there. */
export function createTensorflowReporter({ port, grpcSocketPath }: ListenSettings): Partial<StatusReporter> {
  const available = new Set<string>();
  const tellVersion = ({ name, version, state }: ServedVersion) => {
    const text = `{name: ${name} version: ${version}}`;
    if (state === "AVAILABLE" && !available.has(text)) {
      available.add(text);
      log(`Successfully loaded servable version ${text}`);
    }
    if (state === "END" && available.delete(text)) log(`Done unloading servable version ${text}`);
  };
  return {
    changed: tellVersion,
    ready: ({ grpcAddress, httpUrl }) => {
      if (port !== 0) log(`Running gRPC ModelServer at 0.0.0.0:${portOf(grpcAddress)} ...`);
      if (grpcSocketPath !== undefined) log(`Running gRPC ModelServer at UNIX socket ${grpcSocketPath} ...`);
      if (httpUrl === undefined) return;
      log(`Exporting HTTP/REST API at:localhost:${portOf(httpUrl)} ...`);
      // Many scripts wait for the last line of all.
      process.stderr.write("[kserving : 0] NET_LOG: Entering the event loop ...\n");
    },
  };
}

/**
 * Waits until every model's folder has a version, as TensorFlow Serving waits before it opens its ports; warns in its
 * words. If folders are not looked at again, it returns at once.
 */
export async function waitForVersions(
  models: readonly ModelConfig[],
  { pollIntervalMs }: Pick<Settings<"serve">, "pollIntervalMs">,
): Promise<void> {
  if (pollIntervalMs <= 0) return;
  const releaseSignals = endOnSignal();
  try {
    for (const model of models) await waitForVersion(model, pollIntervalMs);
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
  // The server itself waits for models that are elsewhere, and its state tells why.
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

/**
 * Writes a line to standard error as TensorFlow's log has it: the time with
 * microseconds, the level (I, W, E), the place.
 */
function tensorflowLog(level: "I" | "W" | "E", text: string): void {
  process.stderr.write(`${logTime(new Date())}000: ${level} kserving] ${text}\n`);
}

/** A time of this machine's clock, `2026-08-21 16:33:54.123`. */
export function logTime(time: Date): string {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, -1).replace("T", " ");
}
