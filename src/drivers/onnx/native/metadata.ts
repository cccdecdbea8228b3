import type { Pointer } from "../../../native/bind-functions.ts";
import { copyFromNative } from "../../../native/memory.ts";
import { readText } from "../../../native/read-text.ts";
import type { NativeContext } from "./open-onnx.ts";
import { check, takePointer } from "./status.ts";

/** The exporter's notes in a model, ONNX Runtime's custom metadata map, by key. */
export function readMetadata(context: NativeContext, session: Pointer): Record<string, string> {
  const { api } = context;
  const metadata = takePointer(api, (at) => api.SessionGetModelMetadata(session, at));
  try {
    const notes = readKeys(context, metadata).map((key) => [key, readNote(context, metadata, key)]);
    return Object.fromEntries(notes);
  } finally {
    api.ReleaseModelMetadata(metadata);
  }
}

function readKeys({ api, allocator }: NativeContext, metadata: Pointer): string[] {
  const list = new BigUint64Array(1);
  const count = new BigInt64Array(1);
  check(api, api.ModelMetadataGetCustomMetadataMapKeys(metadata, allocator, list, count));
  if (count[0] === 0n) return [];
  const addresses = copyFromNative(new BigUint64Array(Number(count[0])), list[0]!);
  const keys = Array.from(addresses, readText);
  for (const address of [...addresses, list[0]!]) check(api, api.AllocatorFree(allocator, address));
  return keys;
}

function readNote({ api, allocator }: NativeContext, metadata: Pointer, key: string): string {
  const text = takePointer(api, (at) => api.ModelMetadataLookupCustomMetadataMap(metadata, allocator, key, at));
  const note = readText(text);
  check(api, api.AllocatorFree(allocator, text));
  return note;
}
