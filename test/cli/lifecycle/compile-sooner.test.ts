import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { builtModule } from "../../helpers/built-module.ts";

test("V8 is told to optimize sooner by flags that this version of Node has", () => {
  const script = `
    const { cachedDataVersionTag } = require("node:v8");
    const before = cachedDataVersionTag();
    import("${builtModule("src/cli/lifecycle/compile-sooner.ts")}").then(({ compileSooner }) => {
      compileSooner();
      setTimeout(() => process.stdout.write(String(cachedDataVersionTag() !== before)), 1000);
    });`;
  const { stdout, stderr } = spawnSync(process.execPath, ["-e", script], { encoding: "utf8" });
  const isMeant = /^(20|22)\./.test(process.versions.node);
  expect({ stdout, stderr }).toEqual({ stdout: String(isMeant), stderr: "" });
});
