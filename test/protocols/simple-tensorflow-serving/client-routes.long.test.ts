import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { PYTHON } from "../../helpers/missing-python.ts";
import { startServer } from "../../helpers/start-server.ts";
import { AWKWARD_ANSWER, AWKWARD_NAMES, clientUrl, runClient, startAwkwardServer } from "./awkward-names.ts";

const TSX = fileURLToPath(import.meta.resolve("tsx/cli"));

const TOOLS = {
  bash: ["client.sh", ["bash", "client.sh"]],
  python: ["client.py", [PYTHON, "client.py"]],
  golang: ["client.go", ["go", "run", "client.go"]],
  javascript: ["client.js", [process.execPath, "client.js"]],
  typescript: ["client.ts", [process.execPath, TSX, "client.ts"]],
  java: ["Client.java", ["java", "Client.java"]],
} as const;

/** Prints why a language is skipped; in CI, where nothing may be skipped, it throws. */
function lacks([, [program]]: (typeof TOOLS)[keyof typeof TOOLS]): boolean {
  if (spawnSync(program, ["--help"]).error === undefined) return false;
  const reason = `generated programs are not run by ${program}, which is not installed\n`;
  if (process.env.CI !== undefined) throw new Error(reason);
  process.stderr.write(reason);
  return true;
}

describe.each(Object.entries(TOOLS))("a generated program in %s", (language, tool) => {
  const [file, command] = tool;

  test.skipIf(lacks(tool))("runs for models of awkward names", { timeout: 300_000 }, async () => {
    const { httpUrl } = await startAwkwardServer();
    // The inputs have all names; a compiler takes seconds for each program.
    for (const name of AWKWARD_NAMES.filter((_, index) => index % 3 === 0)) {
      expect([name, await runClient(clientUrl(httpUrl, name, language), file, command)]).toEqual([
        name,
        AWKWARD_ANSWER,
      ]);
    }
  });

  test.skipIf(lacks(tool))("runs for an example of a megabyte", { timeout: 300_000 }, async () => {
    const inputs = [{ name: "x", dtype: "float32", shape: [-1, 300, 300, 3] }] as const;
    const hooks = { inputs, preprocess: () => ({ y: 1 }) };
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks });
    expect(await runClient(clientUrl(httpUrl, "default", language), file, command)).toBe('{"y":1}');
  });
});
