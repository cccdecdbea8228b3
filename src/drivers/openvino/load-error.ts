import { dirname, resolve, sep } from "node:path";
import { failedPrecondition, ServingError } from "../../errors.ts";
import { failureText, OpenvinoFailure } from "./openvino-failure.ts";
import { isOutOfMemory } from "./run-error.ts";

/** The model and the device of a failed load. */
export interface LoadContext {
  /** As it was given. */
  readonly path: string;
  readonly version: string;
  readonly device: string;
}

/** Patterns of failed loads, with advice. */
const ADVICE: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [
    /unsupported opset|contain the operation|is not supported|Cannot create .* layer|No conversion rule found|not implemented|unsupported op/i,
    "Give the library of a custom operation with -o extension=.",
  ],
  [
    /Cannot load library|cannot open shared object/i,
    "A file of the runtime is gone or broken; install it again: kserving runtimes install openvino.",
  ],
  [/weights|\.bin/i, "Its .bin file may be of another model; name the right one with -o model_weights=."],
];

/**
 * The error for a model that OpenVINO does not load: `failed_precondition`, or `resource_exhausted` for lack of memory.
 */
export function toLoadError(reason: unknown, { path, version, device }: LoadContext): ServingError {
  if (!(reason instanceof OpenvinoFailure)) return ServingError.from(reason);
  if (isOutOfMemory(reason)) {
    const message = `There is not enough memory to load "${path}" on ${device}.`;
    return new ServingError("resource_exhausted", message, { cause: reason });
  }
  const short = new OpenvinoFailure(reason.kind, reason.message.replaceAll(resolve(dirname(path)) + sep, ""));
  const text = failureText(short);
  const advice = ADVICE.find(([pattern]) => pattern.test(text))?.[1];
  return failedPrecondition(
    `OpenVINO ${version} cannot load "${path}" on ${device}: ${text}.${advice === undefined ? "" : ` ${advice}`}`,
    reason,
  );
}
