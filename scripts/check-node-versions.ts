/**
 * Serves one hook file under every supported Node line, in folders with and without `"type": "module"`, looks for the
 * members of Node that it does not document, and runs the tests of servers with
 * several listeners where there can be any.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runCommand } from "../test/helpers/run-command.ts";
import { askServedHooks } from "./ask-served-hooks.ts";

const VERSIONS = [20, 22, 24];
/**
 * A line whose threads can open one port several times (they can since Node 22), and the tests that go through what a
 * listener does itself: one or two of each kind.
 */
const WITH_LISTENERS_ON = 24;
const WITH_LISTENERS = [
  "protocols/kserve/parts-of-hooks",
  "proxy/raw-streams",
  "server/authentication-matrix",
  "server/listeners",
  "server/one-reading",
  "server/retire",
  "server/tls",
].map((name) => `test/${name}.test.ts`);
const bin = fileURLToPath(new URL("../bin/kserving.cjs", import.meta.url));
const vitest = fileURLToPath(new URL("../node_modules/vitest/vitest.mjs", import.meta.url));

const FILES: Readonly<Record<string, string>> = {
  "hooks.ts": `import { defineHooks } from "kserving";
import { double } from "./lib/double";
import { offset } from "./offset.ts";
import { name } from "a-package";
enum Level { High = 3 }
const late: number = await Promise.resolve(4);
export default defineHooks({
  preprocess: [(inputs) => inputs, null],
  postprocess: [null, ({ x }) => ({ x: Array.from(x!.data as Int32Array, double), facts: [offset, Level.High, late], name })],
});
`,
  "lib/double.ts": "export const double = (value: number): number => value * 2;\n",
  "offset.ts": "export const offset: number = 1;\n",
  "node_modules/a-package/package.json": '{ "name": "a-package", "main": "main.js" }\n',
  "node_modules/a-package/main.js": 'exports.name = "installed";\n',
};

const folder = mkdtempSync(join(tmpdir(), "kserving-node-"));
try {
  for (const type of ["none", "commonjs", "module"]) {
    const project = join(folder, type);
    const own = type === "none" ? {} : { "package.json": JSON.stringify({ type }) };
    for (const [name, text] of Object.entries({ ...FILES, ...own })) {
      mkdirSync(dirname(join(project, name)), { recursive: true });
      writeFileSync(join(project, name), text);
    }
  }
  for (const version of VERSIONS) {
    const node = ["npx", "-y", "-p", `node@${version}`, "node"];
    const exact = runCommand(node[0] as string, [...node.slice(1), "-p", "process.version + ' ' + process.execPath"], {
      cwd: folder,
    })
      .trim()
      .split(" ");
    for (const type of ["none", "commonjs", "module"]) {
      const answer = await askServedHooks([exact[1] as string, bin], join(folder, type), "hooks.ts");
      assert.deepEqual(answer, { outputs: { x: [2, 4, 6], facts: [1, 3, 4], name: "installed" } });
      console.log(`Node ${exact[0]}, type ${type}: ok`);
    }
    runCommand(exact[1] as string, [vitest, "run", "test/platform/net/node-members.test.ts"]);
    console.log(`Node ${exact[0]}, members of its own: ok`);
    if (version !== WITH_LISTENERS_ON) continue;
    const env = { ...process.env, KSERVING_TEST_LISTENERS: "2" };
    runCommand(exact[1] as string, [vitest, "run", ...WITH_LISTENERS], { env });
    console.log(`Node ${exact[0]}, several listeners: ok`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
