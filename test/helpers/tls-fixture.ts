import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FOLDER = new URL("../fixtures/tls/", import.meta.url);

/** Path of a file of test/fixtures/tls. */
export function tlsPath(name: string): string {
  return fileURLToPath(new URL(name, FOLDER));
}

/** Content of a file of test/fixtures/tls. */
export function tlsFile(name: string): Buffer {
  return readFileSync(tlsPath(name));
}
