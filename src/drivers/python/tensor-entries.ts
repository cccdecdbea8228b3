import { ServingError } from "../../errors.ts";
import { type DType, isDType } from "../../tensor/dtype.ts";
import {
  byteSize,
  createTensor,
  createTensors,
  elementCount,
  type Tensor,
  type Tensors,
  toBytes,
  viewBytes,
} from "../../tensor/tensor.ts";
import { alignTo, MAX_FRAME_BYTES } from "./frames.ts";
import type { SlotFile } from "./slot-file.ts";

/** Number of bytes from which on a file in memory costs less than the pipe. */
export const SLOT_BYTES = 1 << 16;

/** name, dtype, shape, bytes, and their place: a position in the slot's file, or -1 for the body. */
export type TensorEntry = readonly [
  name: string,
  dtype: string,
  shape: readonly number[],
  size: number,
  position: number,
];

/** Tensors as a frame has them: entries for its header, and the bytes of its body. */
interface SentTensors {
  readonly entries: readonly TensorEntry[];
  readonly body: readonly Uint8Array[];
}

/** The tensors' bytes, which may view them. */
export function partsOf(tensors: Tensors): readonly Uint8Array[] {
  return Object.values(tensors).map(encodeTensor);
}

/** The entries of tensors whose large parts were written to a slot at these positions. */
export function toEntries(
  tensors: Tensors,
  parts: readonly Uint8Array[],
  positions: readonly number[] = [],
): SentTensors {
  const entries = Object.entries(tensors).map(
    ([name, { dtype, shape }], index): TensorEntry => [
      name,
      dtype,
      shape,
      parts[index]!.byteLength,
      positions[index] ?? -1,
    ],
  );
  return { entries, body: parts.filter((_, index) => (positions[index] ?? -1) < 0) };
}

/** Writes large parts to a slot's file, from a position on; gives each one's position there, -1 for none. */
export async function fillSlot(
  slot: SlotFile | undefined,
  parts: readonly Uint8Array[],
  start: number,
): Promise<number[]> {
  const positions: number[] = [];
  let end = start;
  for (const bytes of parts) {
    const isThere = bytes.byteLength >= SLOT_BYTES && (await slot?.write(bytes, end)) === true;
    positions.push(isThere ? end : -1);
    if (isThere) end += alignTo(64, bytes.byteLength);
  }
  return positions;
}

/**
 * Checks entries that a process has sent, before memory is taken for their tensors: no more than the body has, and no
 * more in the slot than a frame may have. Throws an error with the reason.
 */
export function checkEntries(entries: readonly TensorEntry[], bodyBytes: number, slot: SlotFile | undefined): void {
  let [inBody, inSlot] = [0, 0];
  for (const [name, dtype, shape, size, position] of entries) {
    const isWhole = Number.isSafeInteger(size) && size >= 0 && Number.isSafeInteger(position);
    if (typeof name !== "string" || typeof dtype !== "string" || !Array.isArray(shape) || !isWhole)
      throw unlike("an entry that is not one of a tensor");
    if (position < 0) inBody += size;
    else inSlot += size;
  }
  const inSlotAtMost = slot === undefined ? 0 : MAX_FRAME_BYTES;
  if (inBody > bodyBytes) throw unlike(`tensors of ${inBody} bytes in a body of ${bodyBytes}`);
  if (inSlot > inSlotAtMost) throw unlike(`tensors of ${inSlot} bytes in a slot; expected ${inSlotAtMost} at most`);
}

function unlike(what: string): ServingError {
  return new ServingError("internal", `it has ${what}.`);
}

/** Position behind the tensors that a frame has in its slot. */
export function endOf(entries: readonly TensorEntry[]): number {
  return Math.max(0, ...entries.map(([, , , size, position]) => (position < 0 ? 0 : alignTo(64, position + size))));
}

/** True if all tensors are in the frame's body. */
export function areInBody(entries: readonly TensorEntry[]): boolean {
  return entries.every(([, , , , position]) => position < 0);
}

/** The tensors that are in the body. Each has a buffer to itself, so that the server can hand it over. */
export function readBody(entries: readonly TensorEntry[], body: Buffer): Tensors {
  const tensors = createTensors();
  let start = 0;
  for (const [name, dtype, shape, size, position] of entries) {
    if (position >= 0) continue;
    const bytes = Buffer.allocUnsafeSlow(size);
    body.copy(bytes, 0, start, start + size);
    start += alignTo(8, size);
    // The entries may be those of other answers too.
    tensors[name] = decodeTensor(dtype, [...shape], bytes);
  }
  return tensors;
}

/** All tensors of a frame. The body is read at once: it may be overwritten later. */
export async function readTensors(
  entries: readonly TensorEntry[],
  body: Buffer,
  slot: SlotFile | undefined,
): Promise<Tensors> {
  const tensors = readBody(entries, body);
  for (const [name, dtype, shape, size, position] of entries) {
    if (position < 0) continue;
    const bytes = Buffer.allocUnsafeSlow(size);
    await slot?.read(bytes, position);
    tensors[name] = decodeTensor(dtype, [...shape], bytes);
  }
  return tensors;
}

/** Bytes of the length before each element of a `bytes` tensor. */
const LENGTH_BYTES = 4;

/**
 * A tensor's data for the other process: numbers unchanged, `bytes` as u32 lengths followed by the elements. May view
 * the tensor.
 */
function encodeTensor(tensor: Tensor): Uint8Array {
  if (tensor.dtype !== "bytes") return toBytes(tensor.data);
  const { data } = tensor;
  const bytes = Buffer.alloc(LENGTH_BYTES * data.length + byteSize(tensor));
  let end = LENGTH_BYTES * data.length;
  for (const [index, element] of data.entries()) {
    bytes.writeUInt32LE(element.byteLength, LENGTH_BYTES * index);
    bytes.set(element, end);
    end += element.byteLength;
  }
  return bytes;
}

/** A tensor from bytes without other users; throws `internal` for an invalid one. */
function decodeTensor(dtype: string, shape: readonly number[], bytes: Uint8Array): Tensor {
  if (!isDType(dtype)) throw new ServingError("internal", `Python gave a tensor of the type ${dtype}.`);
  return createTensor(
    dtype as DType,
    shape,
    (dtype === "bytes" ? elements(shape, bytes) : viewBytes(dtype, bytes)) as never,
  );
}

function elements(shape: readonly number[], bytes: Uint8Array): Uint8Array[] {
  const count = elementCount(shape);
  const lengths = new DataView(bytes.buffer, bytes.byteOffset, LENGTH_BYTES * count);
  let end = LENGTH_BYTES * count;
  return Array.from({ length: count }, (_, index) => {
    const start = end;
    end += lengths.getUint32(LENGTH_BYTES * index, true);
    return bytes.slice(start, end);
  });
}
