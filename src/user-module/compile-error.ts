import { relative, resolve } from "node:path";
import type { BuildFailure } from "esbuild";
import { failedPrecondition, reasonText, type ServingError } from "../errors.ts";
import { lostPackage } from "../lost-package.ts";

/** The error of a file that esbuild cannot compile, with file, line and column. */
export function compileError(path: string, reason: unknown): ServingError {
  const lost = lostPackage(reason);
  if (lost !== undefined) return lost;
  const failure = reason as Partial<BuildFailure>;
  const [first] = failure.errors ?? [];
  if (first === undefined) {
    return failedPrecondition(`${path} could not be compiled: ${reasonText(reason)}`, reason);
  }
  const { location, text } = first;
  const file = location !== null && resolve(location.file) !== resolve(path) ? relative("", location.file) : path;
  if (location === null) return failedPrecondition(`${path}: ${text}`, reason);
  const place = `${location.line}:${location.column + 1}`;
  const hint = unresolvedHint(text);
  const cause = new Error(text, { cause: reason });
  // As if the file itself had thrown it there.
  cause.stack = `Error: ${text}\n    at ${resolve(location.file)}:${place}`;
  return failedPrecondition(`${file}:${place}: ${text}${hint}`, cause);
}

/** Advice for an import that leads nowhere. */
function unresolvedHint(text: string): string {
  const name = /^Could not resolve "(.+)"$/.exec(text)?.[1];
  if (name === undefined) return "";
  if (/^[./]/.test(name)) return "; the path counts from the folder of the file that imports it.";
  return `; install the package where the file finds it (npm install ${name}), or correct its name.`;
}
