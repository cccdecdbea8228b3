import { dirname, resolve, sep } from "node:path";
import { invalidArgument, publicText, ServingError, shortText } from "../../errors.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { describeInputs, isShapeFault, tellsOfMemory, tellsOfSizes } from "../run-failure.ts";
import { fromGuardName } from "./guards/graph-node.ts";

/** Names of symbolic dimensions by input; an input without any may be absent. */
export type SymbolicShapes = ReadonlyMap<string, readonly (number | string)[]>;

/** Messages of ONNX Runtime when it refuses an input before it runs the model. */
const REFUSED_INPUT = /^(Invalid rank for input|Got invalid dimensions for input|Unexpected input data type)/;
/** Messages about what the runtime lacks, or about the machine. */
const OWN_FAULT =
  /\bCUDA|CUDNN|CUBLAS|TensorRT|not (yet )?(implemented|supported)|NOT_IMPLEMENTED|unsupported|terminate flag/i;
/** Bodies within bodies of which the innermost is looked for. */
const MAX_DEPTH = 8;
const FAILED_NODE = /while running (?<op>\S+) node\. Name:'(?<name>.*?)' Status Message: (?<reason>[\s\S]*)/;
/**
 * A place in the runtime's C++ sources, with the function's signature or bare name; or
 * the class of an error within another.
 */
const NOISE =
  /\S+\.(?:cc|cpp|cu|h):\d+ (?:[\w:<>,*&~ ]+\((?:[^()]|\([^()]*\))*\)(?: const)?(?:::<lambda\(.*?\)>)? |\w+ )?|\[ONNXRuntimeError\] : \d+ : \w+ : /g;

/** The types of a template, and a condition that did not hold, before the words about it. */
const CONDITION = /^(?:\[with [^\]]*\] )?(?:[^.]{1,200} was false\. )?/;

/** The place where CUDA failed: the machine, the line of C++, the call. */
const CUDA_NOISE = / ; GPU=[^;]*; hostname=[^;]*; file=[^;]*; line=[^;]*; expr=[^;]*;?\s*/g;

/**
 * The error for a model that ONNX Runtime does not load: `failed_precondition`, or `resource_exhausted` if memory is
 * missing, with the runtime's own reason.
 */
export function toLoadError(reason: unknown, path: string, backend: string): ServingError {
  const folder = dirname(resolve(path)) + sep;
  const text = withoutNoise(shortText(reason).replace(/^Load model from .*? failed:\s*/s, "")).replaceAll(folder, "");
  const where = backend === "CPU" ? "" : ` with runtime_backend ${backend}`;
  const message = `ONNX Runtime cannot load "${path}"${where}: ${publicText(text)}${hint(text)}`;
  return new ServingError(tellsOfMemory(text) ? "resource_exhausted" : "failed_precondition", message, {
    cause: reason,
  });
}

function hint(text: string): string {
  if (/is not a registered function\/op|No opset import for domain/.test(text))
    return ". Give the library that has the operator with -o custom_op_paths=.";
  if (!text.includes("Failed to load shared library")) return "";
  return ". Leave -o engine out, and run: kserving runtimes install onnx --device cuda (kserving runtimes list says what else is missing).";
}

/**
 * The error for a failed run: `resource_exhausted` for lack of memory, `invalid_argument` if an operator refused
 * what the request gave it, else `internal`.
 */
export function toRunError(reason: unknown, inputs: Tensors, symbols: SymbolicShapes): ServingError {
  const text = withoutNoise(shortText(reason));
  if (REFUSED_INPUT.test(text)) return invalidArgument(oneLine(text), reason);
  const conflict = findConflict(inputs, symbols);
  if (conflict !== undefined) return invalidArgument(conflict, reason);
  const { op, name, reason: why = text } = innermost(text) ?? {};
  const guarded = fromGuardName(name ?? "");
  if (guarded !== undefined)
    return invalidArgument(
      `The model's ${guarded.operator} "${guarded.name}" ${guarded.need}. ${describeInputs(inputs)}`,
      reason,
    );
  const what =
    op === undefined
      ? `ONNX Runtime failed: ${publicText(text)}`
      : `The model failed in ${op} "${name}": ${publicText(why.replace(CONDITION, "").replace(/\.\s*$/, "") || "it refuses its inputs")}`;
  if (tellsOfMemory(text)) return new ServingError("resource_exhausted", what, { cause: reason });
  const isOfRequest = op !== undefined && !OWN_FAULT.test(why) && dependsOnRequest(why, inputs, symbols);
  if (isOfRequest) return invalidArgument(`${what}. ${describeInputs(inputs)}`, reason);
  return new ServingError("internal", what, { cause: reason });
}

/** The operator that failed; one that holds another in its body repeats what the latter said. */
function innermost(text: string): { op: string; name: string; reason: string } | undefined {
  let found: Record<string, string> | undefined;
  for (let depth = 0, rest = text; depth < MAX_DEPTH; depth++) {
    const { groups } = FAILED_NODE.exec(rest) ?? {};
    if (groups === undefined) break;
    found = groups;
    rest = groups.reason ?? "";
  }
  return found as { op: string; name: string; reason: string } | undefined;
}

/**
 * Checks that other inputs could have pleased an operator, whose kernel is the same for all: it checks sizes, places
 * and counts. A model that leaves no size open and takes no integers got the sizes that it asks for.
 */
function dependsOnRequest(why: string, inputs: Tensors, symbols: SymbolicShapes): boolean {
  if (symbols.size === 0) return false;
  const specs = Array.from(symbols, ([name, shape]) => toSpec(name, shape));
  const hasIntegers = Object.values(inputs).some(({ dtype }) => /int/.test(dtype));
  return hasIntegers || !tellsOfSizes(why) || isShapeFault(why, specs);
}

/** ONNX Runtime does not distinguish a scalar from an unknown rank. */
function toSpec(name: string, shape: readonly (number | string)[]): TensorSpec {
  if (shape.length === 0) return { name, dtype: "float32" };
  return { name, dtype: "float32", shape: shape.map((size) => (typeof size === "number" ? size : -1)) };
}

/**
 * Two inputs that give one symbolic dimension two sizes. Many models never notice, so
 * it is looked for after a failure only.
 */
function findConflict(inputs: Tensors, symbols: SymbolicShapes): string | undefined {
  const sizes = new Map<string, { size: number; input: string }>();
  for (const [input, axis, symbol] of symbolicAxes(symbols)) {
    const size = inputs[input]?.shape[axis];
    if (size === undefined) continue;
    const other = sizes.get(symbol) ?? { size, input };
    sizes.set(symbol, other);
    if (other.size !== size) {
      return `Dimension "${symbol}" is ${other.size} in input "${other.input}" and ${size} in input "${input}"; the model takes one size for both.`;
    }
  }
  return undefined;
}

function* symbolicAxes(symbols: SymbolicShapes): Generator<readonly [input: string, axis: number, symbol: string]> {
  for (const [input, shape] of symbols) {
    for (const [axis, symbol] of shape.entries())
      if (typeof symbol === "string" && symbol !== "") yield [input, axis, symbol];
  }
}

function withoutNoise(text: string): string {
  return text.replace(NOISE, "").replace(CUDA_NOISE, "");
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").replace(" Please fix either the inputs/outputs or the model.", ".").trim();
}
