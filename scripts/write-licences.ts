import { readFileSync, writeFileSync } from "node:fs";
import { licenceTable } from "./licences.ts";

/** Writes the licences of all dependencies into docs/licences.md; `--check` only says whether they are current. */
const path = "docs/licences.md";
const text = readFileSync(path, "utf8");
const written = text.replace(
  /(<!-- licences -->\n)[\s\S]*(<!-- end -->)/,
  (_, begin, end) => `${begin}${licenceTable()}\n${end}`,
);
if (!process.argv.includes("--check")) {
  writeFileSync(path, written);
} else if (written !== text) {
  console.error(`${path} is not as the lock file says: run npm run gen`);
  process.exitCode = 1;
}
