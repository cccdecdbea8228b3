import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { build, type Plugin } from "esbuild";
import { MUTANT_HISTORIES, MUTANTS } from "../test/simulation/serving/mutants.ts";
import { THREAD_HISTORIES, THREAD_MUTANTS, type ThreadMutant } from "../test/simulation/threads/mutants.ts";

const HISTORIES = { serving: MUTANT_HISTORIES, ...THREAD_HISTORIES } as const;
/** In the checkout, so that the packages are found from there. */
const FOLDERS = ".cache";
/** A mutant counts as one that never ends, and so as found, after so many times the time of a run without one. */
const LONGEST_RATIO = 3;
/** The same time at least, in milliseconds: other programs may slow a run down. */
const LONGEST_MS = 180_000;

/** All deliberate faults, with the simulation that has to find each. */
const ALL: readonly ThreadMutant[] = [
  ...MUTANTS.map(({ file, ...mutant }) => ({ ...mutant, file: `serving/${file}`, of: "serving" }) as const),
  ...THREAD_MUTANTS,
];

/** Runs a simulation, or all, on each deliberate fault; resolves with the number of those that it does not find. */
export async function runMutants(of?: string): Promise<number> {
  await mkdir(FOLDERS, { recursive: true });
  const folder = await mkdtemp(join(FOLDERS, "mutants-"));
  try {
    return await runIn(folder, of);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function runIn(folder: string, of: string | undefined): Promise<number> {
  const mutants = ALL.filter((mutant) => of === undefined || mutant.of === of);
  let left = 0;
  for (const name of new Set(mutants.map((mutant) => mutant.of))) {
    const began = performance.now();
    const without = await runWith([], { folder, of: name });
    if (without !== undefined) throw new Error(`${name}: ${without}, without a deliberate fault; mend that first`);
    const longestMs = Math.max(LONGEST_MS, LONGEST_RATIO * (performance.now() - began));
    for (const mutant of mutants.filter((one) => one.of === name)) {
      const found = await runWith([toPlugin(mutant)], { folder, of: name, longestMs });
      if (found === undefined) left++;
      const result = found === undefined ? "NOT FOUND" : "found";
      console.log(`${result}: ${name} that ${mutant.what} (${found ?? mutant.file})`);
    }
  }
  console.log(`${mutants.length - left} of ${mutants.length} found`);
  return left;
}

interface MutantRun {
  readonly folder: string;
  readonly of: ThreadMutant["of"];
  readonly longestMs?: number;
}

/** The seed that breaks a promise, and its message; undefined if none does. */
async function runWith(plugins: Plugin[], { folder, of, longestMs = 0 }: MutantRun): Promise<string | undefined> {
  const outfile = join(folder, "check-simulation.mjs");
  await build({
    ...{ outfile, bundle: true, platform: "node", format: "esm", packages: "external", logLevel: "error" },
    entryPoints: ["scripts/check-simulation.ts"],
    plugins,
  });
  const flags = ["--of", of, "--from", "1", "--histories", String(HISTORIES[of]), "--brief"];
  try {
    await promisify(execFile)(process.execPath, [outfile, ...flags], { timeout: Math.ceil(longestMs) });
    return undefined;
  } catch (reason) {
    const { stdout = "", killed = false } = reason as { readonly stdout?: string; readonly killed?: boolean };
    return killed ? "it never ends" : /^seed .+$/m.exec(stdout)?.[0];
  }
}

function toPlugin({ file, from, to }: ThreadMutant): Plugin {
  const filter = new RegExp(`/src/${file.replaceAll(".", "\\.")}$`);
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
