import { posix } from "node:path";
import type { NativeRuntime } from "../../../src/storage/runtimes/native-runtimes.ts";
import type { Reporter } from "../../../src/storage/runtimes/reporter.ts";

/** A runtime of two libraries, which are no libraries: nothing here loads them. */
export const toy: NativeRuntime = {
  name: "toy",
  title: "Toy",
  testedVersion: "1.2.3",
  wheelProject: () => "toy-runtime",
  withoutWheel: "Build it yourself.",
  required: [/^libtoy\.so$/, /^libtoy_core\.so$/],
  keeps: (path) => /^libtoy(_core|_plugin)?\.so$/.test(posix.basename(path)),
  subfolders: ["", "lib", "lib/python*/site-packages/toy"],
};

/** The files of its wheel; the last one is of no use. */
export const TOY_FILES = {
  "toy/libtoy.so": "the C interface",
  "toy/libs/libtoy_core.so": "core ".repeat(100_000),
  "toy/__init__.py": "print('toy')",
} as const;

/** Remembers the steps. */
export function recordingReporter(): Reporter & { readonly steps: string[] } {
  const steps: string[] = [];
  return { steps, step: (text) => void steps.push(text), progress: () => {}, done: () => {} };
}
