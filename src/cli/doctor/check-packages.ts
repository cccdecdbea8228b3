import { reasonText } from "../../errors.ts";
import type { Finding } from "./finding.ts";

/** Packages with a part for each system, and what lacks without them. */
const PACKAGES: Readonly<Record<string, string>> = {
  sharp: "images cannot be decoded",
  koffi: "native runtimes cannot be called",
  esbuild: "hook files cannot be compiled",
};

/** Imports the packages that npm may have left out, or installed for another system. */
export async function checkPackages(
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<readonly Finding[]> {
  return Promise.all(Object.entries(PACKAGES).map(([name, lack]) => checkPackage(name, lack, load)));
}

async function checkPackage(name: string, lack: string, load: (name: string) => Promise<unknown>): Promise<Finding> {
  const check = `npm package ${name}`;
  try {
    await load(name);
    return { check, state: "ok", text: "loads" };
  } catch (reason) {
    const text = `does not load, so ${lack}: ${reasonText(reason).split("\n", 1)[0]}`;
    return { check, state: "problem", text, fix: `npm install --include=optional ${name}, on this system` };
  }
}
