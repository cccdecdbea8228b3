/** A part of a FlatBuffer; one that several others refer to is written once. */
export type Part =
  | { readonly fields: Readonly<Record<number, number | Part>> }
  | { readonly ints: readonly number[] }
  | { readonly tables: readonly Part[] };

/** A FlatBuffer whose numbers all have 32 bits: https://flatbuffers.dev/internals. */
export function writeFlatbuffer(root: Part): Buffer {
  const places = placeParts(root);
  const last = [...places.keys()].at(-1) as Part;
  const bytes = Buffer.alloc((places.get(last) as number) + bodyBytes(last));
  bytes.writeUInt32LE(places.get(root) as number, 0);
  for (const [part, at] of places) {
    const refer = (place: number, target: Part) => bytes.writeUInt32LE((places.get(target) as number) - place, place);
    if ("fields" in part) writeTable(bytes, at, { part, refer });
    else if ("ints" in part)
      writeList(bytes, at, { items: part.ints, write: (place, each) => bytes.writeInt32LE(each, place) });
    else writeList(bytes, at, { items: part.tables, write: refer });
  }
  return bytes;
}

/** Each behind those that refer to it. */
function placeParts(root: Part): Map<Part, number> {
  const places = new Map<Part, number>();
  let end = 8;
  const pending: Part[] = [root];
  for (let part = pending.shift(); part !== undefined; part = pending.shift()) {
    if (places.has(part)) continue;
    const at = end + listBytes(part);
    places.set(part, at);
    end = at + bodyBytes(part);
    pending.push(...new Set(partsOf(part)));
  }
  return places;
}

function partsOf(part: Part): readonly Part[] {
  if ("tables" in part) return part.tables;
  return "fields" in part ? Object.values(part.fields).filter((field) => typeof field !== "number") : [];
}

function fieldCount(part: Part): number {
  return "fields" in part ? Math.max(-1, ...Object.keys(part.fields).map(Number)) + 1 : 0;
}

/** Of a table the list of its fields, which stands before it. */
function listBytes(part: Part): number {
  return "fields" in part ? 4 * Math.ceil((4 + 2 * fieldCount(part)) / 4) : 0;
}

function bodyBytes(part: Part): number {
  if ("fields" in part) return 4 + 4 * fieldCount(part);
  return 4 + 4 * ("ints" in part ? part.ints : part.tables).length;
}

interface TableOptions {
  readonly part: { readonly fields: Readonly<Record<number, number | Part>> };
  readonly refer: (place: number, target: Part) => void;
}

function writeTable(bytes: Buffer, at: number, { part, refer }: TableOptions): void {
  const list = at - listBytes(part);
  bytes.writeInt32LE(at - list, at);
  bytes.writeUInt16LE(4 + 2 * fieldCount(part), list);
  bytes.writeUInt16LE(bodyBytes(part), list + 2);
  for (const [number, field] of Object.entries(part.fields)) {
    const offset = 4 + 4 * Number(number);
    bytes.writeUInt16LE(offset, list + 4 + 2 * Number(number));
    if (typeof field === "number") bytes.writeInt32LE(field, at + offset);
    else refer(at + offset, field);
  }
}

interface ListOptions<Item> {
  readonly items: readonly Item[];
  readonly write: (place: number, item: Item) => void;
}

function writeList<Item>(bytes: Buffer, at: number, { items, write }: ListOptions<Item>): void {
  bytes.writeUInt32LE(items.length, at);
  for (const [index, item] of items.entries()) write(at + 4 + 4 * index, item);
}
