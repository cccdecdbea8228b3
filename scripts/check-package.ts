/**
 * Checks the package as its users get it: packed, linted, installed into an empty project, started there with a hook
 * file, and type-checked from there. Prints what the installation weighs.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runCommand } from "../test/helpers/run-command.ts";
import { askServedHooks } from "./ask-served-hooks.ts";
import { checkWeight } from "./package-weight.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = (name: string) => join(root, "node_modules/.bin", name);
const project = mkdtempSync(join(tmpdir(), "kserving-package-"));

/** Largest package that is no burden to install. */
const MAX_PACKED_BYTES = 1_850_000;

const hooks = `import { defineHooks } from "kserving";
export default defineHooks({ preprocess: [(inputs) => inputs, null], postprocess: [null, (outputs) => ({ ...outputs, seen: true })] });
`;

try {
  // CI's installation has just built it.
  if (process.env.CI === undefined) runCommand("npm", ["run", "build"], { cwd: root });
  const [packed] = JSON.parse(
    runCommand("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", project], { cwd: root }),
  );
  const tarball = join(project, packed.filename);
  console.log(`packed ${packed.filename}: ${packed.files.length} files, ${Math.round(packed.size / 1024)} KB`);
  assert.ok(packed.size <= MAX_PACKED_BYTES, `the package has ${packed.size} bytes, more than ${MAX_PACKED_BYTES}`);
  console.log(runCommand(bin("publint"), [tarball, "--strict"], { cwd: root }).trim());
  runCommand(bin("attw"), [tarball, "--profile", "esm-only"], { cwd: root });

  writeFileSync(
    join(project, "package.json"),
    '{ "name": "empty", "version": "1.0.0", "private": true, "type": "module" }\n',
  );
  writeFileSync(join(project, "hooks.ts"), hooks);
  runCommand("npm", ["install", "--no-audit", "--no-fund", tarball], { cwd: project });
  checkWeight("kserving", project, packed.size);

  const bill = JSON.parse(runCommand("npm", ["sbom", "--sbom-format", "cyclonedx"], { cwd: project }));
  const nameless = bill.components.filter(({ purl }: { purl?: string }) => purl === undefined);
  assert.deepEqual(nameless, []);
  assert.ok(bill.components.some(({ name }: { name: string }) => name === "kserving"));
  console.log(`npm sbom lists ${bill.components.length} packages of an installation`);

  const strict = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--module", "nodenext", "--target", "es2022"];
  runCommand(bin("tsc"), [...strict, "--typeRoots", join(root, "node_modules/@types"), "--types", "node", "hooks.ts"], {
    cwd: project,
  });
  console.log("types resolve in an empty project");

  const version = runCommand("npx", ["kserving", "--version"], { cwd: project }).trim();
  console.log(`npx kserving --version says ${version}`);
  // What npx runs, without npm between: npm passes no signals on to a shell's child.
  const answer = await askServedHooks([join(project, "node_modules/.bin/kserving")], project, "hooks.ts");
  assert.deepEqual(answer, { outputs: { x: [1, 2, 3], seen: true } });
  console.log("the installed command serves a hook file in an empty project");
} finally {
  rmSync(project, { recursive: true, force: true });
}
