import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import { didYouMean } from "../../platform/text/nearest.ts";
import { convertTensor } from "../../tensor/convert-tensor.ts";
import { toTensors, type Values } from "../../tensor/plain-value.ts";
import { isConvertible, type Signature, type TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { toDType } from "./element-types.ts";
import type { Network, Port, PortRole } from "./engine.ts";
import { nameOf, TITLES, unknownName } from "./network-names.ts";
import { toRunError } from "./openvino-failure.ts";
import type { RunCall, Runner } from "./request-pool.ts";

/** Facts about the use that a network makes of its inputs. */
interface NetworkTraits {
  /** True if it does more with them than give them back. */
  readonly computes: boolean;
  /** True if it computes on 64-bit numbers in 32 bits. */
  readonly narrows: boolean;
  /** True if a run leaves nothing behind. */
  readonly isPure: boolean;
}

/** A network that runs on tensors by name. */
export class ServedNetwork {
  readonly signature: Required<Pick<Signature, "inputs" | "outputs">>;
  readonly #ports: Readonly<Record<PortRole, readonly ServedPort[]>>;
  readonly #runner: Runner;
  readonly #traits: NetworkTraits;
  /** True if a run leaves nothing behind. */
  readonly isPure: boolean;

  /** Takes over the runner. */
  constructor(
    ports: Readonly<Record<PortRole, readonly ServedPort[]>>,
    { runner, ...traits }: NetworkTraits & { readonly runner: Runner },
  ) {
    this.#traits = traits;
    this.isPure = traits.isPure;
    this.#ports = ports;
    this.#runner = runner;
    this.signature = { inputs: ports.inputs.map(({ spec }) => spec), outputs: ports.outputs.map(({ spec }) => spec) };
  }

  get concurrency(): number {
    return this.#runner.concurrency;
  }

  /** As {@link Runner.renewals}. */
  get renewals(): number {
    return this.#runner.renewals;
  }

  /** A setting that the device has chosen; throws OpenvinoFailure for one that it does not have. */
  property(key: string): string {
    return this.#runner.property(key);
  }

  /** Runs on a tensor for each input; gives the outputs named, or all. */
  async run(
    inputs: Tensors,
    { outputs, ...call }: RunCall & { readonly outputs?: readonly string[] | undefined } = {},
  ): Promise<Tensors> {
    if (call.signal?.aborted) throw ServingError.from(call.signal.reason);
    const wanted = this.#ports.outputs.filter(({ spec }) => outputs?.includes(spec.name) ?? true);
    const given = this.#ports.inputs.map((port) => tensorFor(port, inputs));
    if (this.#traits.computes) given.forEach(refuseEmptyTexts);
    if (this.#traits.narrows)
      for (const [index, tensor] of given.entries()) refuseCut(tensor, this.#ports.inputs[index]!);
    try {
      const tensors = await this.#runner.run(
        given,
        wanted.map(({ place }) => place),
        call,
      );
      return createTensors(wanted.map(({ spec }, index) => [spec.name, tensors[index]!]));
    } catch (reason) {
      throw toRunError(reason, Object.entries(inputs));
    }
  }

  /** The same on plain values, whose names have not been checked. */
  async runValues(values: Values, outputs?: readonly string[]): Promise<Tensors> {
    const { inputs, outputs: known } = this.signature;
    for (const name of Object.keys(values)) checkName("input", name, inputs);
    for (const name of outputs ?? []) checkName("output", name, known);
    const dtypes = new Map(inputs.map(({ name, dtype }) => [name, dtype]));
    const tensors = toTensors(values, (name) => dtypes.get(name));
    for (const { name, dtype } of inputs) {
      const came = tensors[name];
      if (came !== undefined && isConvertible(came.dtype, dtype)) tensors[name] = convertTensor(came, dtype);
    }
    return this.run(tensors, { outputs });
  }

  close(): Promise<void> {
    return this.#runner.close();
  }
}

function tensorFor({ spec: { name, dtype } }: ServedPort, inputs: Tensors): Tensor {
  const tensor = inputs[name];
  if (tensor?.dtype === dtype) return tensor;
  const came = tensor === undefined ? "is missing" : `is ${tensor.dtype}`;
  throw invalidArgument(`Input "${name}" ${came}; the model takes ${dtype}.`);
}

/**
 * The CPU plugin skips operators without work; those that create strings then read an earlier run's output, or
 * arbitrary memory.
 */
function refuseEmptyTexts({ dtype, data }: Tensor): void {
  if (dtype !== "bytes" || data.length > 0) return;
  throw invalidArgument("OpenVINO does not compute on tensors of strings without elements.");
}

/** Such values would be cut before anything is computed, and the answer wrong without a word. */
function refuseCut(tensor: Tensor, { spec: { name } }: ServedPort): void {
  const index = firstCut(tensor);
  if (index < 0) return;
  throw invalidArgument(
    `Element ${index} of input "${name}" is ${tensor.data[index]}, which 32 bits do not hold: OpenVINO's CPU plugin computes on ${tensor.dtype} in 32 bits. Send smaller numbers, or serve the model with another driver.`,
  );
}

/** Index of the first number that does not fit into 32 bits; -1 = none. */
function firstCut({ dtype, data }: Tensor): number {
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) return firstWide(data);
  if (dtype !== "float64") return -1;
  return (data as Float64Array).findIndex((value) => Number.isFinite(value) && !Number.isFinite(Math.fround(value)));
}

/** By their halves: a bigint for each number would take longer than many a model. */
function firstWide(data: BigInt64Array | BigUint64Array): number {
  const halves = new Int32Array(data.buffer, data.byteOffset, 2 * data.length);
  const isSigned = data instanceof BigInt64Array;
  for (let index = 0; index < data.length; index++) {
    const [lower, upper] = [halves[2 * index]!, halves[2 * index + 1]!];
    // The upper half repeats the sign of the lower one.
    if (upper !== lower >> 31 || (upper !== 0 && !isSigned)) return index;
  }
  return -1;
}

function checkName(role: string, name: string, known: readonly { readonly name: string }[]): void {
  const names = known.map((each) => each.name);
  if (names.includes(name)) return;
  const message = `The model has no ${role} "${name}".${didYouMean(name, names)} It has ${names.join(", ")}.`;
  throw invalidArgument(message);
}

/** An input or output under the name by which it is served. */
interface ServedPort {
  /** Its place in the network. */
  readonly place: number;
  readonly spec: TensorSpec;
}

/** Options that decide which inputs and outputs are served, and under which names. */
interface PortChoice {
  /** The orders of axes in which clients send inputs, by index, if an option sets them. */
  readonly layouts?: ReadonlyMap<number, string>;
  /** Names separated by commas. */
  readonly inputs?: string | undefined;
  readonly outputs?: string | undefined;
  /** True if inputs take any sizes. */
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

/** The order of the axes, if it is one of those that images have. */
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
