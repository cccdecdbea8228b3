import { posix } from "node:path";
import { failedPrecondition } from "../errors.ts";
import type { Deployment } from "./deployment.ts";

/** A file of hooks, and its path in the folder that another server looks into. */
export interface HookTarget {
  readonly file: string;
  readonly target: string;
}

/**
 * The hook file as `hooks.ts`, whatever its name but for those to `keep`, and its imports where it expects them. Throws
 * `failed_precondition` for an import from a folder around it.
 */
export function hookTargets({ hooks }: Deployment, keep: readonly string[] = []): readonly HookTarget[] {
  if (hooks === undefined) return [];
  const [main, ...imports] = hooks;
  const folder = posix.dirname(main);
  const beside = imports.map((file) => ({ file, target: posix.relative(folder, file) }));
  const outside = beside.find(({ target }) => target.startsWith(".."));
  if (outside !== undefined)
    throw failedPrecondition(`${main} imports ${outside.file}; expected files below its own folder alone.`);
  const name = posix.basename(main);
  return [{ file: main, target: keep.includes(name) ? name : `hooks${posix.extname(main)}` }, ...beside];
}

/**
 * Throws `failed_precondition` where a configuration file describes the models, for a
 * target that has its own description.
 */
export function assertNoConfig({ hasConfig }: Deployment, target: string): void {
  if (!hasConfig) return;
  throw failedPrecondition(
    `${target} says itself which models are served; expected flags in place of --config. Files for a configuration: kserving export kubernetes.`,
  );
}
