import { dirname, resolve, sep } from "node:path";
import { failedPrecondition, invalidArgument, publicText, ServingError } from "../../errors.ts";
import { withoutEnd } from "../../platform/text/shorten.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { tellsOfMemory, tellsOfSizes } from "../run-failure.ts";

/**
 * Kind of a failure, where the kind determines the handling: `refused` before anything ran, for what was given;
 * `failed` in a run or another call; `cancelled` when asked to.
 */
export type OpenvinoFailureKind = "refused" | "failed" | "cancelled";

/** OpenVINO refused or failed. Its whole text is for the log; {@link failureText} is for people. */
export class OpenvinoFailure extends Error {
  override readonly name = "OpenvinoFailure";
  readonly kind: OpenvinoFailureKind;

  constructor(kind: OpenvinoFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Places in OpenVINO's sources where an error was thrown or checked, and sentences without information. */
const NOISE =
  /^(Exception from \S+:\d+:?|Check '.*' failed at \S+:\d+:?|Failed to create plugin .*|Please, check your environment.*|)$/;
/** A node with its full types, before its name. */
const NODE = /While validating node '.*?' with friendly_name '(.*?)':/g;
/** Texts of the front ends before and after their messages. */
const FRAME =
  /FrontEnd API failed with \w+: |Model wasn't fully converted\. Summary: (-- )?| To facilitate the conversion of unsupported operations, .*/g;
const MAX_LENGTH = 600;

/**
 * OpenVINO's message, without places in its sources and paths of this machine, on one line and without the point at its
 * end.
 */
export function failureText(reason: unknown): string {
  const whole = reason instanceof Error ? reason.message : String(reason);
  const lines = whole
    .slice(0, 4 * MAX_LENGTH)
    .split("\n")
    .map((line) => line.trim());
  const said = lines.filter((line) => !NOISE.test(line)).join(" ");
  const text = said === "" ? lines.filter((line) => line !== "").join(" ") : said;
  const told = publicText(text.replace(NODE, 'in node "$1":').replace(FRAME, "").slice(0, MAX_LENGTH));
  return withoutEnd(told, ".: \t\n");
}

/** The error for an option that OpenVINO refuses for the model; a ServingError is returned unchanged. */
export function cannotTake(
  { option, text }: { readonly option: string; readonly text: string | undefined },
  cause: unknown,
): ServingError {
  if (cause instanceof ServingError) return cause;
  return invalidArgument(`Option "${option}" is "${text}", which the model cannot take: ${failureText(cause)}.`, cause);
}

/** The error for a failed run: the client's fault if sizes do not match, else `internal`; it names the inputs. */
export function toRunError(reason: unknown, inputs: Iterable<readonly [name: string, tensor: Tensor]>): ServingError {
  if (!(reason instanceof OpenvinoFailure)) return ServingError.from(reason);
  if (reason.kind === "cancelled") return new ServingError("cancelled", "The run was cancelled.", { cause: reason });
  const { message } = reason;
  const isRefused = reason.kind === "refused";
  const code = isRefused
    ? "invalid_argument"
    : tellsOfMemory(message)
      ? "resource_exhausted"
      : tellsOfSizes(message)
        ? "invalid_argument"
        : "internal";
  const given = Array.from(inputs, ([name, { dtype, shape }]) => `${name} ${dtype}[${shape}]`).join(", ");
  return new ServingError(code, `The model failed: ${failureText(reason)}. The inputs were ${given}.`, {
    cause: reason,
  });
}

/** Checks if a lack of memory was the reason. */
function isOutOfMemory(reason: unknown): boolean {
  return reason instanceof OpenvinoFailure && tellsOfMemory(reason.message);
}

/** The model and the device of a failed load. */
interface LoadContext {
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
