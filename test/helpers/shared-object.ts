import { randomUUID } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { onTestFinished } from "vitest";

/** True where shared memory objects are files, as the server needs them. */
export const hasSharedMemory = process.platform === "linux";

/** A shared memory object with these bytes, until the test ends: the key by which it is registered, and its file. */
export function sharedObject(bytes: Uint8Array): { readonly key: string; readonly file: string } {
  const object = unusedObject();
  writeFileSync(object.file, bytes);
  return object;
}

/** The key and the file of an object that a test may create, and that is gone when it ends. */
export function unusedObject(): { readonly key: string; readonly file: string } {
  const key = `/kserving-test-${randomUUID()}`;
  const file = `/dev/shm${key}`;
  onTestFinished(() => rmSync(file, { recursive: true, force: true }));
  return { key, file };
}
