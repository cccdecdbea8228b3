import { basename } from "node:path/posix";
import { TRITON_CONFIG } from "./read-triton-config.ts";

/** Checks by its name if a file describes a model, so that it is read before a version is chosen. */
export function isDescription(name: string): boolean {
  return basename(name) === TRITON_CONFIG;
}
