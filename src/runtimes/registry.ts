import { invalidArgument } from "../errors.ts";
import { didYouMean } from "../text/nearest.ts";
import { CUDA } from "./cuda-places.ts";
import type { NativeRuntime } from "./native-runtime.ts";
import { onnx } from "./onnx.ts";
import { onnxCuda } from "./onnx-cuda.ts";
import { openvino } from "./openvino.ts";
import { pytorch } from "./pytorch.ts";
import { tensorflow } from "./tensorflow.ts";

/**
 * Every native runtime that can be installed; {@link onnx} and {@link pytorch} are not
 * among them. Adding one is one line here.
 */
export const NATIVE_RUNTIMES: readonly NativeRuntime[] = [tensorflow, openvino, onnxCuda];

/** The usual name of a runtime that can be removed. Throws as {@link findRuntime} does. */
export function titleOf(name: string): string {
  return (
    [onnx, pytorch, { name: CUDA, title: "CUDA" }].find((runtime) => runtime.name === name)?.title ??
    findRuntime(name).title
  );
}

/** The native runtime of a name. Throws `invalid_argument` for an unknown one. */
export function findRuntime(name: string): NativeRuntime {
  const found = NATIVE_RUNTIMES.find((runtime) => runtime.name === name);
  if (found !== undefined) return found;
  const names = [onnx.name, ...NATIVE_RUNTIMES.map((runtime) => runtime.name), pytorch.name];
  const message = `There is no runtime "${name}".${didYouMean(name, names)} Expected ${names.slice(0, -1).join(", ")} or ${pytorch.name}.`;
  throw invalidArgument(message);
}
