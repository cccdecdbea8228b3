import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type InstallPytorchOptions, installPytorch } from "../../../src/storage/runtimes/install-pytorch.ts";
import { findBasePython, frameworkPythons, interpreterIn } from "../../../src/storage/runtimes/python.ts";
import { installedRuntimes } from "../../../src/storage/runtimes/runtimes-folder.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { recordingReporter } from "./toy-runtime.ts";
import { canMakeEnvironments, toyIndex } from "./toy-torch.ts";

const isPossible = await canMakeEnvironments();
/** An environment takes its seconds. */
const TIMEOUT_MS = 60_000;

afterEach(() => void vi.unstubAllEnvs());

function useIndex(...versions: readonly string[]): void {
  for (const [name, value] of Object.entries(toyIndex(...versions))) vi.stubEnv(name, value);
}

function install(root: string, options: Partial<InstallPytorchOptions> = {}) {
  const { signal } = new AbortController();
  const defaults = { force: false, acceptsCuda: false, signal, reporter: recordingReporter() };
  return installPytorch({ ...defaults, root, ...options });
}

describe.skipIf(!isPossible)("installing PyTorch", { timeout: TIMEOUT_MS }, () => {
  test("makes an environment with the CPU build, says what it costs, and drivers look there last", async () => {
    useIndex("2.3.0", "2.2.0+cpu", "2.1.0+cpu");
    const root = tempFolder();
    const reporter = recordingReporter();
    const { runtime, isNew } = await install(root, { reporter });
    expect([runtime.version, isNew]).toEqual(["2.2.0+cpu", true]);
    expect(reporter.steps).toContainEqual(
      expect.stringMatching(/^Installing torch 2\.2\.0\+cpu and 1 other packages, 0\.0 MB to download$/),
    );
    const interpreter = interpreterIn(runtime.folder);
    const program = "import sys, torch; print(sys.prefix, torch.__version__)";
    expect(execFileSync(interpreter, ["-c", program]).toString()).toBe(`${runtime.folder} 2.2.0+cpu\n`);
    expect(await readdir(dirname(interpreter))).not.toContain("pip");
    vi.stubEnv("KSERVING_RUNTIMES_DIR", root);
    expect(frameworkPythons().at(-1)).toBe(interpreter);
  });

  test("does nothing the second time, without asking the index", async () => {
    const root = tempFolder({ "pytorch/2.2.0+cpu/runtime.json": '{"source":"pip","files":{}}' });
    vi.stubEnv("PIP_NO_INDEX", "1");
    for (const version of [undefined, "2.2.0", "2.2.0+cpu"]) {
      expect((await install(root, { version })).isNew).toBe(false);
    }
  });

  test("refuses a build with CUDA without consent, reports its size, and leaves nothing", async () => {
    useIndex("2.3.0");
    const root = tempFolder();
    await expect(install(root)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(
        /has no CPU build of torch, but one with CUDA: torch 2\.3\.0 and 2 other packages, 0\.0 MB.*--yes/,
      ),
    });
    expect(await readdir(join(root, "pytorch"))).toEqual([]);
  });

  test("an abort leaves nothing", async () => {
    useIndex("2.2.0+cpu");
    const root = tempFolder();
    const controller = new AbortController();
    const reporter = { ...recordingReporter(), step: () => controller.abort() };
    await expect(install(root, { reporter, signal: controller.signal })).rejects.toThrow("aborted");
    expect(await readdir(join(root, "pytorch"))).toEqual([]);
  });

  test("remembers an environment that is there, and refuses a folder that is none, or has no torch", async () => {
    const path = join(tempFolder(), "venv");
    const root = tempFolder();
    await expect(install(root, { path })).rejects.toThrow(/is not a Python environment: it has no /);
    execFileSync((await findBasePython()).path, ["-m", "venv", "--without-pip", path]);
    await expect(install(root, { path })).rejects.toThrow(/^torch cannot be imported there: ModuleNotFoundError/);
    const packages = execFileSync(interpreterIn(path), [
      "-c",
      "import sysconfig; print(sysconfig.get_path('purelib'))",
    ]);
    for (const name of ["torch", "numpy"]) {
      writeFileSync(join(packages.toString().trim(), `${name}.py`), '__version__ = "2.4.0"');
    }
    const { runtime } = await install(root, { path });
    expect(runtime).toMatchObject({ version: "2.4.0", folder: path, source: path });
    expect(installedRuntimes("pytorch", root)).toEqual([runtime]);
  });
});
