import { readFileSync, writeFileSync } from "node:fs";
import { withSettings } from "./configuration-doc.ts";

/** Writes the tables of settings into docs/configuration.md; `--check` only says whether they are current. */
const path = "docs/configuration.md";
const text = readFileSync(path, "utf8");
const written = withSettings(text);
if (!process.argv.includes("--check")) {
  writeFileSync(path, written);
} else if (written !== text) {
  console.error(`${path} is not what the table of settings says: run \`npm run gen\`.`);
  process.exitCode = 1;
}
