import { join } from "node:path";
import * as tf from "@tensorflow/tfjs-core";
import { dataTypeNumber } from "../saved-model/data-type.ts";
import type { MetaGraphDef } from "../saved-model/graph-def.ts";
import { Checkpoint } from "./checkpoint.ts";
import { TYPE } from "./element-types.ts";
import { type Edge, type Graph, type GraphNode, subgraph } from "./graph.ts";
import { type FunctionLibrary, GraphInliner } from "./graph-inliner.ts";
import {
  findInitialisation,
  findRestored,
  type InitialTable,
  type InitialValue,
  type Restored,
} from "./initialisation.ts";
import { NO_SURROUNDINGS, OpNode } from "./op-node.ts";
import { Compiler } from "./program.ts";
import { Refusal } from "./refusal.ts";
import { HashTable, toValue, type Value, Variable } from "./values.ts";

/** The places that a model has its variables and tables from, each by its node. */
interface FoundResources {
  readonly restored: Restored;
  readonly checkpoint: Checkpoint | undefined;
  readonly tables: ReadonlyMap<string, HashTable>;
  readonly initial: ReadonlyMap<string, InitialValue>;
}

/** The variables and tables of a SavedModel; variables are read as nodes ask for them. */
export class ModelResources {
  readonly #restored: Restored;
  readonly #checkpoint: Checkpoint | undefined;
  readonly #variables = new Map<string, Variable>();
  readonly #tables: ReadonlyMap<string, HashTable>;
  readonly #initial: ReadonlyMap<string, InitialValue>;

  constructor({ restored, checkpoint, tables, initial }: FoundResources) {
    this.#restored = restored;
    this.#checkpoint = checkpoint;
    this.#tables = tables;
    this.#initial = initial;
  }

  /** The content of a node; undefined for one that the model gives no value. */
  resourceOf(node: string): Value | undefined {
    return this.#tables.get(node) ?? this.#variables.get(node) ?? this.#readVariable(node);
  }

  /** Frees the variables that are not among those: what was computed from them is all that is left of them. */
  release(needed: ReadonlySet<Variable>): void {
    if (this.#variables.size === 0) return;
    for (const [node, variable] of this.#variables) {
      if (needed.has(variable)) continue;
      if (variable.value instanceof tf.Tensor) variable.value.dispose();
      this.#variables.delete(node);
    }
    this.#checkpoint?.forget();
  }

  #readVariable(node: string): Variable | undefined {
    const value = this.#initialValue(node) ?? this.#restoredValue(node);
    if (value === undefined) return undefined;
    const variable = new Variable(value);
    this.#variables.set(node, variable);
    return variable;
  }

  #initialValue(node: string): Variable["value"] | undefined {
    const initial = this.#initial.get(node);
    if (initial === undefined) return undefined;
    const [value] = evaluate(subgraph(initial.graph, [initial.value]), [initial.value]);
    return value as Variable["value"];
  }

  #restoredValue(node: string): Variable["value"] | undefined {
    const key = this.#restored.variables.get(node);
    if (key === undefined || this.#checkpoint === undefined) return undefined;
    const name = typeof key === "string" ? key : key.name;
    return toValue(this.#checkpoint.read(key), `The variable "${name}"`);
  }
}

/**
 * Reads what a SavedModel's folder holds besides the graph; throws {@link Refusal} for
 * initialisation that cannot be repeated here.
 */
export function loadModelResources(meta: MetaGraphDef, library: FunctionLibrary, folder: string): ModelResources {
  const restored = findRestored(meta, library);
  const isNeeded = restored.variables.size + restored.tables.size > 0;
  const checkpoint = isNeeded ? new Checkpoint(join(folder, "variables", "variables")) : undefined;
  const tables = new Map<string, HashTable>();
  for (const [node, { keys, values: contents }] of restored.tables) {
    const table = tableOf(node, typesOf(node, meta, library).values, tables);
    const [keyValues, values] = [keys, contents].map((key) =>
      toValue((checkpoint as Checkpoint).read(key), `The table "${key}"`),
    );
    fillAndFree(table, keyValues as Value, values as Value);
  }
  const { tables: filled, variables: initial } = findInitialisation(meta, library, folder);
  for (const table of filled) {
    const types = typesOf(table.table, meta, library);
    fill(tableOf(table.table, types.values, tables), table, types);
  }
  return new ModelResources({ restored, checkpoint, tables, initial });
}

function tableOf(node: string, valueType: number, tables: Map<string, HashTable>): HashTable {
  const table = tables.get(node) ?? new HashTable(valueType);
  tables.set(node, table);
  return table;
}

function typesOf(name: string, meta: MetaGraphDef, library: FunctionLibrary): TableTypes {
  const inliner = new GraphInliner(library);
  inliner.addGraph(meta.graphDef ?? { node: [] });
  inliner.reachNode(name);
  const node = inliner.nodes.get(name);
  const types = node === undefined ? undefined : tableTypes(node);
  if (types === undefined) throw new Refusal(`${node?.op} as a table`);
  return types;
}

function fill(table: HashTable, initial: InitialTable, types: TableTypes): void {
  if ("lines" in initial) {
    fillFromLines(table, initial.lines, { node: initial.node, types });
    return;
  }
  const outputs = [initial.keys, initial.values];
  const [keys, values] = evaluate(subgraph(initial.graph, outputs), outputs) as [Value, Value];
  fillAndFree(table, keys, values);
}

function fillAndFree(table: HashTable, keys: Value, values: Value): void {
  table.fill(keys, values);
  for (const value of [keys, values]) if (value instanceof tf.Tensor) value.dispose();
}

/** The values of constants, and those computed from them. */
function evaluate(graph: Graph, outputs: readonly Edge[]): Value[] {
  const compiler = new Compiler({ library: new Map(), resourceOf: () => undefined, fuses: false }, () => {});
  const program = compiler.compile(graph, { inputs: [], outputs });
  if (compiler.reasons.size > 0) throw new Refusal([...compiler.reasons].join("; "));
  const values = program.run([], () => {});
  program.dispose();
  return values;
}

/** Meaning of a text file's column numbers that are not columns. */
const WHOLE_LINE = -2;
const LINE_NUMBER = -1;

/** The types of a table's keys and values. */
interface TableTypes {
  readonly keys: number;
  readonly values: number;
}

/** The types that a table's node declares; undefined for a node that is not a table. */
function tableTypes(node: GraphNode): TableTypes | undefined {
  if (!/HashTable/.test(node.op)) return undefined;
  const view = new OpNode(node, NO_SURROUNDINGS);
  return { keys: view.type("key_dtype"), values: view.type("value_dtype") };
}

/**
 * Fills a table from the lines of a text file as the node that would do so says;
 * throws {@link Refusal} for what it cannot read.
 */
function fillFromLines(
  table: HashTable,
  lines: readonly Uint8Array[],
  { node, types }: { node: GraphNode; types: TableTypes },
): void {
  const view = new OpNode(node, NO_SURROUNDINGS);
  const [keyIndex, valueIndex] = [view.integer("key_index"), view.integer("value_index")];
  const [size, offset] = [view.integer("vocab_size", -1), view.integer("offset", 0)];
  const delimiter = view.text("delimiter", "\t");
  const used = lines.slice(offset, size === -1 ? undefined : offset + size);
  for (const [number, line] of used.entries()) {
    const columns = Buffer.from(line).toString("latin1").split(delimiter);
    const read = (index: number, type: number) =>
      readColumn({ index, type, number, line, columns }) ?? view.refuse(`of column ${index}`);
    table.add(read(keyIndex, types.keys), read(valueIndex, types.values));
  }
}

interface Column {
  readonly index: number;
  readonly type: number;
  readonly number: number;
  readonly line: Uint8Array;
  readonly columns: readonly string[];
}

function readColumn({ index, type, number, line, columns }: Column): Uint8Array | number | undefined {
  if (index === LINE_NUMBER) return type === TYPE.int64 ? number : undefined;
  if (index === WHOLE_LINE) return type === TYPE.string ? line : undefined;
  const text = columns[index];
  if (text === undefined) return undefined;
  if (type === TYPE.string) return Buffer.from(text, "latin1");
  return NUMBERS.has(type) && /^-?\d{1,9}$/.test(text) ? Number(text) : undefined;
}

const NUMBERS: ReadonlySet<number> = new Set([
  dataTypeNumber("INT64"),
  dataTypeNumber("INT32"),
  dataTypeNumber("FLOAT"),
]);
