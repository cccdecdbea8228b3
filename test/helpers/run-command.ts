import { spawnSync } from "node:child_process";

/** Runs a program to its end and returns its standard output; throws with all output when it fails. */
export function runCommand(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    ...options,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return stdout;
  throw new Error(
    `${program} ${args.join(" ")} failed (${error?.message ?? `exit code ${status}`}):\n${stdout}${stderr}`,
  );
}
