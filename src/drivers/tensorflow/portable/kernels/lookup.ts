import * as tf from "@tensorflow/tfjs-core";
import type { KernelFactory, KernelTable } from "../op-node.ts";
import { HashTable, type Value } from "../values.ts";

const find: KernelFactory = () => (table, keys, fallback) => asTable(table).find(keys as Value, fallback as Value);
const size: KernelFactory = () => (table) => tf.scalar(asTable(table).size, "int32");

function asTable(value: Value | undefined): HashTable {
  if (value instanceof HashTable) return value;
  throw new Error("expected a table");
}

/** Lookups in tables that were filled while the model was loaded. */
export const LOOKUP_KERNELS: KernelTable = {
  LookupTableFind: find,
  LookupTableFindV2: find,
  LookupTableSize: size,
  LookupTableSizeV2: size,
};
