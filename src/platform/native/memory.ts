import {
  bindFunctions,
  koffi,
  type NativeFunctions,
  type Pointer,
  processLibrary,
  type SignatureTable,
} from "./bind-functions.ts";

// Half as long as a copy through koffi.view, which makes V8 adopt the foreign memory first.
const { memcpy } = bindFunctions(
  processLibrary(),
  { memcpy: ["void *", "void *", "void *", "size_t"] },
  "The C library",
);

/** Copies an array's bytes to native memory, which has room for them. */
export function copyToNative(target: Pointer, source: ArrayBufferView): void {
  if (source.byteLength > 0) memcpy(target, source, source.byteLength);
}

/** Fills an array with the bytes at an address. */
export function copyFromNative<Target extends ArrayBufferView>(target: Target, source: Pointer): Target {
  if (target.byteLength > 0) memcpy(target, source, target.byteLength);
  return target;
}

/** The UTF-8 text that begins at an address and ends in zero. */
export function readText(address: Pointer): string {
  return koffi.decode(new BigUint64Array([address]), "str") as string;
}

/** The memory of the texts; kept as long as the array of their addresses. */
const contents = new WeakMap<BigUint64Array, Buffer>();

/**
 * A list of texts as C takes it, `const char *const *`: their addresses. They stay
 * where they are as long as the array is referenced.
 */
export function toCTexts(texts: readonly Uint8Array[]): BigUint64Array {
  const length = texts.reduce((sum, text) => sum + text.length + 1, 0);
  const addresses = new BigUint64Array(texts.length);
  if (length === 0) return addresses;
  // In separate memory, which V8 does not move.
  const content = Buffer.allocUnsafeSlow(length);
  const start = koffi.address(content);
  let at = 0;
  for (const [index, text] of texts.entries()) {
    content.set(text, at);
    addresses[index] = start + BigInt(at);
    at += text.length;
    content[at++] = 0;
  }
  contents.set(addresses, content);
  return addresses;
}

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
