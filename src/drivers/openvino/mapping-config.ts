import { readFileSync } from "node:fs";
import { join } from "node:path";
import { failedPrecondition, reasonText } from "../../errors.ts";
import { isObject } from "../../tensor/is-object.ts";
import { readProblem } from "../../text/read-problem.ts";
import type { PortRole } from "./engine.ts";

/** Other names for inputs and outputs, by the model's own. */
export type MappingConfig = Readonly<Record<PortRole, Readonly<Record<string, string>>>>;

const FILE = "mapping_config.json";

/**
 * Reads OpenVINO Model Server's file of aliases next to a model; throws `failed_precondition` for an unreadable one.
 */
export function readMappingConfig(folder: string): MappingConfig {
  const path = join(folder, FILE);
  const text = readIfThere(path);
  const { inputs = {}, outputs = {} } = text === undefined ? {} : parse(path, text);
  return { inputs: checkNames(path, inputs), outputs: checkNames(path, outputs) };
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (["ENOENT", "ENOTDIR"].includes((cause as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw failedPrecondition(`"${path}" ${readProblem(cause)}; expected a file that can be read.`, cause);
  }
}

function parse(path: string, text: string): { readonly [Role in PortRole]?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch (cause) {
    throw failedPrecondition(`"${path}" is not JSON: ${reasonText(cause)}.`, cause);
  }
  throw wrong(path);
}

function checkNames(path: string, names: unknown): Readonly<Record<string, string>> {
  if (!isObject(names) || Object.values(names).some((name) => typeof name !== "string")) throw wrong(path);
  return names as Record<string, string>;
}

function wrong(path: string): Error {
  return failedPrecondition(
    `"${path}" is not a mapping; expected {"inputs": {"MODEL'S NAME": "ALIAS"}, "outputs": {…}}.`,
  );
}
