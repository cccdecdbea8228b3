import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { build, type Plugin } from "esbuild";
import { MUTANT_HISTORIES, MUTANTS, type Mutant } from "../test/simulation/serving/mutants.ts";

/** In the checkout, so that the packages are found from there. */
const FOLDERS = ".cache";
/** A mutant counts as one that never ends, and so as found, after so many times the time of a run without one. */
const LONGEST_RATIO = 3;
/** The same time at least, in milliseconds: other programs may slow a run down. */
const LONGEST_MS = 180_000;

/** Runs the simulation on each deliberate fault; resolves with the number of those that it does not find. */
export async function runMutants(): Promise<number> {
  await mkdir(FOLDERS, { recursive: true });
  const folder = await mkdtemp(join(FOLDERS, "mutants-"));
  try {
    return await runIn(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function runIn(folder: string): Promise<number> {
  const began = performance.now();
  const without = await runWith([], { folder });
  if (without !== undefined) throw new Error(`${without}, without a deliberate fault; mend that first`);
  const longestMs = Math.max(LONGEST_MS, LONGEST_RATIO * (performance.now() - began));
  let left = 0;
  for (const mutant of MUTANTS) {
    const found = await runWith([toPlugin(mutant)], { folder, longestMs });
    if (found === undefined) left++;
    console.log(
      `${found === undefined ? "NOT FOUND" : "found"}: a server that ${mutant.what} (${found ?? mutant.file})`,
    );
  }
  console.log(`${MUTANTS.length - left} of ${MUTANTS.length} found within ${MUTANT_HISTORIES} histories`);
  return left;
}

/** The seed that breaks a promise, and its message; undefined if none does. */
async function runWith(
  plugins: Plugin[],
  { folder, longestMs = 0 }: { readonly folder: string; readonly longestMs?: number },
): Promise<string | undefined> {
  const outfile = join(folder, "check-simulation.mjs");
  await build({
    ...{ outfile, bundle: true, platform: "node", format: "esm", packages: "external", logLevel: "error" },
    entryPoints: ["scripts/check-simulation.ts"],
    plugins,
  });
  const flags = ["--from", "1", "--histories", String(MUTANT_HISTORIES), "--brief"];
  try {
    await promisify(execFile)(process.execPath, [outfile, ...flags], { timeout: Math.ceil(longestMs) });
    return undefined;
  } catch (reason) {
    const { stdout = "", killed = false } = reason as { readonly stdout?: string; readonly killed?: boolean };
    return killed ? "it never ends" : /^seed .+$/m.exec(stdout)?.[0];
  }
}

function toPlugin({ file, from, to }: Mutant): Plugin {
  const filter = new RegExp(`/src/serving/${file.replaceAll(".", "\\.")}$`);
  return {
    name: "mutant",
    setup({ onLoad }) {
      onLoad({ filter }, async ({ path }) => {
        const text = await readFile(path, "utf8");
        if (text.split(from, 3).length !== 2)
          throw new Error(`${file} has "${from}" not once; expected it there once.`);
        return { contents: text.replace(from, () => to), loader: "ts" };
      });
    },
  };
}
