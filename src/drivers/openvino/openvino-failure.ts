import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import { failedPrecondition, invalidArgument, publicText, ServingError } from "../../errors.ts";
import { withoutEnd } from "../../platform/text/shorten.ts";
import type { Dimension } from "../../tensor/signature/signature.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { tellsOfMemory, tellsOfSizes } from "../run-failure.ts";
import type { Network } from "./engine.ts";
import type { ModelSource } from "./model-source.ts";

/**
 * Kind of a failure, which determines the handling: `refused` before anything ran, for what was given; `failed` in a
 * run or another call; `cancelled` when asked to.
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

/** Places in OpenVINO's sources that threw or checked, and sentences without information. */
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

/** Combinations of shapes that are remembered. */
const MAX_SHAPES = 4096;
/** Failed inputs that are remembered by their content. */
const MAX_CONTENTS = 256;

/** A model of which a run has failed. */
export interface FailingModel {
  /** True if a run leaves nothing behind, so that the same inputs fail again. */
  readonly isPure: boolean;
  readonly source: ModelSource;
}

/**
 * Inputs on which a network fails, so that it does not fail on them again: by their shapes, if the network's own
 * shape inference refuses those, else by their content.
 */
export class KnownFailures {
  readonly #network: Network;
  /** The network's own shapes; undefined if its shape inference does not decide. */
  readonly #shapes: ReadonlyMap<number, readonly Dimension[]> | undefined;
  readonly #isPure: boolean;
  /** Undefined = they are taken. */
  readonly #byShapes = new Map<string, OpenvinoFailure | undefined>();
  readonly #byContent = new Map<string, OpenvinoFailure>();
  /** Shapes of which some contents failed. */
  readonly #uncertain = new Set<string>();

  /** Must not be used while the network is compiled. */
  constructor(network: Network, { isPure, source }: FailingModel) {
    this.#network = network;
    this.#isPure = isPure;
    this.#shapes = mayBranch(source) ? undefined : openShapes(network);
  }

  /** Notes a run that failed. */
  add(inputs: readonly Tensor[], failure: OpenvinoFailure): void {
    const key = keyOf(inputs);
    const isRefused = this.#refusal(key, inputs) !== undefined;
    const refused = new OpenvinoFailure("refused", failure.message);
    if (isRefused) this.#byShapes.set(key, refused);
    if (isRefused || !this.#isPure || tellsOfMemory(failure.message)) return;
    this.#uncertain.add(key);
    this.#byContent.set(contentOf(key, inputs), failure);
    dropOldest(this.#uncertain, MAX_CONTENTS);
    dropOldest(this.#byContent, MAX_CONTENTS);
  }

  /** The failure that a run on these inputs would have; undefined if none is known. */
  find(inputs: readonly Tensor[]): OpenvinoFailure | undefined {
    const key = keyOf(inputs);
    const refusal = this.#refusal(key, inputs);
    if (refusal !== undefined || !this.#uncertain.has(key)) return refusal;
    return this.#byContent.get(contentOf(key, inputs));
  }

  #refusal(key: string, inputs: readonly Tensor[]): OpenvinoFailure | undefined {
    if (this.#byShapes.has(key)) return this.#byShapes.get(key);
    const refusal = this.#infer(inputs);
    this.#byShapes.set(key, refusal);
    dropOldest(this.#byShapes, MAX_SHAPES);
    return refusal;
  }

  /** Lets the network infer its shapes from those of the inputs, which runs nothing. */
  #infer(inputs: readonly Tensor[]): OpenvinoFailure | undefined {
    if (this.#shapes === undefined) return undefined;
    try {
      this.#network.reshape(new Map(inputs.map(({ shape }, place) => [place, shape])));
    } catch (reason) {
      return reason instanceof OpenvinoFailure ? new OpenvinoFailure("refused", reason.message) : undefined;
    }
    this.#network.reshape(this.#shapes);
    return undefined;
  }
}

/** Operators of ONNX with parts that need not run, as the file has them. */
const ONNX_BRANCHES = ["\x22\x02If", "\x22\x04Loop", "\x22\x04Scan"];
/** Larger files are not looked through. */
const MAX_BYTES = 1 << 30;

/** False for a model in which everything runs, so that what its shape inference refuses cannot run. */
function mayBranch({ path, ir }: ModelSource): boolean {
  if (ir !== undefined) return ir.hasLoops;
  if (!/\.onnx$/i.test(path)) return true;
  try {
    if (statSync(path).size > MAX_BYTES) return true;
    const bytes = readFileSync(path);
    return ONNX_BRANCHES.some((text) => bytes.includes(text, 0, "latin1"));
  } catch {
    // The file may be gone by now.
    return true;
  }
}

/** The declared shapes; undefined if none is open, or one is of any rank. */
function openShapes({ inputs }: Network): ReadonlyMap<number, readonly Dimension[]> | undefined {
  const shapes = inputs.flatMap(({ shape }) => (shape === undefined ? [] : [shape]));
  const isOpen = shapes.some((shape) => shape.some((size) => typeof size !== "number" || size < 0));
  return isOpen && shapes.length === inputs.length ? new Map(shapes.entries()) : undefined;
}

function keyOf(inputs: readonly Tensor[]): string {
  return inputs.map(({ shape }) => shape.join()).join(";");
}

function contentOf(key: string, inputs: readonly Tensor[]): string {
  const hash = createHash("sha1").update(key);
  for (const { dtype, data } of inputs) {
    if (dtype !== "bytes") hash.update(data as NodeJS.TypedArray);
    else for (const text of data as readonly Uint8Array[]) hash.update(`${text.length}:`).update(text);
  }
  return hash.digest("base64");
}

function dropOldest(entries: Map<string, unknown> | Set<string>, limit: number): void {
  const [oldest] = entries.keys();
  if (entries.size > limit && oldest !== undefined) entries.delete(oldest);
}
