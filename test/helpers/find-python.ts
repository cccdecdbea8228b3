import { execFileSync } from "node:child_process";
import { pythonCommands } from "../../src/storage/runtimes/python.ts";

/**
 * The first interpreter that has the modules, beginning with the one that KSERVING_TEST_FRAMEWORKS names; undefined if
 * none has. Prints that then, since its tests are skipped. In CI, where nothing may be skipped, it throws.
 */
export function findPython(what: string, modules: readonly string[]): string | undefined {
  // Importing some of them takes ten seconds.
  const has = modules.map((name) => `importlib.util.find_spec("${name}")`).join(" and ");
  const program = `import importlib.util, sys; print(sys.executable) if ${has} else sys.exit(1)`;
  for (const command of [process.env.KSERVING_TEST_FRAMEWORKS ?? "python3", ...pythonCommands()]) {
    try {
      return execFileSync(command, ["-c", program], { stdio: ["ignore", "pipe", "ignore"] })
        .toString()
        .trim();
    } catch {
      // The next one may have them.
    }
  }
  const reason = `${what} is not tested: no Python here has ${modules.join(" and ")}\n`;
  if (process.env.CI) throw new Error(reason);
  process.stderr.write(reason);
  return undefined;
}
