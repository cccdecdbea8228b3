import { bindFunctions, processLibrary } from "./bind-functions.ts";

const { getenv } = bindFunctions(processLibrary(), { getenv: ["str", "str"] }, "The C library");

/**
 * Sets a variable for native code in all threads of the process, unless it has a
 * value: a thread's `process.env` is a copy.
 */
export function setEnvironmentDefault(name: string, value: string): void {
  if (getenv(name) === null) setEnvironment(name, value);
}

/** Settles something that the process has once: gives the value that the first caller of any thread came with. */
export function claimForProcess(name: string, value: string): string {
  // A child process inherits the variable, but not its effect.
  const owner = `${process.pid}: `;
  const claimed = getenv(name);
  if (claimed?.startsWith(owner)) return claimed.slice(owner.length);
  setEnvironment(name, `${owner}${value}`);
  return value;
}

function setEnvironment(name: string, value: string): void {
  const library = processLibrary();
  if (process.platform === "win32") {
    bindFunctions(library, { _putenv_s: ["int", "str", "str"] }, "The C library")._putenv_s(name, value);
  } else {
    bindFunctions(library, { setenv: ["int", "str", "str", "int"] }, "The C library").setenv(name, value, 1);
  }
}
