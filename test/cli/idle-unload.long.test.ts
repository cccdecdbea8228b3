import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../helpers/temp-folder.ts";
import { startKserving } from "./start-kserving.ts";

const MODEL = "test/fixtures/models/half-plus-two.onnx";
const PORTS = ["--host", "127.0.0.1", "--port", "0", "--http-enable", "--http-port", "0"];
const POLL = { timeout: 20_000, interval: 20 };

/** The real program with these flags, and how to ask it. */
async function start(...flags: readonly string[]) {
  const program = startKserving([...PORTS, ...flags]);
  const { http } = await program.event("ready");
  const ask = (model: string) =>
    fetch(`${http}/v1/models/${model}:predict`, { method: "POST", body: '{"inputs":{"x":[2]}}' });
  const answerOf = async (model: string) => ((await (await ask(model)).json()) as { outputs?: unknown }).outputs;
  return { program, ask, answerOf };
}

test("--idle-unload ends the threads of a model, but for one that its file says should stay", async () => {
  const [a, b] = [tempFolder(), tempFolder()];
  for (const folder of [a, b]) copyFileSync(MODEL, join(folder, "model.onnx"));
  const config = join(tempFolder(), "serving.yaml");
  const models = [
    { name: "a", path: a, "idle-unload": 0.1 },
    { name: "b", path: b },
  ];
  writeFileSync(config, JSON.stringify({ models, "idle-unload": 3600 }));
  const { program, answerOf } = await start("--config", config);
  const threads = () => readdirSync(`/proc/${program.pid}/task`).length;
  await program.output(/"model":"a"[^\n]*"why":"no request for 0.1 s"[^\n]*"msg":"model unloaded"/);
  const idle = threads();
  expect(await answerOf("b")).toEqual([3]);
  expect(await answerOf("a")).toEqual([3]);
  await program.output(/"model":"a"[^\n]*"msg":"model loaded on demand"/);
  await expect.poll(threads, POLL).toBeLessThanOrEqual(idle);
});

test("a version whose files were broken is kept, however long it is idle", async () => {
  const path = tempFolder({ "1/hooks.ts": "export const process = () => ({ said: 'good' });" });
  const config = join(tempFolder(), "serving.yaml");
  writeFileSync(
    config,
    JSON.stringify({
      models: [
        { name: "m", path, driver: "null" },
        { name: "n", driver: "null" },
      ],
    }),
  );
  const { program, answerOf, ask } = await start("--config", config, "--idle-unload", "3", "--poll-interval", "0.1");
  expect(await answerOf("m")).toBe("good");
  writeFileSync(join(path, "1/hooks.ts"), "export const process = (");
  await program.output(/model state: [^\n]*hooks\.ts:1:/);
  // Another one becomes idle later, and is unloaded.
  await ask("n");
  await program.output(/"model":"n"[^\n]*"msg":"model unloaded"/);
  expect(await answerOf("m")).toBe("good");
  writeFileSync(join(path, "1/hooks.ts"), "export const process = () => ({ said: 'mended' });");
  await expect.poll(() => answerOf("m"), POLL).toBe("mended");
});

test("SIGTERM while a model is loaded on demand lets the request that waits be answered", async () => {
  const folder = tempFolder();
  const [started, go] = [join(folder, "started"), join(folder, "go")];
  const hooks = `
    import { existsSync, mkdirSync } from "node:fs";
    export async function init_hook() {
      if (!existsSync("${started}")) return mkdirSync("${started}");
      mkdirSync("${started}/again", { recursive: true });
      while (!existsSync("${go}")) await new Promise((resolve) => setTimeout(resolve, 10));
    }`;
  const path = join(tempFolder({ "hooks.ts": hooks }), "hooks.ts");
  const { program, ask } = await start("--driver", "null", "--hooks", path, "--idle-unload", "0.1");
  await program.event("model unloaded");
  const answer = ask("default");
  await expect.poll(() => existsSync(join(started, "again")), POLL).toBe(true);
  program.kill("SIGTERM");
  await program.event("draining");
  mkdirSync(go);
  expect((await answer).status).toBe(200);
  expect(await program.ended()).toMatchObject({ code: 0, stderr: "" });
});
