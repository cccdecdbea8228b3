import { SERVER_DEFAULTS } from "../../platform/limits/settings/server-settings.ts";
import { containerMemory } from "../../platform/machine/container.ts";
import type { FileSettings } from "./read-file-settings.ts";

/** Share of a container's memory that all requests together may hold; the rest is for models and for copies. */
const QUEUE_SHARE = 1 / 4;
/** Share of it that the heap of a hook thread may take. */
const HOOK_SHARE = 1 / 2;
const MIB = 1024 ** 2;
const ORIGIN = "the container's memory limit";

/**
 * Defaults of limits in a container whose memory is too small for the usual ones; none elsewhere. They count less than
 * whatever is set. `memory` is the container's, in bytes.
 */
export function containerDefaults(memory: number | undefined = containerMemory()): FileSettings {
  if (memory === undefined) return new Map();
  const maxQueueBytes = Math.min(SERVER_DEFAULTS.maxQueueBytes, Math.floor(memory * QUEUE_SHARE));
  const wanted = {
    maxQueueBytes,
    maxMessageBytes: Math.min(SERVER_DEFAULTS.maxMessageBytes, Math.floor(maxQueueBytes / 2)),
    hookMemoryMb: Math.min(SERVER_DEFAULTS.hookMemoryMb, Math.floor((memory * HOOK_SHARE) / MIB)),
  };
  const names = (["maxQueueBytes", "maxMessageBytes", "hookMemoryMb"] as const).filter(
    (name) => wanted[name] < SERVER_DEFAULTS[name],
  );
  return new Map(names.map((name) => [name, { value: wanted[name], origin: ORIGIN }]));
}
