import { readFileSync, writeFileSync } from "node:fs";
import { licenceTable } from "./licences.ts";

/** Writes the licences of all dependencies into docs/licences.md. */
const path = "docs/licences.md";
const text = readFileSync(path, "utf8");
writeFileSync(
  path,
  text.replace(/(<!-- licences -->\n)[\s\S]*(<!-- end -->)/, (_, begin, end) => `${begin}${licenceTable()}\n${end}`),
);
