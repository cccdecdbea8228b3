import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const HELP = `Changes the code of an area in one place after another, and says which changes no test of the area notices: npm run check -- mutants AREA.
Stryker comes from the registry, into .cache/mutants. A path below the area: only those files; three seconds for each change. What a
module computes as it is loaded may be said to survive: it is computed before the change is switched on.

  npm run check -- mutants limits 'memory/*.ts'`;

/** The newest for Node 20. */
const PACKAGES = ["@stryker-mutator/core@9.6.1", "@stryker-mutator/vitest-runner@9.6.1"];
const FOLDER = resolve(".cache/mutants");
/** The code of an area, and the folder of its tests; tables of settings are held to their documents instead. */
const AREAS: Readonly<Record<string, { readonly code: readonly string[]; readonly tests: string }>> = {
  access: { code: ["src/access/**/*.ts"], tests: "test/access" },
  limits: { code: ["src/platform/limits/**/*.ts", "!src/platform/limits/settings/**"], tests: "test/platform/limits" },
  archives: { code: ["src/storage/archives/**/*.ts"], tests: "test/storage/archives" },
};

const [area = "", part] = process.argv.slice(2);
if (!Object.hasOwn(AREAS, area)) {
  console.log(`${HELP}\n\nExpected one of ${Object.keys(AREAS).join(", ")}.`);
  process.exitCode = area === "--help" ? 0 : 2;
} else {
  install();
  process.exitCode = run(area, part);
}

/** Beside the checkout's packages, which the runner of tests is found in. */
function install(): void {
  const list = join(FOLDER, "installed.json");
  const wanted = JSON.stringify(PACKAGES);
  if (existsSync(list) && readFileSync(list, "utf8") === wanted) return;
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, "package.json"), '{ "type": "module", "private": true }\n');
  const quiet = ["--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status } = spawnSync("npm", ["install", ...quiet, ...PACKAGES], { cwd: FOLDER, stdio: "inherit" });
  if (status !== 0) throw new Error("Stryker could not be installed.");
  writeFileSync(list, wanted);
}

function run(name: string, only: string | undefined): number {
  const { code, tests } = AREAS[name] as (typeof AREAS)[string];
  const mutate =
    only === undefined ? code : code.map((one) => (one.startsWith("!") ? one : `${one.split("**")[0]}${only}`));
  const configuration = {
    ...{ testRunner: "vitest", plugins: ["@stryker-mutator/vitest-runner"], coverageAnalysis: "perTest" },
    ...{ mutate, vitest: { configFile: "vitest.config.ts", related: false } },
    // TypeScript has no interface that Stryker knows: the file is not there.
    tsconfigFile: "none.json",
    ...{ reporters: ["clear-text", "json"], jsonReporter: { fileName: join(FOLDER, `${name}.json`) } },
    ...{ tempDirName: join(FOLDER, "sandbox"), ignorePatterns: [".cache", "site", "*.tgz"], concurrency: 1 },
    ...{ clearTextReporter: { allowColor: false, logTests: false, reportTests: false }, checkers: [] },
    ...{ timeoutMS: 20_000, ignoreStatic: true },
  };
  const file = join(FOLDER, "stryker.json");
  writeFileSync(file, JSON.stringify(configuration));
  const program = join(FOLDER, "node_modules/@stryker-mutator/core/bin/stryker.js");
  const env = { ...process.env, CI: undefined, KSERVING_MUTANTS_TESTS: `${tests}/**/*.test.ts` };
  return spawnSync(process.execPath, [program, "run", file], { stdio: "inherit", env }).status ?? 1;
}
