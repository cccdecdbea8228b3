import { Additions, TYPE } from "./graph-node.ts";
import type { GraphNode, Scope } from "./scope.ts";

/** Changes of a node: the nodes before it, and its inputs or outputs if these change. */
export interface Guarded {
  readonly before: Additions["nodes"];
  readonly inputs?: readonly string[];
  readonly outputs?: readonly string[];
}

/** Gives a node's guard; undefined if it needs none. `prefix` begins the names of new values. */
type Guard = (node: GraphNode, scope: Scope, prefix: string) => Guarded | undefined;

/** The first versions of ONNX that have these operators. */
const [WHERE, SCATTER, SCATTER_ELEMENTS] = [9, 9, 11];
const LEAST = { [TYPE.int32]: -(2n ** 31n), [TYPE.int64]: -(2n ** 63n) } as const;

/**
 * Guards of ONNX Runtime's CPU kernels by operator: each of these ends the process, or answers memory that it has not
 * written, on inputs that the guard refuses or replaces. `npm run check -- operators --hostile` looks for more.
 */
export const GUARDS: Readonly<Record<string, Guard>> = {
  // An exception in another thread on an input of no rows or steps, or of another rank or width than its weights'.
  ...{ RNN: recurrent, GRU: recurrent, LSTM: recurrent },
  // The processor's trap; the quotient is the least value again, and the rest 0.
  ...{ Div: withoutOverflow, Mod: withoutOverflow },
  // The kernel writes to outputs that the node leaves out.
  Split: withAllOutputs,
  // A division by a size of 0, or a read beyond the end.
  TopK: all(
    withAllOutputs,
    notEmpty([0], (node, scope) => [scope.integerOf(node, "axis") ?? -1]),
  ),
  ...{ ConvTranspose: notEmpty([0], () => [0]), InstanceNormalization: notEmpty([0], () => [0]) },
  ...{
    Attention: notEmpty([0, 1, 2]),
    DFT: all(
      notEmpty([0], () => [0]),
      ofShape(2, []),
    ),
  },
  STFT: all(notEmpty([0, 2]), notZero(3), ofShape(1, []), ofShape(3, [])),
  Unique: (node, scope, prefix) =>
    scope.integerOf(node, "axis") === undefined ? undefined : notEmpty([0])(node, scope, prefix),
  // Sums over no elements are not written.
  Einsum: notEmpty([0, 1, 2], () => [0]),
  // A read of a value that is not there.
  ...{ AffineGrid: ofShape(1, [-1]), Loop: ofShape(0, []) },
};

/** Reshapes that keep the sizes, and fail if two of them multiply to 0, or the last is not the weights'. */
function recurrent(node: GraphNode, scope: Scope, prefix: string): Guarded {
  const [x = "", weights = ""] = node.inputs;
  const width = scope.sizesOf(weights)?.[2] ?? 0;
  const numbers = width === 0 ? "" : `, of ${width} numbers each`;
  const need = `takes 3 dimensions: one step or more, of one row or more${numbers}`;
  const added = create(node, prefix, need);
  const shapes = [
    [0, 0, width],
    [-1, 0, width],
    [0, -1, width],
  ];
  const checked = shapes.reduce((value, sizes) => added.node("Reshape", [value, added.list(...sizes)]), x);
  return { before: added.nodes, inputs: node.inputs.with(0, checked) };
}

/** Divides by 1 what the least value would be divided by -1. */
function withoutOverflow(node: GraphNode, scope: Scope, prefix: string): Guarded | undefined {
  const [dividend = "", divisor = ""] = node.inputs;
  const type = scope.typeOf(dividend) ?? scope.typeOf(divisor);
  if (type !== TYPE.int32 && type !== TYPE.int64) return undefined;
  if (scope.integersOf(divisor)?.includes(-1n) === false) return undefined;
  if (scope.integersOf(dividend)?.includes(LEAST[type]) === false) return undefined;
  const added = create(node, prefix, "takes sizes that fit each other");
  const isLeast = added.node("Equal", [dividend, added.scalar(type, LEAST[type])]);
  const isMinusOne = added.node("Equal", [divisor, added.scalar(type, -1n)]);
  const overflows = added.node("And", [isLeast, isMinusOne]);
  const replaced =
    scope.opset < WHERE
      ? withoutWhere(added, { type, overflows, divisor })
      : added.node("Where", [overflows, added.scalar(type, 1n), divisor]);
  return { before: added.nodes, inputs: [dividend, replaced] };
}

/** The divisor plus 2 if it is -1 and overflows. */
function withoutWhere(
  added: Additions,
  { type, overflows, divisor }: { readonly type: number; readonly overflows: string; readonly divisor: string },
): string {
  const one = added.node("Cast", [overflows], { to: type });
  return added.node("Add", [divisor, added.node("Add", [one, one])]);
}

function withAllOutputs({ outputs }: GraphNode, _: Scope, prefix: string): Guarded | undefined {
  if (!outputs.includes("")) return undefined;
  return { before: [], outputs: outputs.map((name, index) => name || `${prefix}output${index}`) };
}

/** Refuses inputs that are empty along an axis, other than some, for which old versions have no operator. */
function notEmpty(
  places: readonly number[],
  exempt: (node: GraphNode, scope: Scope) => readonly number[] = () => [],
): Guard {
  return (node, scope, prefix) => {
    const axes = scope.opset < SCATTER ? [] : exempt(node, scope);
    const but = axes.length === 0 ? "" : `, but along dimension ${axes}`;
    const added = create(node, prefix, `takes inputs without sizes of 0${but}`);
    const checked = (name: string, index: number) =>
      places.includes(index) && name !== "" ? withoutZeros(added, name, { exempt: axes, opset: scope.opset }) : name;
    return { before: added.nodes, inputs: node.inputs.map(checked) };
  };
}

function withoutZeros(
  added: Additions,
  name: string,
  { exempt, opset }: { readonly exempt: readonly number[]; readonly opset: number },
): string {
  const sizes = added.node("Shape", [name]);
  const scatter = opset < SCATTER_ELEMENTS ? "Scatter" : "ScatterElements";
  const ones = () => added.node(scatter, [sizes, added.list(...exempt), added.list(...exempt.map(() => 1))]);
  const counted = exempt.length === 0 ? sizes : ones();
  const one = added.node("ReduceProd", [onesUnlessZero(added, counted)]);
  return added.node("Reshape", [name, added.node("Mul", [sizes, one])]);
}

/** Ones of the shape of a value; a 0 becomes the place 1 in a list of one number, which is out of bounds. */
function onesUnlessZero(added: Additions, integers: string): string {
  const isZero = added.node("Equal", [integers, added.scalar(TYPE.int64, 0n)]);
  return added.node("Gather", [added.list(1), added.node("Cast", [isZero], { to: TYPE.int64 })]);
}

/** Refuses an integer that is 0; what may be left out may be. */
function notZero(place: number): Guard {
  return (node, _scope, prefix) => {
    const name = node.inputs[place] ?? "";
    if (name === "") return undefined;
    const added = create(node, prefix, "takes a length above 0");
    const ones = onesUnlessZero(added, added.node("Cast", [name], { to: TYPE.int64 }));
    const same = added.node("CastLike", [ones, name]);
    return { before: added.nodes, inputs: node.inputs.with(place, added.node("Mul", [name, same])) };
  };
}

/** Gives an input another shape with as many elements. */
function ofShape(place: number, shape: readonly number[]): Guard {
  return (node, scope, prefix) => {
    const name = node.inputs[place] ?? "";
    if (name === "" || scope.sizesOf(name) !== undefined) return undefined;
    const added = create(node, prefix, shape[0] === -1 ? "takes a list" : "takes one number");
    const reshaped = added.node("Reshape", [name, added.list(...shape)]);
    return { before: added.nodes, inputs: node.inputs.with(place, reshaped) };
  };
}

/** One guard after the other. */
function all(...guards: readonly Guard[]): Guard {
  return (node, scope, prefix) => {
    const before: Additions["nodes"] = [];
    let { inputs, outputs } = node;
    for (const [index, guard] of guards.entries()) {
      const next = guard({ ...node, inputs, outputs }, scope, `${prefix}${index} `);
      before.push(...(next?.before ?? []));
      inputs = next?.inputs ?? inputs;
      outputs = next?.outputs ?? outputs;
    }
    return inputs === node.inputs && outputs === node.outputs ? undefined : { before, inputs, outputs };
  };
}

function create({ operator, name }: GraphNode, prefix: string, need: string): Additions {
  return new Additions(prefix, { operator, name, need });
}
