import { findLibrary } from "../../../../src/storage/runtimes/find-library.ts";
import { tensorflow } from "../../../../src/storage/runtimes/native-runtimes.ts";

/** Path of libtensorflow on this machine; rejects, saying how to get it, where it is missing. */
export async function tensorflowRuntime(): Promise<string> {
  const found = findLibrary(tensorflow);
  if (found !== undefined) return found.path;
  throw new Error("libtensorflow is not installed (kserving runtimes install tensorflow).");
}
