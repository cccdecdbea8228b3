import { execFileSync } from "node:child_process";

/** The interpreter with TensorFlow and tensorflow-serving-api that tests use: that of `KSERVING_TEST_TENSORFLOW`. */
export const TENSORFLOW_PYTHON = process.env.KSERVING_TEST_TENSORFLOW ?? "python3";

/**
 * The reason why that interpreter lacks TensorFlow; undefined if it has it. Prints it, since its tests are then
 * skipped. In CI, where nothing may be skipped, it throws.
 */
export function missingTensorflow(what: string): string | undefined {
  try {
    execFileSync(
      TENSORFLOW_PYTHON,
      ["-c", "import tensorflow_serving.apis, importlib.util as u; assert u.find_spec('tensorflow')"],
      {
        stdio: "pipe",
      },
    );
    return undefined;
  } catch {
    const reason = `${what} is not tested: ${TENSORFLOW_PYTHON} lacks tensorflow or tensorflow_serving (KSERVING_TEST_TENSORFLOW names another interpreter)\n`;
    if (process.env.CI) throw new Error(reason);
    process.stderr.write(reason);
    return reason;
  }
}
