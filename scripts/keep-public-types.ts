/** Removes the declarations of `dist` that no public declaration refers to: users' compilers never read them. */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
const waiting: string[] = Object.values<{ types?: string }>(exports).flatMap(({ types }) =>
  types ? [normalize(types)] : [],
);
const kept = new Set<string>();
for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
  if (kept.has(file)) continue;
  kept.add(file);
  const references = readFileSync(file, "utf8").matchAll(/(?:\bfrom |\bimport\()"(\.[^"]+)\.[jt]s"/g);
  for (const [, path = ""] of references) waiting.push(join(dirname(file), `${path}.d.ts`));
}
for (const name of readdirSync("dist", { recursive: true, encoding: "utf8" })) {
  const file = join("dist", name);
  if (file.endsWith(".d.ts") && !kept.has(file)) rmSync(file);
}
