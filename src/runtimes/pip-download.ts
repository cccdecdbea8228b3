import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { reasonText, ServingError } from "../errors.ts";
import type { WantedWheel } from "./choose-wheel.ts";
import type { HostPlatform } from "./host-platform.ts";
import { pipErrorText } from "./pip-error.ts";
import { pythonCommands, runPython } from "./python.ts";

/**
 * Python for which pip is to choose the wheel, so that any older one can fetch it;
 * every tested version has wheels for it.
 */
const PYTHON = { version: "3.12", abi: "cp312" };

/** A pip that is there. */
export interface Pip {
  readonly python: string;
  readonly version: string;
}

/** The first interpreter that has pip; undefined where none has. */
export async function findPip(): Promise<Pip | undefined> {
  for (const python of pythonCommands()) {
    const version = await runPython(python, "import pip; print(pip.__version__)");
    if (version !== undefined) return { python, version };
  }
  return undefined;
}

/**
 * Lets pip fetch a wheel into a new folder, with its own settings for proxies,
 * certificates and passwords; returns the wheel's path.
 */
export async function pipDownload(
  pip: Pip,
  wanted: WantedWheel,
  { folder, signal }: { readonly folder: string; readonly signal: AbortSignal },
): Promise<string> {
  const { project, version, host } = wanted;
  const platforms = pipPlatforms(host).flatMap((tag) => ["--platform", tag]);
  const target = ["--python-version", PYTHON.version, "--implementation", "cp", "--abi", PYTHON.abi, ...platforms];
  const args = ["-m", "pip", "download", `${project}==${version}`, "--no-deps", "--only-binary", ":all:", ...target];
  const run = promisify(execFile)(pip.python, [...args, "--dest", folder, "--quiet"], { signal, windowsHide: true });
  await run.catch((cause: Error & { stderr?: string }) => {
    if (signal.aborted) throw cause;
    throw pipFailed(cause);
  });
  const [wheel] = (await readdir(folder)).filter((name) => name.endsWith(".whl"));
  if (wheel === undefined) throw pipFailed(new Error("it left no wheel"));
  return join(folder, wheel);
}

/** For a platform given by name, pip does not accept wheels for an older glibc, although they run on a newer one. */
function pipPlatforms({ os, arch, glibcMinor = 0, kernelMajor }: HostPlatform): string[] {
  const machine = arch === "x64" ? "x86_64" : "aarch64";
  if (os === "linux") {
    const minors = Array.from({ length: Math.max(0, glibcMinor - 16) }, (_, index) => glibcMinor - index);
    return [...minors.map((minor) => `manylinux_2_${minor}_${machine}`), `manylinux2014_${machine}`];
  }
  if (os === "win32") return ["win_amd64"];
  const newest = kernelMajor >= 25 ? kernelMajor + 1 : kernelMajor - 9;
  return Array.from({ length: Math.max(0, newest - 10) }, (_, index) => `macosx_${newest - index}_0_arm64`);
}

function pipFailed(cause: Error & { stderr?: string }): ServingError {
  const last = pipErrorText(cause.stderr ?? reasonText(cause));
  const message = `pip could not download the wheel: ${last}. Download it elsewhere and pass it with --wheel FILE.`;
  return new ServingError("unavailable", message, { cause });
}
