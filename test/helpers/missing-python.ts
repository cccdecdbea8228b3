import { execFileSync } from "node:child_process";

/** The interpreter that tests use; `KSERVING_TEST_PYTHON` names another one, such as a virtual environment's. */
export const PYTHON = process.env.KSERVING_TEST_PYTHON ?? "python3";

/**
 * The reason why Python lacks a module; undefined if it has it. Prints it, since its tests are then skipped. In CI,
 * where nothing may be skipped, it throws.
 */
export function missingPython(what: string, module: string): string | undefined {
  try {
    execFileSync(PYTHON, ["-c", `import ${module}`], { stdio: "pipe" });
    return undefined;
  } catch {
    const reason = `${what} is not tested: ${PYTHON} has no module ${module} (KSERVING_TEST_PYTHON names another interpreter)\n`;
    if (process.env.CI) throw new Error(reason);
    process.stderr.write(reason);
    return reason;
  }
}
