import type { NativeFunctions, Pointer, SignatureTable } from "./bind-functions.ts";
import { koffi } from "./koffi.ts";
import { copyFromNative } from "./memory.ts";

/** Functions of a C API that is a struct of pointers to them: the place in the struct, then the signature. */
type PlacedTable = Readonly<Record<string, readonly [place: number, ...signature: SignatureTable[string]]>>;

type Signatures<Table extends PlacedTable> = {
  readonly [Name in keyof Table]: Table[Name] extends readonly [number, ...infer S extends SignatureTable[string]]
    ? S
    : never;
};

/** The functions of a {@link PlacedTable}. */
export type PlacedFunctions<Table extends PlacedTable> = NativeFunctions<Signatures<Table>>;

/** Makes the functions whose addresses are in a struct callable. The struct must have all the places of the table. */
export function bindPlaces<const Table extends PlacedTable>(struct: Pointer, table: Table): PlacedFunctions<Table> {
  const entries = Object.entries<PlacedTable[string]>(table);
  const size = Math.max(...entries.map(([, [place]]) => place)) + 1;
  const addresses = copyFromNative(new BigUint64Array(size), struct);
  const functions = entries.map(([name, [place, result, ...parameters]]) => {
    return [name, koffi.decode(addresses[place]!, koffi.proto(result, parameters))];
  });
  return Object.fromEntries(functions) as PlacedFunctions<Table>;
}
