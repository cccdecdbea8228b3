import { execFileSync } from "node:child_process";

const PROGRAM = `
import importlib.util, json, os, sys
print(json.dumps([os.path.dirname(importlib.util.find_spec(name).origin) for name in sys.argv[1:]]))`;

/**
 * The folders of Python packages whose models a test runs, and nothing else of them, in the interpreter that the
 * environment variable names; undefined if it has not all of them. Prints that then, since its tests are skipped; in
 * CI, where nothing may be skipped, it throws.
 */
export function findPackages(names: readonly string[], variable: string): readonly string[] | undefined {
  const python = process.env[variable] ?? "python3";
  try {
    return JSON.parse(execFileSync(python, ["-c", PROGRAM, ...names], { encoding: "utf8", stdio: "pipe" }));
  } catch {
    const reason = `Models of packages are not tested: ${python} has not all of ${names} (${variable} names another interpreter)\n`;
    if (process.env.CI) throw new Error(reason);
    process.stderr.write(reason);
    return undefined;
  }
}
