import { reasonText, ServingError } from "../../errors.ts";
import { printable } from "../../text/printable.ts";
import type { ForeignCommandLine } from "./foreign-program.ts";

/** Exit code of `tensorflow_model_server` for whatever goes wrong: -1, as a shell sees it. */
export const TENSORFLOW_FAILURE = 255;

/** Prints why a start failed as `tensorflow_model_server` does: to standard output, a faulty file's place to standard error. */
export function failTensorflow(reason: unknown, commandLine: ForeignCommandLine | undefined): number {
  const code = reason instanceof ServingError ? reason.code.toUpperCase() : "UNKNOWN";
  const text = printable(reasonText(reason));
  const faulty = faultyFile(text, commandLine);
  if (faulty === undefined) {
    process.stdout.write(`Failed to start server. Error: ${code}: ${text}\n`);
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
