import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { tempFolder } from "../helpers/temp-folder.ts";

const program = (name: string) => fileURLToPath(new URL(`../../bin/${name}.cjs`, import.meta.url));

/** Runs a program in a Node that says that it is of another version. */
function runAs(version: string, name: string) {
  const pretend = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } });`;
  const folder = tempFolder({ "pretend.cjs": pretend });
  return promisify(execFile)(process.execPath, ["--require", `${folder}/pretend.cjs`, program(name), "--version"]);
}

const { engines } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
const oldest = engines.node.replace(">=", "");

test.each(["18.20.8", "20.18.3", "10.24.1"])(
  "Node %s is told that it is too old, by every program",
  async (version) => {
    const stderr = expect.stringMatching(
      `^kserving: This is Node ${version}; kserving needs ${oldest} or newer\\. Install a newer Node, [^\\n]+\\n$`,
    );
    for (const name of ["kserving", "ovms"])
      await expect(runAs(version, name)).rejects.toMatchObject({ code: 1, stderr });
  },
);

test("the oldest Node that is supported, and newer ones, start the program", async () => {
  for (const version of [`${oldest}.0`, "22.0.0"])
    expect((await runAs(version, "kserving")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});
