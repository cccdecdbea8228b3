import { readFileSync } from "node:fs";
import { join } from "node:path";
import { failedPrecondition, reasonText, type ServingError } from "../../errors.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { didYouMean } from "../../platform/text/nearest.ts";
import { isObject } from "../../tensor/record.ts";
import { DEFAULT_SIGNATURE } from "../../tensor/signature/signature.ts";
import { FlatbufferTable } from "../tflite-format/flatbuffer-table.ts";
import { readTflite } from "../tflite-format/read-tflite.ts";
import {
  findSignatureDefs,
  readTfliteSignatures,
  type TfliteEnd,
  type TfliteSignature,
  tensorName,
} from "../tflite-format/tflite-signatures.ts";
import type { CompiledNetwork, Network, Port, PortRole } from "./engine.ts";

/** A network whose inputs and outputs are called by other names than OpenVINO's, which still find them. */
export class RenamedNetwork implements Network {
  readonly #network: Network;
  /** The new names by place. */
  readonly #names: Readonly<Record<PortRole, ReadonlyMap<number, string>>>;

  /** Takes over the network; a name of a tensor that it does not have is left out. */
  constructor(network: Network, names: TensorNames) {
    this.#network = network;
    const byPlace = (role: PortRole) =>
      new Map(
        Array.from(names[role]).flatMap(([name, other]): [number, string][] => {
          const place = network.find(role, name);
          return place === undefined ? [] : [[place, other]];
        }),
      );
    this.#names = { inputs: byPlace("inputs"), outputs: byPlace("outputs") };
  }

  get inputs(): readonly Port[] {
    return this.#renamed("inputs");
  }

  get outputs(): readonly Port[] {
    return this.#renamed("outputs");
  }

  find(role: PortRole, name: string): number | undefined {
    return Array.from(this.#names[role]).find(([, other]) => other === name)?.[0] ?? this.#network.find(role, name);
  }

  reshape(...given: Parameters<Network["reshape"]>): void {
    this.#network.reshape(...given);
  }

  changeLayouts(...given: Parameters<Network["changeLayouts"]>): void {
    this.#network.changeLayouts(...given);
  }

  compile(...given: Parameters<Network["compile"]>): Promise<CompiledNetwork> {
    return this.#network.compile(...given);
  }

  release(): void {
    this.#network.release();
  }

  #renamed(role: PortRole): Port[] {
    return this.#network[role].map((port, place) => {
      const name = this.#names[role].get(place);
      if (name === undefined || name === port.name) return port;
      return { ...(port.name !== undefined && { nativeName: port.name }), ...port, name };
    });
  }
}

/** Other names for inputs and outputs, by the model's own. */
type MappingConfig = Readonly<Record<PortRole, Readonly<Record<string, string>>>>;

const MAPPING_FILE = "mapping_config.json";

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
  if (unknown !== undefined) throw unknownName(network, role, { name: unknown[0], who: MAPPING_FILE });
  return new Map(names);
}

function readMappingConfig(folder: string): MappingConfig {
  const path = join(folder, MAPPING_FILE);
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

/** Names of inputs and outputs by the names that OpenVINO has for them. */
type TensorNames = Readonly<Record<PortRole, ReadonlyMap<string, string>>>;

/**
 * The names that a .tflite file's signatures give to the inputs and outputs of its first graph, which is the one that
 * OpenVINO runs; those of `serving_default`, or of the first signature. Throws `failed_precondition` for a damaged
 * file.
 */
export async function readTfliteNames(path: string): Promise<TensorNames> {
  const { buffer, byteOffset, byteLength } = readTflite(path);
  const model = FlatbufferTable.root(new DataView(buffer, byteOffset, byteLength));
  const signatures = readTfliteSignatures(model).filter(({ graph }) => graph === 0);
  const own = signatures.find(({ key }) => key === DEFAULT_SIGNATURE) ?? signatures[0];
  if (own === undefined) return { inputs: new Map(), outputs: new Map() };
  const metadata = findSignatureDefs(model);
  if (metadata !== undefined) return ofMetadata(metadata, own);
  return { inputs: byTensor(own.inputs), outputs: byTensor(own.outputs) };
}

function byTensor(ends: readonly TfliteEnd[]): ReadonlyMap<string, string> {
  return new Map(ends.map((end) => [tensorName(end), end.name]));
}

async function ofMetadata(metadata: Uint8Array, graph: TfliteSignature): Promise<TensorNames> {
  const { readSignatureDefs } = await import("../tensorflow/tflite/signature-defs.ts");
  const signatures = readSignatureDefs(metadata, graph);
  const chosen = signatures.get(DEFAULT_SIGNATURE) ?? [...signatures.values()][0];
  const byModelName = (role: PortRole) =>
    new Map(chosen?.[role].map(({ name, modelName }) => [modelName, name] as const));
  return { inputs: byModelName("inputs"), outputs: byModelName("outputs") };
}

/** Words for the two kinds of ports. */
export const TITLES = { inputs: "Input", outputs: "Output" } as const;

/** The name of a port, or of its place if it has none. */
export function nameOf(role: PortRole, { name }: Port, place: number): string {
  return name ?? `${TITLES[role].toLowerCase()}_${place}`;
}

/** The error for a name in an option or a file (`who`) that the network does not have. */
export function unknownName(
  network: Network,
  role: PortRole,
  { name, who }: { readonly name: string; readonly who: string },
): ServingError {
  const known = network[role].map((port, place) => nameOf(role, port, place));
  return failedPrecondition(
    `${who} names "${name}", but the model has no such ${TITLES[role].toLowerCase()}.${didYouMean(name, known)} It has ${known.join(", ")}.`,
  );
}
