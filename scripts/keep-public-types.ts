/** Removes the declarations of `dist` that no public declaration refers to: users' compilers never read them. */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { publicDeclarations } from "./public-declarations.ts";

const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
const kept = publicDeclarations(
  Object.values<{ types?: string }>(exports).flatMap(({ types }) => (types ? [types] : [])),
);
for (const name of readdirSync("dist", { recursive: true, encoding: "utf8" })) {
  const file = join("dist", name);
  if (file.endsWith(".d.ts") && !kept.has(file)) rmSync(file);
}
