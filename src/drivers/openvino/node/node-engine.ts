import { failedPrecondition } from "../../../errors.ts";
import type { Dimension } from "../../../tensor/signature/signature.ts";
import { createTensor, type Tensor } from "../../../tensor/tensor.ts";
import type { DriverHost } from "../../driver.ts";
import { fromDType, toDType } from "../element-types.ts";
import type {
  CompiledNetwork,
  InferRequest,
  Network,
  NetworkFiles,
  OpenvinoCore,
  OpenvinoEngine,
  Port,
  PortRole,
} from "../engine.ts";
import type { OpenvinoOptions } from "../openvino-options.ts";
import { formatShape, parseShape } from "../partial-shape.ts";
import {
  type AddonCompiledModel,
  type AddonInferRequest,
  type AddonModel,
  type AddonTensor,
  attempt,
  findAddon,
  loadAddon,
  type NodeContext,
  type OpenvinoAddon,
  toFailure,
  toText,
} from "./addon-api.ts";

/** OpenVINO by the npm package openvino-node. */
const engine: OpenvinoEngine = { open };
export default engine;

async function open({ openvino_lib }: OpenvinoOptions, { log }: DriverHost): Promise<OpenvinoCore> {
  const found = findAddon(openvino_lib);
  const addon = loadAddon(found);
  const core = new NodeCore(addon, found?.version ?? "");
  log.info("OpenVINO is loaded", { version: core.version, devices: core.devices, path: found?.folder });
  return core;
}

/** ov::Core in openvino-node. */
class NodeCore implements OpenvinoCore {
  readonly version: string;
  readonly devices: readonly string[];
  readonly #context: NodeContext;

  /** Packages that cannot report the runtime's version have their own version. */
  constructor(addon: OpenvinoAddon, packageVersion: string) {
    const core = new addon.Core();
    this.#context = { addon, core };
    this.version = (addon.getOpenvinoVersion?.().buildNumber ?? packageVersion).split("-", 1)[0]!;
    this.devices = core.getAvailableDevices();
  }

  supportedProperties(device: string): readonly string[] {
    return attempt(() => toText(this.#context.core.getProperty(device, "SUPPORTED_PROPERTIES"))).split(" ");
  }

  setProperty(device: string, key: string, value: string): void {
    attempt(() => this.#context.core.setProperty(device, { [key]: value }));
  }

  addExtension(path: string): void {
    attempt(() => this.#context.core.addExtension(path));
  }

  async readNetwork({ path, weights }: NetworkFiles, device: string): Promise<Network> {
    const { core } = this.#context;
    const model = attempt(() => (weights === undefined ? core.readModelSync(path) : core.readModelSync(path, weights)));
    return new NodeNetwork(this.#context, model, device);
  }

  release(): void {}
}

/** ov::Model in openvino-node, and the device that it is for. */
class NodeNetwork implements Network {
  readonly #context: NodeContext;
  readonly #device: string;
  #model: AddonModel;
  /** The present model, created at the first use. */
  #compiled: AddonCompiledModel | undefined;
  #inputTypes: readonly string[] | undefined;

  constructor(context: NodeContext, model: AddonModel, device: string) {
    this.#context = context;
    this.#model = model;
    this.#device = device;
  }

  get inputs(): readonly Port[] {
    return this.#ports("inputs", (place) => this.#typeOfInput(place));
  }

  get outputs(): readonly Port[] {
    return this.#ports("outputs", (place) => this.#model.getOutputElementType(place));
  }

  /** By one name of each tensor: the addon does not report the others. */
  find(role: PortRole, name: string): number | undefined {
    const place = this.#model[role].findIndex(({ anyName }) => anyName === name);
    return place === -1 ? undefined : place;
  }

  reshape(shapes: ReadonlyMap<number, readonly Dimension[]>): void {
    if (this.#model.reshape === undefined)
      throw failedPrecondition(
        "This openvino-node cannot reshape models; install a newer one, or use -o engine=native.",
      );
    const texts = new Map(Array.from(shapes, ([place, shape]) => [place, formatShape(shape)]));
    attempt(() => this.#model.reshape?.(texts));
    this.#compiled = undefined;
  }

  changeLayouts(): void {
    throw failedPrecondition("-o layout= is not for openvino-node; use -o engine=native.");
  }

  async compile(): Promise<CompiledNetwork> {
    const compiled = this.#compile();
    for (const role of ["inputs", "outputs"] as const) for (const port of this[role]) assertCarried(role, port);
    // Each compiled network is released on its own.
    this.#compiled = undefined;
    return new NodeCompiled(this.#context, compiled, this.outputs);
  }

  release(): void {
    this.#compiled = undefined;
  }

  #compile(): AddonCompiledModel {
    this.#compiled ??= attempt(() => {
      const { core } = this.#context;
      const compiled = core.compileModelSync(this.#model, this.#device);
      if (!dropsExceptions(compiled)) return compiled;
      core.setProperty("CPU", { NUM_STREAMS: "0" });
      return core.compileModelSync(this.#model, this.#device);
    });
    return this.#compiled;
  }

  /** The addon reports it only by the tensors of a request. */
  #typeOfInput(place: number): string {
    if (this.#inputTypes === undefined) {
      const request = this.#compile().createInferRequest();
      this.#inputTypes = this.#model.inputs.map((_, each) => request.getInputTensor(each).getElementType());
    }
    return this.#inputTypes[place]!;
  }

  #ports(role: PortRole, elementType: (place: number) => string): Port[] {
    return this.#model[role].map((output, place) => {
      const shape = parseShape(output.getPartialShape().toString());
      return {
        name: output.anyName,
        get elementType() {
          return attempt(() => elementType(place));
        },
        ...(shape !== undefined && { shape }),
      };
    });
  }
}

/**
 * The CPU plugin drops the exception of a synchronous run, which the addon's are, if it has a single stream with a
 * single thread: the run seems to succeed, and its outputs are an earlier run's. Without streams it does not.
 */
function dropsExceptions(compiled: AddonCompiledModel): boolean {
  try {
    return ["INFERENCE_NUM_THREADS", "NUM_STREAMS"].every((key) => Number(compiled.getProperty(key)) === 1);
  } catch {
    return false;
  }
}

/** ov::CompiledModel in openvino-node. */
class NodeCompiled implements CompiledNetwork {
  readonly #context: NodeContext;
  readonly #compiled: AddonCompiledModel;
  readonly #outputs: readonly Port[];

  /** The outputs are those of its network. */
  constructor(context: NodeContext, compiled: AddonCompiledModel, outputs: readonly Port[]) {
    this.#context = context;
    this.#compiled = compiled;
    this.#outputs = outputs;
  }

  property(key: string): string {
    return attempt(() => toText(this.#compiled.getProperty(key)));
  }

  createRequest(): InferRequest {
    return attempt(() => new NodeRequest(this.#context, this.#compiled.createInferRequest(), this.#outputs));
  }

  release(): void {}
}

/** Inputs of running requests: nothing else keeps them from being freed. */
const beingRead = new Set<readonly GivenTensor[]>();

/** ov::InferRequest in openvino-node. */
class NodeRequest implements InferRequest {
  readonly #context: NodeContext;
  readonly #request: AddonInferRequest;
  readonly #outputs: readonly AddonTensor[];

  constructor(context: NodeContext, request: AddonInferRequest, outputs: readonly Port[]) {
    this.#context = context;
    this.#request = request;
    // After each run the addon copies all outputs, and writes past the copy of one without
    // elements that is in the device's own memory.
    this.#outputs = outputs.map((port) => createOutput(context.addon, port));
    for (const [place, tensor] of this.#outputs.entries()) request.setOutputTensor(place, tensor);
  }

  async infer(inputs: readonly Tensor[], outputs: readonly number[]): Promise<Tensor[]> {
    const given = inputs.map((tensor) => toAddonTensor(this.#context.addon, tensor));
    beingRead.add(given);
    try {
      await this.#request.inferAsync(given.map(({ tensor }) => tensor));
    } catch (reason) {
      throw toFailure(reason);
    } finally {
      beingRead.delete(given);
    }
    return attempt(() => outputs.map((place) => fromAddonTensor(this.#outputs[place]!)));
  }

  /** The addon cannot abort a run: it continues without a caller. */
  cancel(): void {}

  release(): void {}
}

/** Element types that the addon has tensors of; of strings it has those that are text, which bytes need not be. */
const CARRIED = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"];
const TITLES = { inputs: "Input", outputs: "Output" } as const;

/** Throws `failed_precondition` for an input or output type that the addon's tensors do not support. */
function assertCarried(role: PortRole, { name, elementType }: Port): void {
  if (CARRIED.includes(elementType)) return;
  throw failedPrecondition(
    `${TITLES[role]} "${name}" is of element type ${elementType}, which openvino-node does not carry; use -o engine=native.`,
  );
}

/** A tensor that views memory, which has to stay valid as long as it is used. */
interface GivenTensor {
  readonly tensor: AddonTensor;
  readonly data: NodeJS.TypedArray;
}

/**
 * A tensor of the addon on ours; its memory, if that is the whole of a buffer that no other thread has, or else a copy:
 * the addon takes no parts of buffers.
 */
function toAddonTensor(addon: OpenvinoAddon, { dtype, shape, data }: Tensor): GivenTensor {
  const elementType = fromDType(dtype) as string;
  const numbers = data as NodeJS.TypedArray;
  // Memory of length 0 has no address, which the addon treats as missing.
  if (numbers.length === 0) return { tensor: new addon.Tensor(elementType, shape), data: numbers };
  const isWhole = numbers.byteLength === numbers.buffer.byteLength && numbers.buffer instanceof ArrayBuffer;
  const whole = isWhole ? numbers : numbers.slice();
  return { tensor: new addon.Tensor(elementType, shape, whole), data: whole };
}

/** A tensor for an output: of its shape, or as small as it may be, which runs then enlarge. */
function createOutput(addon: OpenvinoAddon, { elementType, shape = [0] }: Port): AddonTensor {
  const least = shape.map((dimension) => (typeof dimension === "number" ? Math.max(0, dimension) : dimension.min));
  return new addon.Tensor(elementType, least);
}

/** A copy of an output. */
function fromAddonTensor(tensor: AddonTensor): Tensor {
  const dtype = toDType(tensor.getElementType(), "The output");
  return createTensor(dtype, tensor.getShape(), tensor.getData() as never);
}
