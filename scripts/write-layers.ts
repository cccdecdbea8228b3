import { readFile, writeFile } from "node:fs/promises";
import { LAYERS, OWNED_PACKAGES } from "./layers.ts";

/** Writes the layers into the linter's configuration; `--check` only says whether it has them. */
const FILE = new URL("../biome.json", import.meta.url);

interface Override {
  readonly includes: readonly string[];
  readonly linter: unknown;
}

function toOverride({ folder, mayImport, packages = [] }: (typeof LAYERS)[number]): Override {
  const refused = LAYERS.map((layer) => layer.folder).filter((name) => name !== folder && !mayImport.includes(name));
  const foreign = OWNED_PACKAGES.filter((name) => !packages.includes(name));
  const patterns = [
    {
      // With what leads out of a folder: another folder may have one of the same name.
      group: refused.map((name) => `**/../${name}/**`),
      message: `src/${folder} may not import from there: scripts/layers.ts lists what it may.`,
    },
    { group: foreign, message: "Each of these packages belongs to one folder (scripts/layers.ts)." },
  ];
  const rule = { level: "error", options: { patterns } };
  return {
    includes: [`src/${folder}/**`],
    linter: { rules: { style: { noRestrictedImports: rule } } },
  };
}

const text = await readFile(FILE, "utf8");
const { overrides, ...config } = JSON.parse(text) as { overrides: readonly Override[] };
const others = overrides.filter(
  ({ includes }) => !/^src\/[a-z-]+\/\*\*$/.test(includes[0] ?? "") || includes.length > 1,
);
const written = `${JSON.stringify({ ...config, overrides: [...LAYERS.map(toOverride), ...others] }, null, 2)}\n`;
const isCheck = process.argv.includes("--check");
if (isCheck && JSON.stringify(JSON.parse(text)) !== JSON.stringify(JSON.parse(written))) {
  console.error("biome.json does not hold the layers of scripts/layers.ts: run `npm run layers`.");
  process.exitCode = 1;
}
if (!isCheck) await writeFile(FILE, written);
