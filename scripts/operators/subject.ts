import type { DType } from "../../src/tensor/dtype.ts";
import { createTensors, type Tensor, type Tensors } from "../../src/tensor/tensor.ts";
import { filled, resized } from "./hostile-values.ts";

/** One try on a model: what is odd about it, and the values for its inputs. */
export interface Trial {
  readonly what: string;
  readonly inputs: Tensors;
}

/** A model of one operator with the trials that it gets. */
export interface Subject {
  readonly operator: string;
  readonly driver: string;
  readonly options: Readonly<Record<string, string>>;
  readonly path: string;
  /** Inputs that it takes; absent = none are known, and the first trial that is answered takes their place. */
  readonly good?: Tensors;
  readonly trials: readonly Trial[];
}

const MAX_TRIALS = 100;

/** Good inputs with one of them, or two, changed in each way that has ended a runtime. */
export function hostileTrials(good: Tensors): Trial[] {
  const names = Object.keys(good);
  const changed = names.flatMap((name) =>
    variantsOf(good[name]!).map(([what, tensor]) => trial(good, `${name} ${what}`, { [name]: tensor })),
  );
  return [...pairTrials(good, names), ...emptyTrials(good, names), ...changed].slice(0, MAX_TRIALS);
}

function trial(good: Tensors, what: string, changes: Readonly<Record<string, Tensor>>): Trial {
  return { what, inputs: createTensors(Object.entries({ ...good, ...changes })) };
}

/** The least value with -1, and anything with 0, of each two inputs. */
function pairTrials(good: Tensors, names: readonly string[]): Trial[] {
  const [one, other] = names;
  if (names.length !== 2 || one === undefined || other === undefined) return [];
  const pairs = [
    ["least", "minus one"],
    ["greatest", "zero"],
    ["zero", "zero"],
  ] as const;
  return pairs.map(([left, right]) =>
    trial(good, `${one} ${left}, ${other} ${right}`, {
      [one]: filled(good[one]!, left),
      [other]: filled(good[other]!, right),
    }),
  );
}

/** All inputs at once without elements, along each axis that they have in common. */
function emptyTrials(good: Tensors, names: readonly string[]): Trial[] {
  const without = (axis: number) => (name: string) => {
    const { shape } = good[name]!;
    const sizes = shape.map((size, index) => (index === axis ? 0 : size));
    return [name, shape.length > axis ? resized(good[name]!, sizes) : good[name]!] as const;
  };
  const along = [0, 1, 2].map((axis) =>
    trial(good, `all empty along ${axis}`, Object.fromEntries(names.map(without(axis)))),
  );
  return [...along, ...innerTrials(good, names)];
}

/** Products over no elements: the last size of one input and the one but last, or the last, of the next are 0. */
function innerTrials(good: Tensors, names: readonly string[]): Trial[] {
  return names.slice(1).flatMap((other, index) => {
    const one = names[index]!;
    return [2, 1].map((fromEnd) => {
      const changes = { [one]: emptyFromEnd(good[one]!, 1), [other]: emptyFromEnd(good[other]!, fromEnd) };
      return trial(good, `${one} and ${other} empty where they meet`, changes);
    });
  });
}

function emptyFromEnd(tensor: Tensor, fromEnd: number): Tensor {
  const { shape } = tensor;
  return resized(
    tensor,
    shape.map((size, axis) => (axis === shape.length - fromEnd ? 0 : size)),
  );
}

function variantsOf(tensor: Tensor): (readonly [what: string, tensor: Tensor])[] {
  return [...valueVariants(tensor), ...shapeVariants(tensor)];
}

const KINDS = ["zero", "minus one", "least", "greatest", "huge", "not a number", "infinite"] as const;

function valueVariants(tensor: Tensor): (readonly [string, Tensor])[] {
  const kinds = KINDS.filter((kind) => hasKind(tensor.dtype, kind));
  const all = kinds.map((kind) => [kind, filled(tensor, kind)] as const);
  const last = kinds.map((kind) => [`${kind} at its end`, filled(tensor, kind, 1)] as const);
  return tensor.data.length > 1 ? [...all, ...last] : all;
}

function hasKind(dtype: DType, kind: (typeof KINDS)[number]): boolean {
  const isFloat = dtype.includes("float");
  if (kind === "not a number" || kind === "infinite") return isFloat;
  if (dtype === "bool") return kind === "zero" || kind === "minus one";
  return true;
}

function shapeVariants(tensor: Tensor): (readonly [string, Tensor])[] {
  const { shape } = tensor;
  const rank = shape.length;
  const along = (axis: number, size: number) => shape.map((old, index) => (index === axis ? size : old));
  const axes = Array.from(shape.keys()).slice(0, 4);
  const shapes = [
    ...Array.from(axes, (axis) => along(axis, 0)),
    ...[shape.map(() => 0), [0], [], [...shape, 1], [1, ...shape], shape.slice(1), shape.slice(0, -1)],
    ...[along(0, (shape[0] ?? 0) + 1), along(rank - 1, (shape[rank - 1] ?? 0) + 1), along(rank - 1, 1), along(0, 1)],
    ...[along(1, 0), along(1, (shape[1] ?? 0) + 3), [1, 1, 1, 1, 1, 1, 1, 1, 1]],
  ];
  const others = new Map(shapes.map((sizes) => [String(sizes), sizes]));
  others.delete(String(shape));
  return Array.from(others.values(), (sizes) => [`of shape [${sizes}]`, resized(tensor, sizes)]);
}
