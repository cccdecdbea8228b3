import { readFileSync } from "node:fs";

/** The text of a file; empty where there is none, or where it cannot be read. */
export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
