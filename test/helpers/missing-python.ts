import { execFileSync } from "node:child_process";

/** The interpreter that tests use; `KSERVING_TEST_PYTHON` names another one, such as a virtual environment's. */
export const PYTHON = process.env.KSERVING_TEST_PYTHON ?? "python3";

/** An interpreter, and the variable that names another one. */
const USUAL = { python: PYTHON, variable: "KSERVING_TEST_PYTHON" };

/** Looks for modules without importing them, which takes seconds for some. */
const LOOK = "import sys; from importlib.util import find_spec; sys.exit(not all(map(find_spec, sys.argv[1:])))";

/**
 * The reason why Python lacks a module, or one of several with commas; undefined if it has them. Prints it, since its
 * tests are then skipped. In CI, where nothing may be skipped, it throws.
 */
export function missingPython(what: string, module: string, { python, variable } = USUAL): string | undefined {
  try {
    execFileSync(python, ["-c", LOOK, ...module.split(", ")], { stdio: "pipe" });
    return undefined;
  } catch {
    const reason = `${what} is not tested: ${python} has no module ${module} (${variable} names another interpreter)\n`;
    if (process.env.CI) throw new Error(reason);
    process.stderr.write(reason);
    return reason;
  }
}
