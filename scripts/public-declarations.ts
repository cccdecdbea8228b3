import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** The files of declarations that given ones refer to, and these: what a user's compiler reads. */
export function publicDeclarations(entries: readonly string[]): ReadonlySet<string> {
  const kept = new Set(entries.map(normalize));
  for (const file of kept) {
    const references = readFileSync(file, "utf8").matchAll(/(?:\bfrom |\bimport\()"(\.[^"]+)\.[jt]s"/g);
    for (const [, path = ""] of references) kept.add(join(dirname(file), `${path}.d.ts`));
  }
  return kept;
}
