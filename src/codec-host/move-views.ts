/**
 * Which buffers may be transferred: these; or, with `owned`, all of which nobody else needs the rest, because the views that
 * are moved cover most of it.
 */
export type MayTransfer = ReadonlySet<ArrayBufferLike> | "owned";

/** Views as they are posted, and the buffers that are transferred with them. */
interface MovedViews {
  readonly views: readonly ArrayBufferView[];
  readonly transfer: ArrayBuffer[];
}

/** A buffer of which this part is not viewed may be one that others view too. */
const MAX_SPARE_PART = 1 / 2;
/** Buffers up to this size may be the pool of small Buffers, which is never transferred; a copy costs less than finding out. */
const SMALL_BYTES = 64 * 1024;

/** Prepares views for another thread: their buffers are transferred where they may be, each once; of others the viewed part is copied. */
export function moveViews(views: readonly ArrayBufferView[], mayTransfer: MayTransfer): MovedViews {
  const wanted = mayTransfer === "owned" ? ownedBuffers(views) : mayTransfer;
  const transfer = new Set<ArrayBuffer>();
  const moved = views.map((view) => {
    const kept = wanted.has(view.buffer) ? view : copyOf(view);
    transfer.add(kept.buffer as ArrayBuffer);
    return kept;
  });
  return { views: moved, transfer: [...transfer] };
}

function ownedBuffers(views: readonly ArrayBufferView[]): ReadonlySet<ArrayBufferLike> {
  const covered = new Map<ArrayBufferLike, number>();
  for (const { buffer, byteLength } of views) covered.set(buffer, (covered.get(buffer) ?? 0) + byteLength);
  const owned = [...covered].filter(([buffer, bytes]) => isOwned(buffer, bytes));
  return new Set(owned.map(([buffer]) => buffer));
}

function isOwned(buffer: ArrayBufferLike, covered: number): boolean {
  const isLarge = buffer instanceof ArrayBuffer && buffer.byteLength > SMALL_BYTES;
  return isLarge && buffer.byteLength - covered <= MAX_SPARE_PART * buffer.byteLength;
}

/** Not Buffer.slice(), which does not copy. */
function copyOf(view: ArrayBufferView): ArrayBufferView {
  const { buffer, byteOffset, byteLength } = view;
  const copy = buffer.slice(byteOffset, byteOffset + byteLength);
  if (Buffer.isBuffer(view)) return new Uint8Array(copy);
  return new (view.constructor as new (memory: ArrayBufferLike) => ArrayBufferView)(copy);
}
