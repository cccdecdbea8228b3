import { closeSync, mkdtempSync, openSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf } from "../../src/drivers/onnx/element-types.ts";
import { editMessage, nestedField } from "../../src/drivers/onnx/guards/guarded-model.ts";
import { areTensors } from "../../src/drivers/onnx/onnx-value.ts";
import { type ProtobufField, ProtobufFile } from "../../src/drivers/onnx/protobuf-file.ts";
import { encodeMessage, integerField } from "../../src/tensor/codecs/protobuf/wire-writer.ts";
import { type DType, type NumericDType, numericLayout } from "../../src/tensor/dtype.ts";
import { createTensor, createTensors, elementCount, type Tensor, type Tensors } from "../../src/tensor/tensor.ts";
import { listCases, type OperatorCase } from "../../test/drivers/onnx/operator-case.ts";
import { readCase } from "../../test/drivers/onnx/operator-outcome.ts";
import { hostileTrials, type Subject } from "./subject.ts";

// Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
const MODEL = { irVersion: 1, graph: 7, opset: 8 };
const OPSET = { version: 2 };
const GRAPH = { node: 1, input: 11, output: 12 };
const NODE = { operator: 4 };
const VALUE = { type: 2 };
const TYPE = { tensor: 1 };
const SHAPE = { size: 1 };
const TENSOR = { element: 1, shape: 2 };

/** Cases of ONNX's own suite, whose models of one operator are given inputs of any shape. */
export function* onnxSubjects(
  folder: string,
  { driver, options, only }: Pick<Subject, "driver" | "options"> & { readonly only: (operator: string) => boolean },
): Generator<Subject> {
  const kept = mkdtempSync(join(tmpdir(), "operators-"));
  const seen = new Map<string, number>();
  // OpenVINO needs to know them.
  const keepsRanks = driver === "openvino";
  const trialsOf = (good: Tensors) => hostileTrials(good).filter((one) => !keepsRanks || hasRanksOf(good, one.inputs));
  const mayAdd = (kind: string, most: number) => {
    const count = (seen.get(kind) ?? 0) + 1;
    seen.set(kind, count);
    return count <= most;
  };
  for (const one of listCases(folder).filter(({ name }) => !EXPANDED.test(name))) {
    const operator = operatorOf(one.modelPath);
    const good = only(operator) ? inputsOf(one) : undefined;
    if (good === undefined) continue;
    const kind = `${operator} ${Object.values(good).map(({ dtype }) => dtype)}`;
    if (!mayAdd(kind, MOST.ofTypes) || !mayAdd(operator, MOST.ofOperator)) continue;
    const path = join(kept, `${one.name}.onnx`);
    writeFileSync(path, withoutShapes(one.modelPath, keepsRanks));
    yield { operator, driver, options, path, good, trials: trialsOf(good) };
    for (const [type, retyped] of otherTypes(good)) {
      if (!mayAdd(`${operator} ${type}`, 1)) continue;
      const file = join(kept, `${one.name}-${type}.onnx`);
      writeFileSync(file, withoutShapes(one.modelPath, keepsRanks, codeOf(type)));
      yield {
        operator: `${operator} ${type}`,
        driver,
        options,
        path: file,
        good: retyped,
        trials: trialsOf(retyped),
      };
    }
  }
}

/** Cases that are tried: some operators have fifty; and the versions that they are made for. */
const MOST = { ofTypes: 3, ofOperator: 8, irVersion: 10, opset: 24 } as const;
/** Cases of what an operator consists of. */
const EXPANDED = /_expanded/;

function inputsOf(one: OperatorCase): Tensors | undefined {
  try {
    const { inputs } = readCase(one);
    return areTensors(inputs) ? createTensors(Object.entries(inputs)) : undefined;
  } catch {
    return undefined;
  }
}

/** The operator that a model is about: its last node's. */
function operatorOf(path: string): string {
  return withFile(path, (file, size) => {
    let name = "";
    for (const model of file.fields(0, size)) {
      if (model.number !== MODEL.graph) continue;
      for (const node of file.fields(model.start, model.end)) {
        if (node.number !== GRAPH.node) continue;
        for (const field of file.fields(node.start, node.end))
          if (field.number === NODE.operator) name = file.text(field);
      }
    }
    return name;
  });
}

function hasRanksOf(good: Tensors, given: Tensors): boolean {
  return Object.entries(good).every(([name, { shape }]) => given[name]?.shape.length === shape.length);
}

/** Values of another type, where all inputs are of one. */
function otherTypes(good: Tensors): [NumericDType, Tensors][] {
  const tensors = Object.entries(good);
  const [first] = tensors;
  if (first === undefined || tensors.some(([, { dtype }]) => dtype !== first[1].dtype)) return [];
  if (!/^(u?int|float)/.test(first[1].dtype)) return [];
  return OTHER_TYPES.filter((type) => type !== first[1].dtype).map((type) => [
    type,
    createTensors(tensors.map(([name, tensor]) => [name, ones(tensor, type)])),
  ]);
}

const OTHER_TYPES = ["int32", "int64", "uint8", "float32"] as const satisfies DType[];

function ones({ shape }: Tensor, type: NumericDType): Tensor {
  const data = new (numericLayout(type).array)(elementCount(shape));
  return createTensor(type, shape, data.fill((type === "int64" ? 1n : 1) as never) as never);
}

type Edit = (field: ProtobufField) => readonly Uint8Array[] | undefined;

/** The model with inputs and outputs of any sizes, or ranks too, and of another type where one is given. */
function withoutShapes(path: string, keepsRanks: boolean, type?: number): Uint8Array {
  return withFile(path, (file, size) => {
    const edited = (span: ProtobufField, edit: Edit) =>
      editMessage(file, span, edit) ?? file.bytes(span.start, span.end - span.start);
    const within = (number: number, edit: Edit) => (field: ProtobufField) =>
      field.number === number ? [nestedField(number, edited(field, edit))] : undefined;
    const tensor = within(TYPE.tensor, (field) => {
      const { number } = field;
      if (number === TENSOR.shape) return keepsRanks ? [openShape(file, field)] : [];
      return number === TENSOR.element && type !== undefined ? [integer(TENSOR.element, type)] : undefined;
    });
    const value = within(VALUE.type, tensor);
    const graph = within(MODEL.graph, (field) =>
      field.number === GRAPH.input || field.number === GRAPH.output
        ? [nestedField(field.number, edited(field, value))]
        : undefined,
    );
    const lowered =
      (number: number, most: number): Edit =>
      (field) =>
        field.number === number && field.value > most ? [integer(number, most)] : undefined;
    const opset = within(MODEL.opset, lowered(OPSET.version, MOST.opset));
    const version = lowered(MODEL.irVersion, MOST.irVersion);
    const model: Edit = (field) => graph(field) ?? opset(field) ?? version(field);
    return edited({ start: 0, end: size } as ProtobufField, model);
  });
}

/** As many sizes, each of which may be any. */
function openShape(file: ProtobufFile, { start, end }: ProtobufField): Uint8Array {
  const sizes = [...file.fields(start, end)].filter(({ number }) => number === SHAPE.size);
  return nestedField(TENSOR.shape, Buffer.concat(sizes.map(() => nestedField(SHAPE.size, new Uint8Array()))));
}

function integer(number: number, value: number): Uint8Array {
  return encodeMessage([integerField(number, value)]);
}

function withFile<Result>(path: string, read: (file: ProtobufFile, size: number) => Result): Result {
  const descriptor = openSync(path, "r");
  try {
    return read(new ProtobufFile(descriptor), statSync(path).size);
  } finally {
    closeSync(descriptor);
  }
}
