import { findLibrary } from "../../../src/storage/runtimes/find-library.ts";
import { openvino } from "../../../src/storage/runtimes/native-runtimes.ts";

/** Path of libopenvino_c on this machine; rejects, saying how to get it, where it is missing. */
export async function openvinoRuntime(): Promise<string> {
  const found = findLibrary(openvino);
  if (found !== undefined) return found.path;
  throw new Error("OpenVINO is not installed (kserving runtimes install openvino).");
}
