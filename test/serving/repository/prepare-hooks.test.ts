import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ask, countThreads, fileExists, startHookThreads } from "../../helpers/start-hook-threads.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** Lists the files in the temporary folder from now on; its own, so that files of others are not counted. */
function ownTemp(): () => string[] {
  const before = tmpdir();
  process.env.TMPDIR = tempFolder();
  onTestFinished(() => {
    process.env.TMPDIR = before;
  });
  // The hook file of the test lies there too.
  return () => readdirSync(tmpdir()).filter((name) => !name.startsWith("kserving-test-"));
}

describe.each([
  ["in a thread", 1],
  ["in the main thread", 0],
])("a hook file that cannot work is refused %s, and leaves nothing in the temporary folder:", (_, workers) => {
  test.each([
    ["inputs of another kind", "export const inputs = 5;", "inputs is a number; expected an array"],
    ["a misspelt dtype", `export const outputs = [{ name: "x", dtype: "flaot32" }];`, 'outputs[0].dtype is "flaot32"'],
    ["options without types", "export const options = { a: 1 };", "options.a is a number; expected an object"],
    [
      "options with a function",
      `export const options = { a: { type: "string", default: () => 1 } };`,
      "options.a.default",
    ],
    ["a slot that is no function", "export const preprocess = [3];", "preprocess[0] is a number; expected a function"],
    ["a module that throws", `throw new Error("early");`, "threw while it was loaded: early"],
    [
      "an init_hook that throws",
      `export const init_hook = () => { throw new Error("late"); };`,
      "init_hook failed: late",
    ],
    [
      "an init_hook that never returns",
      "export const init_hook = () => new Promise(() => {});",
      "has not returned within 200 ms (10 times --hook-timeout)",
    ],
    [
      "a module that never finishes to load",
      "await new Promise(() => {}); export const preprocess = null;",
      "has not been loaded within 200 ms (10 times --hook-timeout)",
    ],
  ])("%s", async (_, source, message) => {
    const left = ownTemp();
    await expect(startHookThreads(source, { workers, hookTimeoutMs: 20 })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining(message),
    });
    expect(left()).toEqual([]);
  });

  test("none that works, once it is closed", async () => {
    const left = ownTemp();
    const source = `
      export const inputs = [{ name: "x", dtype: "int32", shape: [] }];
      export const options = { a: { type: "string" } };
      export const preprocess = (values: any) => ({ y: values.x.data[0] + 1 });`;
    const servable = await startHookThreads(source, { workers });
    expect(await ask(servable, { x: 1 })).toEqual({ y: 2 });
    await servable.close();
    expect(left()).toEqual([]);
  });
});

test.each([
  ["an init_hook", "export const init_hook = () => { tell(); return new Promise(() => {}); };"],
  ["a busy init_hook", "export const init_hook = () => { tell(); for (;;); };"],
  ["a module", "tell(); await new Promise(() => {}); export const preprocess = null;"],
])("a thread that waits for %s which never ends does so with a load that is given up", async (_, source) => {
  const begun = join(tempFolder(), "begun");
  const telling = `import { writeFileSync } from "node:fs"; const tell = () => writeFileSync(${JSON.stringify(begun)}, "");`;
  const [threads, givenUp] = [countThreads(), new AbortController()];
  const starting = startHookThreads(`${telling}\n${source}`, { signal: givenUp.signal });
  const refused = expect(starting).rejects.toMatchObject({ code: "unavailable" });
  await fileExists(begun);
  givenUp.abort();
  await refused;
  await expect.poll(threads, { timeout: 10_000 }).toBe(0);
});
