import { failedPrecondition } from "../../errors.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import { toDType } from "./element-types.ts";
import type { Network, Port, PortRole } from "./engine.ts";
import { nameOf, TITLES, unknownName } from "./unknown-name.ts";

/** An input or output under the name by which it is served. */
export interface ServedPort {
  /** Its place in the network. */
  readonly place: number;
  readonly spec: TensorSpec;
}

/** Options that decide which inputs and outputs are served, and under which names. */
export interface PortChoice {
  /** The orders of axes in which clients send inputs, by index, where an option sets them. */
  readonly layouts?: ReadonlyMap<number, string>;
  /** Names separated by commas. */
  readonly inputs?: string | undefined;
  readonly outputs?: string | undefined;
  /** True where inputs take any sizes. */
  readonly anyShape: boolean;
}

/**
 * A network's inputs, in its order, and those of its outputs that are wanted; throws `failed_precondition` for names
 * that it does not have and types that cannot be served.
 */
export function bindPorts(network: Network, choice: PortChoice): Readonly<Record<PortRole, readonly ServedPort[]>> {
  if (network.outputs.length === 0)
    throw failedPrecondition(
      "The model has no outputs for OpenVINO; variables that a TensorFlow model assigns to are nothing to it.",
    );
  const names = { inputs: toNames(network, "inputs", choice), outputs: toNames(network, "outputs", choice) };
  const left = network.inputs.findIndex((_, place) => !names.inputs.has(place));
  if (left !== -1)
    throw failedPrecondition(
      `Option "inputs" leaves out "${nameOf("inputs", network.inputs[left]!, left)}"; the model needs all of its inputs.`,
    );
  const bind = (role: PortRole) =>
    Array.from(names[role], ([place, name]) => ({
      place,
      spec: {
        ...toSpec(role, name, { port: network[role][place]!, ...choice }),
        ...(role === "inputs" && imageLayoutOf(choice.layouts?.get(place))),
      },
    }));
  return { inputs: bind("inputs").sort((a, b) => a.place - b.place), outputs: bind("outputs") };
}

function toNames(network: Network, role: PortRole, choice: PortChoice): ReadonlyMap<number, string> {
  const all = new Map(network[role].map((port, place) => [place, nameOf(role, port, place)]));
  const option = choice[role];
  const names = option === undefined ? all : pick(network, role, { option, all });
  const twice = [...names.values()].find((name, index, list) => list.indexOf(name) !== index);
  if (twice !== undefined) throw failedPrecondition(`Two ${role} of the model would be called "${twice}".`);
  return names;
}

function pick(
  network: Network,
  role: PortRole,
  { option, all }: { readonly option: string; readonly all: ReadonlyMap<number, string> },
): ReadonlyMap<number, string> {
  const names = option
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const placeOf = (name: string) => {
    const place = [...all].find(([, served]) => served === name)?.[0] ?? network.find(role, name);
    if (place === undefined) throw unknownName(network, role, { name, who: `Option "${role}"` });
    return place;
  };
  return new Map(names.map((name) => [placeOf(name), name]));
}

/** The order of the axes, where it is one of those that images have. */
function imageLayoutOf(layout: string | undefined): Pick<TensorSpec, "imageLayout"> {
  return layout === "NHWC" || layout === "NCHW" ? { imageLayout: layout } : {};
}

function toSpec(
  role: PortRole,
  name: string,
  { port, anyShape }: { readonly port: Port; readonly anyShape: boolean },
): TensorSpec {
  const dtype = toDType(port.elementType, `${TITLES[role]} "${name}"`);
  const { shape, nativeName = name } = port;
  const names = { name, ...(nativeName !== name && { nativeName }) };
  if (shape === undefined) return { ...names, dtype };
  return { ...names, dtype, shape: anyShape ? shape.map(() => -1) : shape };
}
