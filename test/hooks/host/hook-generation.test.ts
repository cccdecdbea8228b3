import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Servable } from "../../../src/serving/servable.ts";
import { ask, askWhile, countThreads, fileExists, startReloadable } from "../../helpers/start-hook-threads.ts";

/**
 * Hooks that name themselves in each answer, 10 ms later, and end their thread for x = 13; `init` is run by init_hook.
 */
const hooks = (text: string, init = "") => `
  import { existsSync, writeFileSync } from "node:fs";
  import { join } from "node:path";
  const path = (name: string) => join(__dirname, name);
  const mark = (name: string) => writeFileSync(path(name), "", { flag: "wx" });
  const wait = (name: string) => new Promise<void>((resolve) => {
    const look = () => (existsSync(path(name)) ? resolve() : setTimeout(look, 5));
    look();
  });
  export const outputs = [{ name: "text", dtype: "bytes", shape: [], labels: ["${text}"] }];
  export const postprocess = ({ text }: any) => ({ text });
  export const init_hook = async () => { ${init} };
  export const preprocess = async (inputs: any) => {
    if (Number(inputs.x.data[0]) === 13) process.exit(1);
    await new Promise((resolve) => setTimeout(resolve, 10));
    return { ...inputs, text: "${text}" };
  };`;

const start = async (source: string, workers = 1) => {
  const threads = countThreads();
  const { servable, file } = await startReloadable(source, { workers });
  const path = (name: string) => join(dirname(file), name);
  return { servable, threads, path, write: (text: string) => writeFileSync(file, text) };
};

const kill = (servable: Servable) => expect(ask(servable, { x: 13 })).rejects.toMatchObject({ code: "unavailable" });

const textOf = async (servable: Servable) => (await ask(servable, { x: 1 })).text;

/** The names of the hooks that answer during `rounds` rounds. */
const namesDuring = async (servable: Servable, rounds: number) => {
  let left = rounds;
  return new Set(await askWhile(servable, () => left-- > 0));
};

const declared = (servable: Servable) =>
  servable.description.signatures.serving_default?.outputs?.flatMap(({ labels = [] }) => labels);

describe("a reload", () => {
  test("replaces the hooks without failing a request", async () => {
    const { servable, write, threads } = await start(hooks("old"));
    let reloaded = false;
    const asking = askWhile(servable, () => !reloaded);
    write(hooks("new"));
    await servable.reload();
    reloaded = true;
    expect(new Set(await asking)).toEqual(new Set(["old", "new"]));
    expect([await textOf(servable), threads(), declared(servable)]).toEqual(["new", 1, ["new"]]);
  });

  test("lets close_hook of the old hooks run", async () => {
    const { servable, write, path } = await start(`${hooks("old")} export const close_hook = () => mark("closed");`);
    write(hooks("new"));
    await servable.reload();
    await fileExists(path("closed"));
  });

  test.each([
    ["does not compile", "export const preprocess = ;", /hooks\.ts:1:27: Unexpected ";"/],
    ["does not start", hooks("new", `throw new Error("no");`), "init_hook failed: no"],
    ["ends its thread while it starts", hooks("new", "process.exit(3);"), /while its init_hook ran \(exit code 3\)/],
  ])("of a file that %s keeps the old hooks", async (_, source, message) => {
    const { servable, write, threads } = await start(hooks("old"));
    write(source);
    await expect(servable.reload()).rejects.toThrow(message);
    expect([await textOf(servable), threads(), declared(servable)]).toEqual(["old", 1, ["old"]]);
  });

  test("that fails in one of two threads keeps hooks and signatures", async () => {
    const { servable, write, threads, path } = await start(hooks("old"), 2);
    // The first thread to start writes the file, the second fails once the first has started.
    write(
      hooks(
        "new",
        `try { mark("one"); setTimeout(() => mark("two"), 100); } catch { await wait("two"); throw new Error("no"); }`,
      ),
    );
    const reload = expect(servable.reload()).rejects.toThrow("init_hook failed: no");
    await fileExists(path("two"));
    await reload;
    expect([await namesDuring(servable, 10), threads(), declared(servable)]).toEqual([new Set(["old"]), 2, ["old"]]);
  });

  test("called twice at once leaves one set of threads", async () => {
    const { servable, write, threads } = await start(hooks("old"), 2);
    write(hooks("new"));
    await Promise.all([servable.reload(), servable.reload()]);
    expect([await namesDuring(servable, 10), threads()]).toEqual([new Set(["new"]), 2]);
  });

  test("takes a request that waits for a thread to the new hooks", async () => {
    const { servable, write, path } = await start(
      hooks("old", `try { mark("first"); } catch { mark("again"); await wait("never"); }`),
    );
    await kill(servable);
    const waiting = textOf(servable);
    await fileExists(path("again"));
    write(hooks("new"));
    await servable.reload();
    expect(await waiting).toBe("new");
  });
});

describe("a hook thread that dies", () => {
  test("and starts again slowly while the hooks are reloaded does not come back", async () => {
    const { servable, write, threads, path } = await start(
      hooks("old", `try { mark("first"); } catch { mark("again"); await wait("go"); }`),
    );
    await kill(servable);
    await fileExists(path("again"));
    write(hooks("new"));
    await servable.reload();
    writeFileSync(path("go"), "");
    expect([await namesDuring(servable, 50), threads()]).toEqual([new Set(["new"]), 1]);
  });

  test("right before a reload, and is replaced during it, ends with its generation", async () => {
    const { servable, write, threads } = await start(
      hooks("old", `try { mark("first"); } catch { await wait("starting"); mark("again"); }`),
    );
    write(
      hooks("new", `mark("starting"); await wait("again"); await new Promise((resolve) => setTimeout(resolve, 50));`),
    );
    await kill(servable);
    await servable.reload();
    expect([await namesDuring(servable, 20), threads()]).toEqual([new Set(["new"]), 1]);
  });

  test("during a reload that then fails is replaced by the hooks that it had", async () => {
    const { servable, write, threads, path } = await start(hooks("old"));
    write(hooks("new", `mark("starting"); await wait("fail"); throw new Error("no");`));
    const reload = expect(servable.reload()).rejects.toThrow("init_hook failed: no");
    await fileExists(path("starting"));
    await kill(servable);
    expect(await textOf(servable)).toBe("old");
    writeFileSync(path("fail"), "");
    await reload;
    await kill(servable);
    expect([await textOf(servable), threads()]).toEqual(["old", 1]);
  });
});

describe("a close", () => {
  test("during a reload ends the threads of both files", async () => {
    const { servable, write, threads, path } = await start(hooks("old"));
    write(hooks("new", `mark("starting"); await wait("never");`));
    const reload = expect(servable.reload()).rejects.toMatchObject({ code: "unavailable" });
    await fileExists(path("starting"));
    expect(threads()).toBe(2);
    await servable.close();
    await reload;
    expect(threads()).toBe(0);
  });

  test("right after a reload was called leaves no thread", async () => {
    const { servable, threads } = await start(hooks("old"));
    const reload = expect(servable.reload()).rejects.toMatchObject({ code: "unavailable" });
    await servable.close();
    await reload;
    expect(threads()).toBe(0);
  });

  test("while a thread waits to be replaced leaves no thread", async () => {
    const { servable, threads, path } = await start(
      hooks("old", `try { mark("first"); } catch { mark("again"); await wait("never"); }`),
    );
    await kill(servable);
    await fileExists(path("again"));
    const started = performance.now();
    await servable.close();
    expect(threads()).toBe(0);
    // Not the grace that a thread with a close_hook has.
    expect(performance.now() - started).toBeLessThan(5000);
  });

  test("makes a later reload, and a later request, unavailable", async () => {
    const { servable, threads } = await start(hooks("old"));
    await servable.close();
    await expect(servable.reload()).rejects.toMatchObject({ code: "unavailable", message: "The hooks are closed." });
    await expect(textOf(servable)).rejects.toMatchObject({ code: "unavailable" });
    expect(threads()).toBe(0);
  });

  test("fails a request that waits for a thread", async () => {
    const { servable, path } = await start(
      hooks("old", `try { mark("first"); } catch { mark("again"); await wait("never"); }`),
    );
    await kill(servable);
    const waiting = expect(textOf(servable)).rejects.toMatchObject({ code: "unavailable" });
    await fileExists(path("again"));
    await servable.close();
    await waiting;
  });
});
