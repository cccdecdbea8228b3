import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** The program, and the environment in which it finds its libraries. */
export interface PerfAnalyzer {
  readonly path: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Triton's perf_analyzer of the virtual environment that `KSERVING_TEST_PERF` names. Where there is none it prints why
 * its tests are skipped; in CI, where nothing may be skipped, it throws.
 */
export function findPerfAnalyzer(): PerfAnalyzer | undefined {
  const folder = process.env.KSERVING_TEST_PERF ?? "";
  const path = join(folder, "bin/perf_analyzer");
  try {
    const libraries = execFileSync(join(folder, "bin/python"), ["-c", FIND_LIBRARIES], { encoding: "utf8" }).trim();
    const env = { ...process.env, LD_LIBRARY_PATH: `${libraries}:${process.env.LD_LIBRARY_PATH ?? ""}` };
    execFileSync(path, ["--version"], { env, stdio: "pipe" });
    return { path, env };
  } catch {
    const reason = "perf_analyzer is not tested: KSERVING_TEST_PERF names no environment that has it (see .ci/run)\n";
    if (process.env.CI) throw new Error(reason);
    process.stderr.write(reason);
    return undefined;
  }
}

/** Prints where the CUDA runtime is, without which the program does not start, GPU or not. */
const FIND_LIBRARIES = 'import nvidia.cuda_runtime as runtime; print(list(runtime.__path__)[0] + "/lib")';
