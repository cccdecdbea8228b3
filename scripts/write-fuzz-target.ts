import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { createDecoders } from "../test/fuzz/decoders.ts";
import { fileDecoders } from "../test/fuzz/file-decoders.ts";
import { keptInputs } from "../test/fuzz/kept-inputs.ts";

const HELP = `Writes what Jazzer.js, a fuzzer that follows coverage, needs: the decoders in one file, and a folder with inputs for each of them.
Prints the commands; Jazzer.js is not among our packages.

  npm run check -- fuzz-target .cache/fuzz`;

const OPTIONS = "-i target.cjs --disableBugDetectors '.*' -- -max_total_time=600 -timeout=10 -max_len=8192";

/** CommonJS, which the fuzzer's instruments need, has no `import.meta`. */
const keepsPlaces: Plugin = {
  name: "keeps-places",
  setup(building) {
    building.onLoad({ filter: /\/(?:src|test)\/.*\.ts$/ }, ({ path }) => ({
      loader: "ts",
      contents: readFileSync(path, "utf8")
        // Not where a text names them.
        .replaceAll(/(?<!")import\.meta\.url/g, JSON.stringify(pathToFileURL(path).href))
        .replaceAll(/(?<!")import\.meta\.dirname/g, JSON.stringify(dirname(path))),
    }));
  },
};

const [folder] = process.argv.slice(2);
if (folder === undefined || folder.startsWith("-")) console.log(HELP);
else await write(resolve(folder));

async function write(where: string): Promise<void> {
  const target = join(where, "target.cjs");
  const entry = fileURLToPath(new URL("../test/fuzz/coverage-target.ts", import.meta.url));
  const plugins = [keepsPlaces];
  await build({ entryPoints: [entry], outfile: target, bundle: true, platform: "node", packages: "external", plugins });
  for (const { name, samples } of [...(await createDecoders()), ...(await fileDecoders())]) {
    const corpus = join(where, name.replaceAll(/\W+/g, "-"));
    mkdirSync(corpus, { recursive: true });
    for (const [index, input] of [...samples, ...keptInputs(name)].entries())
      writeFileSync(join(corpus, `input${index}`), input);
    console.log(`KSERVING_FUZZ_DECODER="${name}" npx -p @jazzer.js/core jazzer ${target} ${corpus} ${OPTIONS}`);
  }
}
