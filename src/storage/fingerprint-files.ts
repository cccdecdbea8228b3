import { createHash } from "node:crypto";
import type { RemoteFile } from "./storage-client.ts";

/** Text that changes when a file is added or removed, or its content changes. */
export function fingerprintFiles(files: readonly RemoteFile[]): string {
  const hash = createHash("sha256");
  for (const { key, bytes, etag } of files) hash.update(`${key}\0${bytes ?? ""}\0${etag}\0`);
  return hash.digest("base64url");
}
