import { mkdirSync, readdirSync, readFileSync, renameSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  createScratchFile,
  removeAbandonedFolders,
  removeScratchFiles,
} from "../../../src/platform/user-module/scratch-file.ts";
import { createGate, WAITING_HOOKS } from "../../cli/gate.ts";
import { runKserving, startKserving, writeTestFile } from "../../cli/start-kserving.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const NULL = ["--driver", "null", "--host", "127.0.0.1", "--port", "0"];

function ownTempFolder(): string {
  const folder = tempFolder();
  vi.stubEnv("TMPDIR", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  return folder;
}

describe("a scratch file", () => {
  test("is there until it is removed", () => {
    const folder = ownTempFolder();
    const { path, remove } = createScratchFile("module.mjs", Buffer.from("text"));
    expect(readFileSync(path, "utf8")).toBe("text");
    remove();
    expect(readdirSync(folder)).toEqual([]);
  });

  test("goes with all others, and its own removal then does nothing", () => {
    const folder = ownTempFolder();
    const files = [1, 2].map(() => createScratchFile("module.mjs", Buffer.from("text")));
    expect(readdirSync(folder)).toHaveLength(2);
    removeScratchFiles();
    files[0]?.remove();
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("what a killed process has left", () => {
  const AN_HOUR_AGO = new Date(Date.now() - 3_600_000);

  /** The folder of a program that runs; its age is an hour. */
  async function startedIn(folder: string) {
    const hooks = await writeTestFile("hooks.ts", "export const preprocess = (inputs) => inputs;");
    const program = startKserving([...NULL, "--hooks", hooks], { TMPDIR: folder });
    await program.event("ready");
    const [name = ""] = readdirSync(folder);
    utimesSync(join(folder, name), AN_HOUR_AGO, AN_HOUR_AGO);
    return { program, name };
  }

  test("is removed by a later one, which leaves alone what another one has", async () => {
    const folder = tempFolder();
    const killed = await startedIn(folder);
    killed.program.kill("SIGKILL");
    await killed.program.ended();
    expect(readdirSync(folder)).toEqual([killed.name]);
    mkdirSync(join(folder, "kserving-1-abcdef"));
    utimesSync(join(folder, "kserving-1-abcdef"), AN_HOUR_AGO, AN_HOUR_AGO);
    await removeAbandonedFolders(folder);
    expect(readdirSync(folder)).toEqual(["kserving-1-abcdef"]);
  });

  test("of a process that runs nothing is removed, whatever its number says", async () => {
    const folder = tempFolder();
    const { program, name } = await startedIn(folder);
    const other = join(folder, "kserving-999999999-abcdef");
    renameSync(join(folder, name), other);
    utimesSync(other, AN_HOUR_AGO, AN_HOUR_AGO);
    await removeAbandonedFolders(folder);
    expect(readdirSync(folder)).toEqual(["kserving-999999999-abcdef"]);
    program.kill("SIGKILL");
    await program.ended();
  });
});

describe("no temporary file is left", () => {
  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("after %s while the hooks start", async (signal) => {
    const folder = tempFolder();
    const hooks = await writeTestFile(
      "hooks.ts",
      'export const init_hook = () => { console.log("stuck"); return new Promise(() => {}); };',
    );
    const program = startKserving([...NULL, "--hooks", hooks], { TMPDIR: folder });
    await program.output(/stuck/);
    expect(readdirSync(folder)).toHaveLength(1);
    program.kill(signal);
    expect(await program.ended()).toMatchObject({ signal });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("after a second Ctrl-C", async () => {
    const folder = tempFolder();
    const gate = await createGate();
    const hooks = await writeTestFile("hooks.ts", WAITING_HOOKS);
    const flags = ["--hooks", hooks, "-o", `gate=${gate.url}`, "--http-enable", "--http-port", "0"];
    const program = startKserving([...NULL, ...flags], { TMPDIR: folder });
    const { http } = await program.event("ready");
    fetch(`${http}/serving-proxy`, { method: "POST", body: "{}" }).catch(() => {});
    await gate.reached;
    program.kill("SIGINT");
    await program.event("draining");
    program.kill("SIGINT");
    expect(await program.ended()).toMatchObject({ signal: "SIGKILL" });
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    ["in init_hook", "export const init_hook = () => { throw new Error('no labels'); };"],
    ["by what the hooks declare", "export default { preprocess: (inputs) => inputs, inputs: 7 };"],
    ["while the hooks are imported", "throw new Error('no labels');"],
  ])("after a start that fails %s", async (_, source) => {
    const folder = tempFolder();
    const hooks = await writeTestFile("hooks.ts", source);
    expect(await runKserving([...NULL, "--hooks", hooks], { TMPDIR: folder })).toMatchObject({ code: 1 });
    expect(readdirSync(folder)).toEqual([]);
  });
});

test("where no temporary file can be made, the folder and the variable to set are named", async () => {
  const hooks = await writeTestFile("hooks.ts", "export const preprocess = (inputs) => inputs;");
  const missing = join(tempFolder(), "missing");
  const { code, stderr } = await runKserving([...NULL, "--hooks", hooks], { TMPDIR: missing });
  expect(stderr).toMatch(
    /^kserving: \S+\/missing, the folder for temporary files, cannot be written: ENOENT[^\n]* Set the environment variable TMPDIR to a folder that can be\.\n$/,
  );
  expect(code).toBe(1);
});
