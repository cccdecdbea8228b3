import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { startKserving, writeTestFile } from "../start-kserving.ts";

const answering = (word: string) => `export const postprocess = () => ({ word: "${word}" });`;

/** A program whose hooks answer a word, and how to ask it. */
async function startAnswering(...flags: readonly string[]) {
  const hooks = await writeTestFile("hooks.ts", answering("old"));
  const common = ["--driver", "null", "--port", "0", "--http-enable", "--http-port", "0", "--hooks", hooks];
  const program = startKserving([...common, ...flags]);
  const { http } = await program.event("ready");
  const ask = async () => {
    const answer = await fetch(`${http}/v1/models/default:predict`, { method: "POST", body: '{"inputs": 1}' });
    return ((await answer.json()) as { outputs: unknown }).outputs;
  };
  return { hooks, program, ask };
}

describe("SIGHUP", () => {
  test("loads the hooks as they are now", async () => {
    const { hooks, program, ask } = await startAnswering();
    expect(await ask()).toBe("old");
    await writeFile(hooks, answering("new"));
    program.kill("SIGHUP");
    await program.event("hooks reloaded");
    expect(await ask()).toBe("new");
  });

  test("several times in a row ends with the hooks as they are now", async () => {
    const { hooks, program, ask } = await startAnswering();
    await writeFile(hooks, answering("new"));
    for (let count = 0; count < 3; count++) program.kill("SIGHUP");
    await program.event("hooks reloaded");
    expect(await ask()).toBe("new");
  });

  test("keeps the old hooks where the new ones fail, and says why", async () => {
    const { hooks, program, ask } = await startAnswering();
    await writeFile(hooks, "export const postprocess = (");
    program.kill("SIGHUP");
    await program.output(/the hooks stay as they were: .*hooks\.ts:1:/);
    expect(await ask()).toBe("old");
    expect(await readFile(hooks, "utf8")).not.toContain("old");
  });

  test("says that there is nothing to load anew where hooks run in the main thread", async () => {
    const { program, ask } = await startAnswering("--workers", "0");
    program.kill("SIGHUP");
    await program.output(/nothing to reload/);
    expect(await ask()).toBe("old");
  });
});

test("--watch loads the hooks when their file changes", async () => {
  const { hooks, program, ask } = await startAnswering("--watch");
  await writeFile(hooks, answering("new"));
  await program.event("hooks reloaded");
  expect(await ask()).toBe("new");
});
