import { dirname } from "node:path";
import { outputType } from "../../drivers/tensorflow/portable/element-types.ts";
import { type GraphNode, parseEdge, sortGraph } from "../../drivers/tensorflow/portable/graph.ts";
import { createFunctionLibrary, GraphInliner } from "../../drivers/tensorflow/portable/graph-inliner.ts";
import { Refusal } from "../../drivers/tensorflow/portable/refusal.ts";
import { dataTypeName, toDType } from "../../drivers/tensorflow/saved-model/data-type.ts";
import type {
  Attribute,
  GraphDef,
  MetaGraphDef,
  NodeDef,
  TensorInfo,
  TensorShape,
} from "../../drivers/tensorflow/saved-model/graph-def.ts";
import { loadFrozenGraph, parseSavedModel } from "../../drivers/tensorflow/saved-model/load-saved-model.ts";
import { fromTensorShape } from "../../drivers/tensorflow/saved-model/tensor-proto.ts";
import { numericLayout } from "../../tensor/dtype.ts";
import { GraphBuilder, type ModelGraph } from "../../tensor/signature/model-graph.ts";
import { DEFAULT_SIGNATURE } from "../../tensor/signature/signature.ts";

/** An input or output of a signature by its name, as far as it is a tensor of the graph. */
type Ends = readonly (readonly [name: string, info: TensorInfo])[];

/**
 * The graph of the signature that requests without a name get, with the functions that it calls written out; throws
 * `failed_precondition` for a damaged file.
 */
export function graphOfSavedModel(path: string): ModelGraph {
  const { metaGraphs } = parseSavedModel(dirname(path));
  const meta = metaGraphs.find(({ metaInfoDef }) => metaInfoDef?.tags.includes("serve")) ?? metaGraphs[0];
  const graph = meta?.graphDef ?? { node: [] };
  const signature = meta && servedSignature(meta);
  const [inputs, outputs] = [toEnds(signature?.inputs), toEnds(signature?.outputs)];
  try {
    const inliner = new GraphInliner(createFunctionLibrary(graph));
    inliner.addGraph(graph);
    for (const [, info] of inputs) inliner.addInput(edgeOf(info));
    const reached = outputs.map(([name, info]) => [name, inliner.reach(edgeOf(info)).node, info] as const);
    return draw(sortGraph(inliner.nodes), inputs, reached);
  } catch (reason) {
    if (!(reason instanceof Refusal)) throw reason;
    // What calls and loops have within them stays there.
    return draw(
      graph.node.map(toGraphNode),
      inputs,
      outputs.map(([name, info]) => [name, edgeOf(info).node, info] as const),
    );
  }
}

/** The graph of a frozen graph's file: from its placeholders to all that nothing takes. */
export function graphOfFrozen(path: string): ModelGraph {
  const { node }: GraphDef = loadFrozenGraph(path);
  const nodes = node.map(toGraphNode);
  const taken = new Set(nodes.flatMap(({ inputs, controls }) => [...inputs.map((edge) => edge.node), ...controls]));
  const leaves = nodes.filter(({ name, inputs }) => inputs.length > 0 && !taken.has(name));
  return draw(
    nodes,
    [],
    leaves.map(({ name }) => [name, name, undefined] as const),
  );
}

function servedSignature({ signatureDef }: MetaGraphDef): MetaGraphDef["signatureDef"][string] | undefined {
  const names = Object.keys(signatureDef).filter((name) => !name.startsWith("__saved_model"));
  return signatureDef[names.find((name) => name === DEFAULT_SIGNATURE) ?? names[0] ?? ""];
}

function toEnds(infos: Readonly<Record<string, TensorInfo>> = {}): Ends {
  const named = Object.entries(infos).filter(([, { encoding }]) => encoding.case === "name");
  return named.toSorted(([one], [other]) => (one < other ? -1 : 1));
}

function edgeOf({ encoding }: TensorInfo) {
  return parseEdge(encoding.case === "name" ? encoding.value : "");
}

function toGraphNode({ name, op, input, attr }: NodeDef): GraphNode {
  const texts = input.map((text) => text.replace(/^\^/, ""));
  const isControl = (_: string, index: number) => input[index]?.startsWith("^") === true;
  return {
    name,
    op,
    inputs: texts.filter((text, index) => !isControl(text, index)).map(parseEdge),
    controls: texts.filter(isControl),
    attributes: attr,
  };
}

/** Operations that hold a variable, and those that only hand a value on. */
const VARIABLES: ReadonlySet<string> = new Set(["VarHandleOp", "VariableV2", "Variable"]);
const PASSED_ON: ReadonlySet<string> = new Set(["Identity", "ReadVariableOp"]);
/** Operations without a value, and arguments, which are drawn as inputs. */
const NOT_DRAWN: ReadonlySet<string> = new Set(["NoOp", "Arg"]);

type Output = readonly [name: string, node: string, info: TensorInfo | undefined];

function draw(nodes: readonly GraphNode[], inputs: Ends, outputs: readonly Output[]): ModelGraph {
  const graph = new GraphBuilder();
  const sources = new Map<string, string>();
  const sourceOf = (node: string) => sources.get(node) ?? node;
  const given = new Set(inputs.map(([, info]) => edgeOf(info).node));
  for (const node of nodes) {
    const { name, op } = node;
    const [first] = node.inputs;
    if (NOT_DRAWN.has(op) || given.has(name)) continue;
    if (PASSED_ON.has(op) && first !== undefined) {
      sources.set(name, sourceOf(first.node));
      continue;
    }
    if (op === "Const" || VARIABLES.has(op)) {
      graph.addConstant(name, bytesOf(node));
      continue;
    }
    graph.describe(name, typeText(outputType({ op, attr: node.attributes }, 0)), shapeOf(node));
    if (op.startsWith("Placeholder")) graph.addInput(name);
    else graph.add({ name, type: op, takes: node.inputs.map((edge) => sourceOf(edge.node)), gives: [name] });
  }
  for (const [name, info] of inputs) {
    const value = edgeOf(info).node;
    graph.addInput(name, value);
    graph.describe(value, typeText(info.dtype), sizesOf(info.tensorShape));
  }
  for (const [name, node, info] of outputs) {
    const value = sourceOf(node);
    graph.addOutput(name, value);
    if (info !== undefined) graph.describe(value, typeText(info.dtype), sizesOf(info.tensorShape));
  }
  return graph.build();
}

function typeText(dataType: number | undefined): string {
  return dataType === undefined ? "unknown" : (toDType(dataType) ?? dataTypeName(dataType));
}

function attributeOf({ attributes }: GraphNode, name: string): Attribute | undefined {
  return Object.hasOwn(attributes, name) ? attributes[name]?.value : undefined;
}

/** Sizes of a node's first value, as far as its exporter has written them; undefined = any rank, or not known. */
function shapeOf(node: GraphNode): (number | undefined)[] | undefined {
  const [own, known] = [attributeOf(node, "shape"), attributeOf(node, "_output_shapes")];
  if (own?.case === "shape") return sizesOf(own.value);
  const [first] = known?.case === "list" ? known.value.shape : [];
  return first && sizesOf(first);
}

function sizesOf(shape: TensorShape | undefined): (number | undefined)[] | undefined {
  return shape && fromTensorShape(shape)?.map((size) => (size < 0 ? undefined : size));
}

function bytesOf(node: GraphNode): number {
  const value = attributeOf(node, "value");
  if (value?.case === "tensor") {
    const { dtype, tensorShape, stringVal } = value.value;
    return sizeOf(dtype, fromTensorShape(tensorShape)) ?? stringVal.reduce((sum, { length }) => sum + length, 0);
  }
  const [type, shape] = [attributeOf(node, "dtype"), attributeOf(node, "shape")];
  if (type?.case !== "type" || shape?.case !== "shape") return 0;
  return sizeOf(type.value, fromTensorShape(shape.value)) ?? 0;
}

function sizeOf(dataType: number, shape: readonly number[] = []): number | undefined {
  const dtype = toDType(dataType);
  if (dtype === undefined || dtype === "bytes") return undefined;
  return shape.reduce((product, size) => product * Math.max(size, 0), numericLayout(dtype).bytes);
}
