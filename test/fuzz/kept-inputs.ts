import { readFileSync } from "node:fs";

const FILE = new URL("../fixtures/fuzz/kept-inputs.json", import.meta.url);
const all = JSON.parse(readFileSync(FILE, "utf8")) as Readonly<Record<string, readonly string[]>>;

/**
 * Inputs of a decoder, by its name, that run code which none of its samples runs: those that a fuzzer which follows
 * coverage has found, without any whose code a smaller one runs.
 */
export function keptInputs(name: string): readonly Buffer[] {
  return (all[name] ?? []).map((text) => Buffer.from(text, "base64"));
}
