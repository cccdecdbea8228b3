import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { Model } from "../../../src/drivers/driver.ts";
import { createTensors, type Tensor } from "../../../src/tensor/tensor.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { predict } from "../predict.ts";
import { loadTensorflow } from "./format-models.ts";
import { type NodeJson, tensorOf, type, writeGraph } from "./portable/graph-writer.ts";
import { attr, int, ints } from "./portable/op-cases.ts";
import { loadPortable } from "./portable/open-portable.ts";

/** An operation, inputs that it takes, and others that TensorFlow refuses, or that no memory holds. */
interface Trial {
  readonly op: string;
  readonly attr?: Readonly<Record<string, JsonValue>>;
  readonly good: readonly Tensor[];
  readonly bad: readonly (readonly Tensor[])[];
}

const floats = (shape: readonly number[]) =>
  tensorOf(
    "float32",
    shape,
    Array.from({ length: shape.reduce((product, size) => product * size, 1) }, (_, index) => index + 1),
  );
const float = (value: number) => tensorOf("float32", [], [value]);
const pads = (...numbers: number[]) => tensorOf("int32", [numbers.length / 2, 2], numbers);
const T = { T: type("float32") };
const HUGE = 0x7fffffff;
const filter = floats([2, 2, 1, 1]);
const image = floats([1, 2, 2, 1]);
const steps = { strides: attr.integers(1, 1, 1, 1), padding: attr.text("VALID") };
const places = tensorOf("int32", [2, 1], [0, 2]);

const TRIALS: readonly Trial[] = [
  {
    op: "Conv2DBackpropInput",
    attr: { ...T, ...steps },
    good: [ints(1, 3, 3, 1), filter, image],
    bad: [
      [1, 4, 4, 1],
      [1, 2, 2, 1],
      [2, 3, 3, 1],
      [1, 200, 200, 1],
      [1, -3, 3, 1],
      [1, HUGE, HUGE, 1],
    ].map((size) => [ints(...size), filter, image]),
  },
  {
    op: "Fill",
    attr: T,
    good: [ints(3), float(2)],
    bad: [
      [ints(-3), float(2)],
      [ints(HUGE, 4), float(2)],
    ],
  },
  {
    op: "Tile",
    attr: T,
    good: [floats([2]), ints(3)],
    bad: [
      [floats([2]), ints(-3)],
      [floats([2]), ints(HUGE)],
    ],
  },
  {
    op: "BroadcastTo",
    attr: T,
    good: [floats([1]), ints(3)],
    bad: [
      [floats([1]), ints(-3)],
      [floats([1]), ints(HUGE)],
    ],
  },
  {
    op: "Range",
    attr: { Tidx: type("int32") },
    good: [int(0), int(3), int(1)],
    bad: [[int(-HUGE), int(HUGE), int(1)]],
  },
  {
    op: "OneHot",
    attr: { ...T, TI: type("int32"), axis: attr.integer(-1) },
    good: [ints(0, 1), int(3), float(1), float(0)],
    bad: [
      [ints(0, 1), int(-3), float(1), float(0)],
      [ints(0, 1), int(HUGE), float(1), float(0)],
    ],
  },
  {
    op: "Pad",
    attr: T,
    good: [floats([2, 2]), pads(1, 0, 0, 1)],
    bad: [
      [floats([2, 2]), pads(-3, 0, 0, 1)],
      [floats([2, 2]), pads(HUGE, 0, 0, 1)],
    ],
  },
  {
    op: "ScatterNd",
    attr: { ...T, Tindices: type("int32") },
    good: [places, floats([2]), ints(4)],
    bad: [
      [places, floats([2]), ints(-4)],
      [places, floats([2]), ints(2)],
      [places, floats([2]), ints(HUGE)],
    ],
  },
  {
    op: "Cumsum",
    attr: { ...T, Tidx: type("int32") },
    good: [floats([3]), int(0)],
    bad: [
      [floats([]), int(0)],
      [floats([3]), int(1)],
      [floats([3]), int(-2)],
    ],
  },
  {
    op: "ResizeBilinear",
    attr: T,
    good: [image, ints(3, 3)],
    bad: [
      [image, ints(-3, 3)],
      [image, ints(0, 3)],
      [image, ints(HUGE, HUGE)],
    ],
  },
];

describe.each<[string, (folder: string, nodes: readonly NodeJson[], inputs: string) => Promise<Model>]>([
  ["portable", loadOnPortable],
  ["tfjs", loadOnTfjs],
])("on the %s engine, sizes that come with a request", (_, load) => {
  it.each(TRIALS)("of $op are refused where they do not fit, and the next answer is right", async (trial) => {
    const names = trial.good.map((_each, index) => `in${index}`);
    const inputs = trial.good.map(({ dtype }, index) => placeholder(`in${index}`, dtype));
    const node = { name: "op", op: trial.op, input: names, attr: trial.attr ?? {} };
    const model = await load(tempFolder(), [...inputs, node], names.map((name) => `${name}:0`).join());
    const given = Object.keys(model.signatures).length > 0 ? (model.signatures.serving_default?.inputs ?? []) : [];
    const ask = (list: readonly Tensor[]) =>
      predict(model, createTensors(given.map(({ name }) => [name, list[Number(/\d+/.exec(name)?.[0])] as Tensor])));
    const first = await ask(trial.good);
    for (const bad of trial.bad) {
      const code = expect.stringMatching(/invalid_argument|resource_exhausted/);
      await expect(ask(bad)).rejects.toMatchObject({ code });
      expect(await ask(trial.good)).toEqual(first);
    }
  });
});

function placeholder(name: string, dtype: Tensor["dtype"]): NodeJson {
  return { name, op: "Placeholder", attr: { dtype: type(dtype), shape: { shape: { unknownRank: true } } } };
}

function loadOnPortable(folder: string, nodes: readonly NodeJson[], inputs: string): Promise<Model> {
  writeFileSync(join(folder, "graph.pb"), writeGraph(nodes));
  return loadPortable(join(folder, "graph.pb"), { inputs, outputs: "op:0" });
}

function typeOf(node: NodeJson | undefined): string {
  const { dtype, T: given, Tidx } = node?.attr ?? {};
  return ((dtype ?? given ?? Tidx) as { type: string }).type;
}

function loadOnTfjs(folder: string, nodes: readonly NodeJson[]): Promise<Model> {
  const info = (node: NodeJson) => ({
    name: `${node.name}:0`,
    dtype: typeOf(node),
    tensorShape: { unknownRank: true },
  });
  const inputs = Object.fromEntries(nodes.slice(0, -1).map((node) => [node.name, info(node)]));
  const model = {
    format: "graph-model",
    modelTopology: { node: nodes, versions: { producer: 1 }, library: {} },
    weightsManifest: [],
    signature: {
      inputs,
      outputs: { "op:0": { name: "op:0", dtype: typeOf(nodes.at(-1)), tensorShape: { unknownRank: true } } },
    },
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "model.json"), JSON.stringify(model));
  return loadTensorflow(join(folder, "model.json"));
}
