import { startWaitingWorker } from "../../models/threads/waiting-worker.ts";
import { permitCollections } from "../../platform/limits/memory/young-garbage.ts";
import type { ServeCommandLine } from "../settings/read-serve-settings.ts";

/** Drivers whose models run in threads of this process. */
export const THREADED: readonly string[] = ["onnx", "openvino", "tensorflow"];
/** Paths that such drivers take: their files, and folders of models or versions. */
const THEIRS = /\.(onnx|ort|xml|pb|tflite)$|(^|\/)[^.]+$/i;

/**
 * Imports `kserving serve`. Where the command line looks as if a model would run in a thread, that is started before,
 * to load its code meanwhile.
 */
export async function importServe({ settings, foreign }: ServeCommandLine) {
  permitCollections();
  const { driver, model, modelPath, modelRepository, isolate } = settings;
  const places = [...(foreign?.models ?? []).map(({ path = "" }) => path), ...model, ...modelPath, ...modelRepository];
  const isThreaded = driver.length > 0 ? driver.some((name) => THREADED.includes(name)) : places.some(isTheirs);
  if (isThreaded && !isolate && settings.modelControl !== "explicit") startWaitingWorker();
  return import("./serve-command.ts");
}

function isTheirs(place: string): boolean {
  return THEIRS.test(place);
}
