import { closeSync, fstatSync, openSync } from "node:fs";
import { bytesField, encodeMessage } from "../../../tensor/codecs/protobuf/wire-writer.ts";
import { ProtobufError, type ProtobufField, ProtobufFile } from "../protobuf-file.ts";
import { ATTRIBUTE, encodeNode, GRAPH, NODE } from "./graph-node.ts";
import { GUARDS, type Guarded } from "./guards.ts";
import { type GraphNode, readNode, Scope } from "./scope.ts";

// Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
const MODEL = { graph: 7, opset: 8, function: 25 };
const FUNCTION = { node: 7 };
const OPSET = { domain: 1, version: 2 };
/** Operators of ONNX itself. */
const DOMAINS = ["", "ai.onnx"];
/** The first version whose operators the guards consist of. */
const FIRST_OPSET = 7;
/** Graphs within graphs. */
const MAX_DEPTH = 32;

/**
 * The bytes of a model's file with guards before operators that could end the process; undefined if none needs one,
 * and for a file that is no such model, of which ONNX Runtime tells why.
 */
export function readGuardedModel(path: string): Uint8Array | undefined {
  const descriptor = openSync(path, "r");
  try {
    const { size } = fstatSync(descriptor);
    return new ModelGuard(new ProtobufFile(descriptor)).guard({ start: 0, end: size });
  } catch (reason) {
    if (reason instanceof ProtobufError) return undefined;
    throw reason;
  } finally {
    closeSync(descriptor);
  }
}

/** Beginning and end of a message in a file. */
type Span = Pick<ProtobufField, "start" | "end">;

/** One pass over a model's graphs. */
class ModelGuard {
  readonly #file: ProtobufFile;
  #count = 0;
  #opset = 0;

  constructor(file: ProtobufFile) {
    this.#file = file;
  }

  guard(model: Span): Uint8Array | undefined {
    this.#opset = this.#opsetOf(model);
    if (this.#opset < FIRST_OPSET) return undefined;
    return editMessage(this.#file, model, (field) => {
      if (field.number === MODEL.graph) return nested(field, this.#graph(field, GRAPH.node, undefined));
      if (field.number === MODEL.function) return nested(field, this.#graph(field, FUNCTION.node, undefined));
      return undefined;
    });
  }

  /** The version of ONNX's own operators that a model uses; 0 for none. */
  #opsetOf(model: Span): number {
    for (const field of this.#file.fields(model.start, model.end)) {
      if (field.number !== MODEL.opset) continue;
      const parts = [...this.#file.fields(field.start, field.end)];
      const domain = parts.find(({ number }) => number === OPSET.domain);
      if (DOMAINS.includes(domain === undefined ? "" : this.#file.text(domain)))
        return parts.find(({ number }) => number === OPSET.version)?.value ?? 0;
    }
    return 0;
  }

  #graph(graph: Span, nodeField: number, outer: Scope | undefined, depth = 0): Uint8Array | undefined {
    const scope = new Scope(this.#file, this.#opset, outer);
    const isNode = ({ number }: ProtobufField) => number === nodeField;
    for (const field of this.#file.fields(graph.start, graph.end)) {
      if (isNode(field)) scope.add(readNode(this.#file, field));
      else if (nodeField === GRAPH.node) scope.declare(field);
    }
    return editMessage(this.#file, graph, (field) =>
      isNode(field) ? this.#node(readNode(this.#file, field), scope, { nodeField, depth }) : undefined,
    );
  }

  #node(node: GraphNode, scope: Scope, { nodeField, depth }: Place): readonly Uint8Array[] | undefined {
    const guarded = this.#guardOf(node, scope);
    const edited = editMessage(this.#file, node.span, this.#nodeEdit(guarded, scope, depth));
    if (edited === undefined) return undefined;
    const before = (guarded?.before ?? []).map((added) => encodeNode(added, nodeField));
    return [...before, nestedField(nodeField, edited)];
  }

  #guardOf(node: GraphNode, scope: Scope): Guarded | undefined {
    if (!DOMAINS.includes(node.domain) || !Object.hasOwn(GUARDS, node.operator)) return undefined;
    return GUARDS[node.operator]!(node, scope, `kserving guard ${this.#count++} `);
  }

  #nodeEdit({ inputs, outputs }: Partial<Guarded> = {}, scope: Scope, depth: number) {
    const rest = new Map([
      [NODE.input as number, inputs?.values()],
      [NODE.output as number, outputs?.values()],
    ]);
    return (field: ProtobufField): readonly Uint8Array[] | undefined => {
      const { number } = field;
      if (number === NODE.attribute) return nested(field, this.#attribute(field, scope, depth));
      const names = rest.get(number);
      return names && [nestedField(number, Buffer.from(names.next().value!))];
    };
  }

  #attribute(attribute: ProtobufField, scope: Scope, depth: number): Uint8Array | undefined {
    if (depth === MAX_DEPTH) return undefined;
    return editMessage(this.#file, attribute, (field) => {
      const isGraph = field.number === ATTRIBUTE.graph || field.number === ATTRIBUTE.graphs;
      if (!isGraph || field.wireType !== 2) return undefined;
      return nested(field, this.#graph(field, GRAPH.node, scope, depth + 1));
    });
  }
}

interface Place {
  readonly nodeField: number;
  readonly depth: number;
}

function nested({ number }: ProtobufField, content: Uint8Array | undefined): readonly Uint8Array[] | undefined {
  return content && [nestedField(number, content)];
}

/** The bytes that take a field's place, with its key; undefined = it stays as it is. */
type Edit = (field: ProtobufField) => readonly Uint8Array[] | undefined;

/** A message with some fields replaced; undefined if none is. */
export function editMessage(file: ProtobufFile, { start, end }: Span, edit: Edit): Uint8Array | undefined {
  const parts: Uint8Array[] = [];
  let kept = start;
  let position = start;
  for (const field of file.fields(start, end)) {
    const replaced = edit(field);
    if (replaced !== undefined) {
      parts.push(file.bytes(kept, position - kept), ...replaced);
      kept = field.end;
    }
    position = field.end;
  }
  return kept === start && parts.length === 0 ? undefined : Buffer.concat([...parts, file.bytes(kept, end - kept)]);
}

/** A field that holds a message, from the bytes of the latter. */
export function nestedField(number: number, content: Uint8Array): Uint8Array {
  return encodeMessage([bytesField(number, content)]);
}
