import { readFileSync } from "node:fs";
import { join } from "node:path";
import { failedPrecondition, reasonText } from "../../errors.ts";
import { isObject } from "../../tensor/is-object.ts";
import { readProblem } from "../../text/read-problem.ts";
import type { Network, PortRole } from "./engine.ts";
import { RenamedNetwork } from "./renamed-network.ts";
import { unknownName } from "./unknown-name.ts";

/** Other names for inputs and outputs, by the model's own. */
type MappingConfig = Readonly<Record<PortRole, Readonly<Record<string, string>>>>;

const FILE = "mapping_config.json";

/**
 * The network with the names that OpenVINO Model Server's file next to its model gives to inputs and outputs, whose own
 * names still find them. Throws `failed_precondition` for an unreadable file, and for names that the model does not
 * have.
 */
export function applyMapping(network: Network, folder: string): Network {
  const mapping = readMappingConfig(folder);
  const names = { inputs: toNames(network, "inputs", mapping), outputs: toNames(network, "outputs", mapping) };
  return names.inputs.size + names.outputs.size === 0 ? network : new RenamedNetwork(network, names);
}

function toNames(network: Network, role: PortRole, mapping: MappingConfig): ReadonlyMap<string, string> {
  const names = Object.entries(mapping[role]);
  const unknown = names.find(([name]) => network.find(role, name) === undefined);
  if (unknown !== undefined) throw unknownName(network, role, { name: unknown[0], who: FILE });
  return new Map(names);
}

function readMappingConfig(folder: string): MappingConfig {
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
