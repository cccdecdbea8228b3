import { mkdir, readFile, writeFile } from "node:fs/promises";
import { configSchema } from "../src/cli/settings/config-schema.ts";

/** Writes the JSON Schema of the configuration file; `--check` only says whether it is current. */
const FILE = new URL("../schema/kserving.schema.json", import.meta.url);

const written = `${JSON.stringify(configSchema(), null, 2)}\n`;
if (!process.argv.includes("--check")) {
  await mkdir(new URL(".", FILE), { recursive: true });
  await writeFile(FILE, written);
} else if ((await readFile(FILE, "utf8")) !== written) {
  console.error("schema/kserving.schema.json is not what the tables say: run `npm run gen`.");
  process.exitCode = 1;
}
