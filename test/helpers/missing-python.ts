import { execFileSync } from "node:child_process";

/** The interpreter that tests use; `KSERVING_TEST_PYTHON` names another one, such as a virtual environment's. */
export const PYTHON = process.env.KSERVING_TEST_PYTHON ?? "python3";

/** An interpreter, and the variable that names another one. */
const USUAL = { python: PYTHON, variable: "KSERVING_TEST_PYTHON" };

/**
 * The reason why Python lacks a module; undefined if it has it. Prints it, since its tests are then skipped. In CI,
 * where nothing may be skipped, it throws.
 */
export function missingPython(what: string, module: string, { python, variable } = USUAL): string | undefined {
  try {
    execFileSync(python, ["-c", `import ${module}`], { stdio: "pipe" });
    return undefined;
  } catch {
    const reason = `${what} is not tested: ${python} has no module ${module} (${variable} names another interpreter)\n`;
    if (process.env.CI) throw new Error(reason);
    process.stderr.write(reason);
    return reason;
  }
}
