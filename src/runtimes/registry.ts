import { ServingError } from "../errors.ts";
import { didYouMean } from "../text/nearest.ts";
import type { NativeRuntime } from "./native-runtime.ts";
import { openvino } from "./openvino.ts";
import { pytorch } from "./pytorch.ts";
import { tensorflow } from "./tensorflow.ts";

/** Every runtime that can be installed. Adding one is one line here. */
export const NATIVE_RUNTIMES: readonly NativeRuntime[] = [tensorflow, openvino];

/** The runtime of a name. Throws `invalid_argument` for an unknown one, and `failed_precondition` for one that cannot be installed. */
export function findRuntime(name: string): NativeRuntime {
  const found = NATIVE_RUNTIMES.find((runtime) => runtime.name === name);
  if (found !== undefined) return found;
  if (name === pytorch.name) throw new ServingError("failed_precondition", `${pytorch.title}: ${pytorch.howToInstall}`);
  if (name === "onnx") {
    throw new ServingError(
      "failed_precondition",
      "The runtime of onnx is an npm package: npm install onnxruntime-node",
    );
  }
  const names = NATIVE_RUNTIMES.map((runtime) => runtime.name);
  const message = `There is no runtime "${name}".${didYouMean(name, names)} Expected ${names.join(" or ")}.`;
  throw new ServingError("invalid_argument", message);
}
