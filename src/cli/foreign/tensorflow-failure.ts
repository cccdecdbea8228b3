import { reasonText, ServingError } from "../../errors.ts";
import type { ServedVersion } from "../../server/served-version.ts";
import { notAvailableText } from "../../serving/not-available-text.ts";
import { printable } from "../../text/printable.ts";
import type { FailedStart, ForeignCommandLine } from "./foreign-program.ts";

/** Exit code of `tensorflow_model_server` for whatever goes wrong: -1, as a shell sees it. */
export const TENSORFLOW_FAILURE = 255;

/**
 * Prints why a start failed as `tensorflow_model_server` does: to standard output, a
 * faulty file's place to standard error.
 */
export function failTensorflow(reason: unknown, { commandLine, failed }: FailedStart): number {
  const code = reason instanceof ServingError ? reason.code.toUpperCase() : "UNKNOWN";
  const text = printable(reasonText(reason));
  const faulty = faultyFile(text, commandLine);
  if (faulty === undefined) {
    const problem = failed.length > 0 ? notAvailable(failed) : `${code}: ${text}`;
    process.stdout.write(`Failed to start server. Error: ${problem}\n`);
    return TENSORFLOW_FAILURE;
  }
  const { file, problem } = faulty;
  const [, twice] = /^\d+:\d+: (Illegal to list model .* multiple times in config list)/.exec(problem) ?? [];
  if (twice === undefined)
    process.stderr.write(`Error parsing text-format tensorflow.serving.ModelServerConfig: ${problem}\n`);
  const message = twice ?? `Invalid protobuf file: '${file}'`;
  process.stdout.write(`Failed to start server. Error: INVALID_ARGUMENT: ${message}\n`);
  return TENSORFLOW_FAILURE;
}

function notAvailable(failed: readonly ServedVersion[]): string {
  const versions = failed.map(({ name, version, error }) => {
    return { model: name, version, error: error && { code: error.code, message: printable(error.message) } };
  });
  return `UNKNOWN: ${notAvailableText("servable", versions)}`;
}

interface FaultyFile {
  readonly file: string;
  /** The place in it and what is wrong there. */
  readonly problem: string;
}

function faultyFile(text: string, commandLine: ForeignCommandLine | undefined): FaultyFile | undefined {
  const files = commandLine?.settings.get("config")?.value as readonly string[] | undefined;
  const file = files?.find((path) => text.startsWith(`${path}:`));
  return file === undefined ? undefined : { file, problem: text.slice(file.length + 1) };
}
