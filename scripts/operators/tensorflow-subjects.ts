import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import { toDType } from "../../src/drivers/tensorflow/saved-model/data-type.ts";
import { findLibrary } from "../../src/storage/runtimes/find-library.ts";
import { tensorflow } from "../../src/storage/runtimes/native-runtimes.ts";
import type { DType } from "../../src/tensor/dtype.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { type NodeJson, placeholder, type, writeGraph } from "../../test/drivers/tensorflow/portable/graph-writer.ts";
import { type Argument, type AttributeDefinition, listOperations, type OpDefinition } from "./op-list.ts";
import { randomTrials } from "./random-trials.ts";
import type { Subject } from "./subject.ts";

/** Operations that end the program on purpose, wait for others, or write files. */
const LEFT_OUT =
  /^_|Abort|File|Save|Summary|Print|Debug|Remote|Collective|Rpc|TPU|Tpu|Xla|Nccl|Send|Recv|Barrier|Queue|Stack(Pop|Push|Close)|TensorArray|Reader|Dataset|Iterator|Checkpoint|Restore|Delete|Stage|Timestamp|Worker|Mutex|Configure|Shutdown|Composite/;
const FIRST_TYPES: readonly DType[] = ["float32", "int32"];
/** Each operation of TensorFlow's library, on inputs of random sizes, good and hostile values. */
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
      yield { operator, driver: "tensorflow", options, path, trials: randomTrials(operation.name, graph.dtypes) };
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
