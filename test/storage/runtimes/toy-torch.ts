import { findBasePython } from "../../../src/storage/runtimes/python.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { makeWheel } from "./make-wheel.ts";

/**
 * Checks that this machine has a Python that can make environments. Says so where it has none; in CI, where nothing may
 * be skipped, it throws.
 */
export async function canMakeEnvironments(): Promise<boolean> {
  return findBasePython().then(
    () => true,
    (reason: Error) => {
      if (process.env.CI) throw reason;
      process.stderr.write(`The installation of PyTorch is not tested: ${reason.message}\n`);
      return false;
    },
  );
}

/** A wheel of a package that has a version and nothing else. */
function toyWheel(project: string, version: string, requires: readonly string[] = []) {
  const info = `${project}-${version}.dist-info`;
  const needs = requires.map((name) => `Requires-Dist: ${name}\n`).join("");
  return makeWheel(
    {
      [`${project}/__init__.py`]: `__version__ = "${version}"\n`,
      [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${project}\nVersion: ${version}\n${needs}`,
      [`${info}/WHEEL`]: "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\n",
    },
    { project, version, python: "py3-none" },
  );
}

/**
 * pip's environment with an index of toys: torch in some versions, the ones without a
 * build after CUDA, and what they need.
 */
export function toyIndex(...versions: readonly string[]): Record<string, string> {
  const torches = versions.map((each) => toyWheel("torch", each, each.includes("+") ? [] : ["nvidia_toy"]));
  const wheels = [...torches, toyWheel("numpy", "9.0"), toyWheel("nvidia_toy", "1.0")];
  const links = tempFolder(Object.fromEntries(wheels.map(({ name, bytes }) => [name, bytes])));
  return { PIP_FIND_LINKS: links, PIP_NO_INDEX: "1" };
}
