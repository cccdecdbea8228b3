import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { reloadOnDemand } from "../../../src/cli/lifecycle/reload-on-demand.ts";
import { NamedModels } from "../../../src/server/named-models.ts";
import { openServer } from "../../../src/server/server.ts";
import { withDefaults } from "../../../src/server/server-options.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
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
    await program.output(/model state: .*hooks\.ts:1:/);
    await program.event("the hooks stay as they were");
    expect(await ask()).toBe("old");
    expect(await readFile(hooks, "utf8")).not.toContain("old");
  });

  test("reports that there is nothing to reload where hooks run in the main thread", async () => {
    const { program, ask } = await startAnswering("--workers", "0");
    program.kill("SIGHUP");
    await program.output(/nothing to reload/);
    expect(await ask()).toBe("old");
  });
});

test("SIGHUP loads the edited hooks of named models once, although the scan finds them changed too", async () => {
  const counting = (word: string) => `
import { appendFileSync } from "node:fs";
export const init_hook = ({ starts }) => appendFileSync(starts, "${word} ");
${answering(word)}`;
  const hooks = await writeTestFile("hooks.ts", counting("old"));
  const starts = join(tempFolder({ starts: "" }), "starts");
  const { log, find } = createEventLog("info");
  const models = { m: { driver: "null", hooks, options: { starts } } };
  const source = new NamedModels(models);
  const server = await openServer(withDefaults({ models, log }), source);
  onTestFinished(() => server.close());
  onTestFinished(reloadOnDemand(server, { watch: false, rescan: () => source.rescan(), log }));
  await writeFile(hooks, counting("new"));
  process.emit("SIGHUP");
  await find({ msg: "hooks reloaded" });
  // Reloads are one after the other.
  await server.reloadHooks();
  expect(await readFile(starts, "utf8")).toBe("old new new ");
});

test("--watch loads the hooks when their file changes", async () => {
  const { hooks, program, ask } = await startAnswering("--watch");
  await writeFile(hooks, answering("new"));
  await program.event("hooks reloaded");
  expect(await ask()).toBe("new");
});
