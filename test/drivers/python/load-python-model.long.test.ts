import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Model } from "../../../src/drivers/driver.ts";
import type { Logger } from "../../../src/observability/logger.ts";
import { createTensor, type Tensor } from "../../../src/tensor/tensor.ts";
import { findPython } from "../../helpers/find-python.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { predict } from "../predict.ts";
import { loadModel } from "./load-model.ts";

const python = findPython("The host of Python models", ["numpy"]);

interface Line {
  readonly level: string;
  readonly message: string;
}

/** A logger that keeps what it is told. */
function createListLogger(): { readonly log: Logger; readonly lines: Line[] } {
  const lines: Line[] = [];
  const at = (level: string) => (message: string) => void lines.push({ level, message });
  const levels = { trace: at("trace"), debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const log: Logger = { level: "trace", ...levels, child: () => log };
  return { log, lines };
}

async function load(more: Record<string, string> = {}, log?: Logger): Promise<Model> {
  const options = { python: python ?? "", model_class: "toy.models:Faulty", ...more };
  return loadModel("python", "", { options, ...(log && { log }) });
}

function ask(model: Model, fault: string, call = {}) {
  return predict(model, { fault: createTensor("bytes", [], [Buffer.from(fault)]) }, call);
}

async function pidOf(model: Model): Promise<number> {
  const { pid } = await ask(model, "fine");
  return (pid as Tensor<"int32">).data[0] as number;
}

describe.skipIf(python === undefined)("a model in Python", () => {
  it.each([
    ["throws", "internal", /^The model failed: RuntimeError: broken in \(path\)$/],
    ["refuses", "invalid_argument", /^The model refuses the inputs: ValueError: x has to be positive$/],
    ["allocates", "resource_exhausted", /^The model needs more memory than there is: .*Unable to allocate 1\.00 EiB/],
    ["returns_none", "internal", /^The model returned None; expected tensors\.$/],
    ["returns_object", "internal", /^The model returned a object; expected tensors, numbers/],
    ["returns_ragged", "internal", /^Output "y" is no regular array/],
    ["returns_surrogate", "internal", /^The model's output "y" has text that UTF-8 cannot carry: .*surrogates/],
  ])("that %s fails its own request, and the next one is answered", async (fault, code, message) => {
    const model = await load();
    await expect(ask(model, fault)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(await pidOf(model)).toBeGreaterThan(0);
  });

  it.each([
    ["kills_itself", /was killed \(SIGKILL\), by hand or for want of memory before it answered/],
    ["crashes", /crashed \(SIGSEGV\) before it answered/],
    ["exits", /ended with exit code 3 before it answered/],
  ])("that %s fails what is in flight, is started again, and says so", async (fault, message) => {
    const { log, lines } = createListLogger();
    const model = await load({}, log);
    const pid = await pidOf(model);
    const dying = expect(ask(model, fault)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(message),
    });
    await dying;
    expect(model.isReady?.()).toBe(false);
    const next = await pidOf(model);
    expect(next).not.toBe(pid);
    expect(model.isReady?.()).toBe(true);
    expect(lines).toContainEqual({ level: "error", message: expect.stringMatching(/it is started again$/) });
  });

  it("is killed in mid-answer: the request fails, the next one is answered", async () => {
    const model = await load();
    const pid = await pidOf(model);
    const answers = [ask(model, "sleeps"), ask(model, "fine")];
    process.kill(pid, "SIGKILL");
    for (const answer of answers) await expect(answer).rejects.toMatchObject({ code: "unavailable" });
    expect(await pidOf(model)).not.toBe(pid);
  });

  it("that cannot be loaded again refuses at once, and answers when it can", async () => {
    const folder = tempFolder({ needed: "" });
    const file = join(folder, "needed");
    const { log, lines } = createListLogger();
    const model = await load({ model_class: "toy.models:Mortal", "model.file": file }, log);
    rmSync(file);
    await ask(model, "kills_itself").catch(() => {});
    const message = "The model's Python process has ended and could not be started again; the server's log says why.";
    await expect(ask(model, "fine")).rejects.toMatchObject({ code: "unavailable", message });
    expect(lines).toContainEqual({
      level: "error",
      message: expect.stringMatching(/could not be loaded again: Mortal.load failed/),
    });
    writeFileSync(file, "");
    await expect.poll(() => model.isReady?.(), { timeout: 10_000 }).toBe(true);
    expect(await pidOf(model)).toBeGreaterThan(0);
  });

  it("that hangs is ended after the timeout and replaced", async () => {
    const model = await load({ timeout: "0.3" });
    const message = "The model did not answer within 0.3 s (option timeout); its process is replaced.";
    await expect(ask(model, "hangs")).rejects.toMatchObject({ code: "deadline_exceeded", message });
    expect(await pidOf(model)).toBeGreaterThan(0);
  });

  it("lets go of a request that is cancelled, and of one whose deadline has passed before its turn", async () => {
    const model = await load();
    const cancel = new AbortController();
    const cancelled = ask(model, "sleeps", { signal: cancel.signal });
    const late = ask(model, "fine", { deadlineMs: 1 });
    cancel.abort(new DOMException("gone", "AbortError"));
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
    await expect(late).rejects.toMatchObject({ code: "deadline_exceeded" });
    expect(await pidOf(model)).toBeGreaterThan(0);
  });

  it("may print: its output becomes log lines", async () => {
    const { log, lines } = createListLogger();
    const model = await load({}, log);
    await ask(model, "prints");
    await model.close();
    const printed = (level: string, message: string) => expect(lines).toContainEqual({ level, message });
    printed("info", "printed by print");
    printed("info", "written to descriptor 1");
    printed("info", "without an end");
    printed("warn", "printed to stderr");
  });

  it("may fork, and read standard input, which is at its end", async () => {
    const model = await load();
    const pid = await pidOf(model);
    expect(await ask(model, "forks")).toMatchObject({ pid: { data: Int32Array.of(pid) } });
    expect(await ask(model, "reads_input")).toMatchObject({ read: { data: [Buffer.from("")] } });
  });

  it("whose child lives on can be killed and closed", async () => {
    const model = await load();
    const { child } = await ask(model, "forks_a_server");
    const [childPid] = (child as Tensor<"int32">).data as Int32Array;
    process.kill(await pidOf(model), "SIGKILL");
    await expect.poll(() => model.isReady?.()).toBe(false);
    expect(await pidOf(model)).toBeGreaterThan(0);
    process.kill(childPid as number, "SIGKILL");
  });

  it("may have several processes, which share the work", async () => {
    const model = await load({ processes: "2" });
    expect(model.concurrency).toBe(4);
    const pids = await Promise.all([ask(model, "sleeps"), ask(model, "sleeps")]);
    expect(new Set(pids.map(({ pid }) => pid?.data[0])).size).toBe(2);
  });

  it("needs an interpreter, and says what was tried", async () => {
    await expect(load({ python: "no-such-python" })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(
        /finds no Python with numpy: no-such-python: it could not be started: .*ENOENT.* -o python=PATH\.$/,
      ),
    });
  });

  it("says where it looked for a model, and for what", async () => {
    const path = join(tempFolder(), "missing.joblib");
    const loading = loadModel("python", path, { options: { python: python ?? "", model_class: "toy.models:Echo" } });
    await expect(loading).rejects.toThrow(`No model at "${path}"; expected the file or folder that your class loads.`);
  });

  it("needs its framework in that interpreter", async () => {
    const folder = tempFolder({ "model.ubj": "{L" });
    const bare = join(folder, "venv");
    execFileSync(python as string, ["-m", "venv", "--without-pip", bare]);
    const loading = loadModel("xgboost", join(folder, "model.ubj"), {
      options: { python: join(bare, "bin", "python") },
    });
    await expect(loading).rejects.toThrow(/finds no Python with XGBoost: .*has no module numpy.*pip install xgboost/);
  });

  it.each(["nan", "inf"])(
    "has methods that hooks call, whose %s is an error, and the next call is answered",
    async (kind) => {
      const model = await load({ model_class: "toy.models:Scale" });
      const { call } = (model.hookArgs as { model: { call(method: string, args: unknown[]): Promise<unknown> } }).model;
      await expect(call("score", [kind])).rejects.toThrow(
        `The method returned ${kind}; expected a finite number, or ${kind} in an array.`,
      );
      expect(await call("score", ["2"])).toEqual({ score: 2 });
    },
  );

  it("ends with the process that started it, even if that is killed", async () => {
    const program = fileURLToPath(new URL("hold-model.ts", import.meta.url));
    const parent = spawn(process.execPath, ["--import", "tsx", program, python as string], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(createInterface(parent.stdout), "line")) as [string];
    const pid = Number(line);
    process.kill(pid, 0);
    parent.kill("SIGKILL");
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // An orphan may wait for its new parent to take note of its end.
    return !execFileSync("ps", ["-o", "stat=", "-p", String(pid)])
      .toString()
      .startsWith("Z");
  } catch {
    return false;
  }
}
