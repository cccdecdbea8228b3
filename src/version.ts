import { readFileSync } from "node:fs";

/** The version in package.json, which is one folder up from this file in the sources and when built. */
export function readVersion(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
