/**
 * Keeps package-lock.json fit for every machine: `npm run lock` mends what can be
 * mended, `npm run lock -- --check` only complains.
 *
 * - No `hasInstallScript`: npm 10 takes its word for whether a package has a script to run. None of ours
 *   needs one (npm 11 reads `allowScripts`), and some download what closed networks do not have.
 * - No `resolved`: an address names one registry.
 * - Every optional dependency is there: a package for another system that is missing here is silently missing there.
 */
import { readFileSync, writeFileSync } from "node:fs";

interface LockedPackage {
  /** A package of this repository, in the folder that `resolved` names. */
  readonly link?: true;
  hasInstallScript?: true;
  resolved?: string;
  optionalDependencies?: Record<string, string>;
}

const FILE = new URL("../package-lock.json", import.meta.url);
const lock: { packages: Record<string, LockedPackage> } = JSON.parse(readFileSync(FILE, "utf8"));
const complaints: string[] = [];

for (const [path, entry] of Object.entries(lock.packages)) {
  for (const field of ["hasInstallScript", "resolved"] as const) {
    if (entry.link) continue;
    if (entry[field] !== undefined) complaints.push(`${path} has ${field}`);
    delete entry[field];
  }
}

const missing = Object.entries(lock.packages).flatMap(([path, { optionalDependencies = {} }]) =>
  Object.keys(optionalDependencies)
    .filter((name) => !isLocked(name, path))
    .map((name) => `${path} may need ${name}, which is not locked; choose a version whose packages all exist`),
);

if (process.argv.includes("--check")) {
  report([...complaints, ...missing]);
} else {
  writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`);
  report(missing);
}

/** A dependency lies in its user's own node_modules or in one further up. */
function isLocked(name: string, user: string): boolean {
  for (let folder = user; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("node_modules/") - 1))) {
    if (`${folder === "" ? "" : `${folder}/`}node_modules/${name}` in lock.packages) return true;
    if (folder === "") return false;
  }
}

function report(problems: readonly string[]): void {
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
