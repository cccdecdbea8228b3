import { dataTypeNumber } from "../saved-model/data-type.ts";
import { TYPE } from "./element-types.ts";
import type { GraphNode } from "./graph.ts";
import { NO_SURROUNDINGS, OpNode } from "./op-node.ts";
import { Refusal } from "./refusal.ts";
import type { HashTable } from "./values.ts";

/** Meaning of a text file's column numbers that are not columns. */
const WHOLE_LINE = -2;
const LINE_NUMBER = -1;

/** The types of a table's keys and values. */
export interface TableTypes {
  readonly keys: number;
  readonly values: number;
}

/** The types that a table's node declares; undefined for a node that is not a table. */
export function tableTypes(node: GraphNode): TableTypes | undefined {
  if (!/HashTable/.test(node.op)) return undefined;
  const view = new OpNode(node, NO_SURROUNDINGS);
  return { keys: view.type("key_dtype"), values: view.type("value_dtype") };
}

/**
 * Fills a table from the lines of a text file as the node that would do so says;
 * throws {@link Refusal} for what it cannot read.
 */
export function fillFromLines(
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
