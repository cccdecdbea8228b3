import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import { toDType } from "../../src/drivers/tensorflow/saved-model/data-type.ts";
import { findLibrary } from "../../src/runtimes/find-library.ts";
import { tensorflow } from "../../src/runtimes/tensorflow.ts";
import { type DType, type NumericDType, numericLayout } from "../../src/tensor/dtype.ts";
import { createTensor, createTensors, elementCount, type Tensor } from "../../src/tensor/tensor.ts";
import { type NodeJson, placeholder, type, writeGraph } from "../../test/drivers/tensorflow/portable/graph-writer.ts";
import { Random } from "../../test/grpc/random.ts";
import { filled, type HostileKind } from "./hostile-values.ts";
import { type Argument, type AttributeDefinition, listOperations, type OpDefinition } from "./op-list.ts";
import type { Subject, Trial } from "./subject.ts";

/** Operations that end the program on purpose, wait for others, or write files. */
const LEFT_OUT =
  /^_|Abort|File|Save|Summary|Print|Debug|Remote|Collective|Rpc|TPU|Tpu|Xla|Nccl|Send|Recv|Barrier|Queue|Stack(Pop|Push|Close)|TensorArray|Reader|Dataset|Iterator|Checkpoint|Restore|Delete|Stage|Timestamp|Worker|Mutex|Configure|Shutdown|Composite/;
const FIRST_TYPES: readonly DType[] = ["float32", "int32"];
const TRIALS = 80;
/** Sizes and numbers that operations take for images, windows, lists and tables. */
const SHAPES: readonly (readonly number[])[] = [
  ...[[], [1], [2], [3], [4], [5], [0], [2, 2], [1, 4], [4, 2], [0, 3], [3, 0], [2, 3, 4]],
  ...[
    [1, 4, 4, 1],
    [1, 4, 4, 1],
    [2, 2, 1, 1],
    [0, 4, 4, 1],
    [1, 0, 4, 1],
    [2, 5, 5, 2],
    [1, 1, 1, 1],
  ],
  ...[
    [1, 4, 4, 4, 1],
    [2, 2, 2, 1, 1],
    [0, 2, 2, 2, 1],
  ],
];
const KINDS: readonly HostileKind[] = ["zero", "minus one", "least", "greatest", "huge", "not a number", "infinite"];

/** Each operation of TensorFlow's library, on inputs of random sizes from {@link SHAPES}, good and hostile values. */
export function* tensorflowSubjects(only: (operator: string) => boolean): Generator<Subject> {
  const library = findLibrary(tensorflow);
  if (library === undefined) throw new Error("libtensorflow is not installed (kserving runtimes install tensorflow).");
  const kept = mkdtempSync(join(tmpdir(), "operations-"));
  for (const operation of listOperations(library.path)) {
    if (!only(operation.name) || LEFT_OUT.test(operation.name)) continue;
    const seen = new Set<string>();
    for (const first of FIRST_TYPES) {
      const graph = graphOf(operation, first);
      if (graph === undefined || seen.has(String(graph.dtypes))) continue;
      seen.add(String(graph.dtypes));
      const path = join(kept, `${operation.name}-${first}.pb`);
      writeFileSync(path, writeGraph(graph.nodes));
      const options = { engine: "native", outputs: graph.outputs.join(",") };
      const operator = first === FIRST_TYPES[0] ? operation.name : `${operation.name} ${first}`;
      yield { operator, driver: "tensorflow", options, path, trials: trialsOf(operation.name, graph.dtypes) };
    }
  }
}

interface OneOperation {
  readonly nodes: readonly NodeJson[];
  /** Of the inputs, which are called `in0`, `in1`, … */
  readonly dtypes: readonly DType[];
  readonly outputs: readonly string[];
}

/** A graph of one operation; undefined for one that requests cannot carry the inputs or outputs of. */
function graphOf({ name, inputs, outputs, attributes }: OpDefinition, first: DType): OneOperation | undefined {
  const types = new Map(
    attributes.filter(({ kind }) => kind === "type").map((one) => [one.name, chooseType(one, first)]),
  );
  const dtypeOf = ({ type, typeAttribute }: Argument) => (type === 0 ? types.get(typeAttribute) : toDType(type));
  const isList = ({ listAttribute }: Argument) => listAttribute !== "";
  const dtypes = inputs.flatMap((input) => (isList(input) ? [dtypeOf(input), dtypeOf(input)] : [dtypeOf(input)]));
  const given = outputs.flatMap((output, index) =>
    dtypeOf(output) === undefined ? [] : [index === 0 ? "op" : `op:${index}`],
  );
  const isOdd = inputs.some(({ isReference }) => isReference) || dtypes.includes(undefined) || dtypes.length === 0;
  if (isOdd || given.length === 0 || outputs.some(isList)) return undefined;
  const chosen = attributes.map((one) => [one.name, attributeOf(name, one, types)] as const);
  if (chosen.some(([, value]) => value === null)) return undefined;
  const attr = Object.fromEntries(chosen.filter(([, value]) => value !== undefined)) as Record<string, JsonValue>;
  const places = dtypes.map((dtype, index) => unknownShape(`in${index}`, dtype!));
  const node = { name: "op", op: name, input: places.map((place) => place.name), attr };
  return { nodes: [...places, node], dtypes: dtypes as DType[], outputs: given };
}

function unknownShape(name: string, dtype: DType): NodeJson {
  const { attr, ...node } = placeholder(name, createTensor("int32", [], Int32Array.of(0)));
  return { ...node, attr: { ...attr, dtype: type(dtype), shape: { shape: { unknownRank: true } } } };
}

function chooseType({ allowed, hasDefault }: AttributeDefinition, first: DType): DType | undefined {
  const dtypes = allowed.map((number) => toDType(number as number));
  if (allowed.length === 0) return first;
  if (hasDefault && first !== "float32" && !dtypes.includes(first)) return dtypes[0];
  return dtypes.includes(first) ? first : dtypes.find((dtype) => dtype !== undefined);
}

/** An attribute's value; undefined = its default, null = there is none. */
function attributeOf(
  operation: string,
  { name, kind, hasDefault, minimum, allowed }: AttributeDefinition,
  types: ReadonlyMap<string, DType | undefined>,
): JsonValue | undefined | null {
  const chosen = types.get(name);
  if (chosen !== undefined) return type(chosen);
  if (hasDefault) return undefined;
  const rank = /3D/.test(operation) ? 5 : 4;
  const isWindow = /ksize|strides|rates|dilations/.test(name);
  const defaults: Readonly<Record<string, JsonValue>> = {
    int: { i: String(Math.max(minimum, name === "N" || name.startsWith("num") ? 2 : 1)) },
    float: { f: 0.5 },
    bool: { b: false },
    string: { s: Buffer.from(String(allowed[0] ?? "")).toString("base64") },
    shape: { shape: { unknownRank: true } },
    "list(int)": { list: { i: Array(isWindow ? rank : 1).fill("1") } },
    "list(float)": { list: { f: [0.5] } },
    "list(string)": { list: { s: [] } },
    "list(type)": { list: { type: ["DT_FLOAT", "DT_FLOAT"] } },
  };
  return defaults[kind] ?? null;
}

function trialsOf(operation: string, dtypes: readonly DType[]): Trial[] {
  const random = new Random([...operation].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 2 ** 31, 7));
  const pick = <Value>(list: readonly Value[]) => list[random.below(list.length)]!;
  return Array.from({ length: TRIALS }, (_, index) => {
    const common = pick(SHAPES);
    const odd = index < TRIALS / 4 ? -1 : random.below(dtypes.length);
    const tensors = dtypes.map((dtype, place) => {
      const shape = random.below(3) === 0 ? pick(SHAPES) : shapeFor(dtype, common, pick);
      const tensor = plain(dtype, shape, random);
      if (place !== odd) return tensor;
      return filled(tensor, pick(KINDS), random.below(2) === 0 ? tensor.data.length : 1);
    });
    const what = tensors.map(describe).join(" ");
    return { what, inputs: createTensors(tensors.map((tensor, place) => [`in${place}`, tensor])) };
  });
}

/** Integers beside others are often sizes or axes, of which there is one for each dimension. */
function shapeFor(
  dtype: DType,
  common: readonly number[],
  pick: (list: readonly number[]) => number,
): readonly number[] {
  return /^int(32|64)$/.test(dtype) && common.length > 1 && pick([0, 1]) === 0 ? [common.length] : common;
}

function plain(dtype: DType, shape: readonly number[], random: Random): Tensor {
  const count = elementCount(shape);
  if (dtype === "bytes")
    return createTensor(
      dtype,
      shape,
      Array.from({ length: count }, () => Buffer.from("a")),
    );
  const { array, slots } = numericLayout(dtype as NumericDType);
  const data = new array(count * slots);
  for (let index = 0; index < data.length; index++) {
    const value = dtype === "bool" ? random.below(2) : 1 + random.below(5);
    data[index] = (/int64/.test(dtype) ? BigInt(value) : value) as never;
  }
  return createTensor(dtype, shape, data as never);
}

function describe({ dtype, shape, data }: Tensor): string {
  const values = dtype === "bytes" ? "" : ` ${Array.from(data.slice(0, 6) as ArrayLike<number>, String)}`;
  return `${dtype}[${shape}]${values};`;
}
