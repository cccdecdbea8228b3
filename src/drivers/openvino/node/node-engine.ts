import { failedPrecondition } from "../../../errors.ts";
import type { Dimension } from "../../../tensor/signature/signature.ts";
import type { DriverHost } from "../../driver.ts";
import type {
  CompiledNetwork,
  Network,
  NetworkFiles,
  OpenvinoCore,
  OpenvinoEngine,
  Port,
  PortRole,
} from "../engine.ts";
import type { OpenvinoOptions } from "../openvino-options.ts";
import { toDimension } from "../to-dimension.ts";
import {
  type AddonCompiledModel,
  type AddonModel,
  attempt,
  findAddon,
  loadAddon,
  type NodeContext,
  type OpenvinoAddon,
  toText,
} from "./addon-api.ts";
import { assertCarried, NodeCompiled } from "./node-compiled.ts";

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

/**
 * Reads a shape as OpenVINO writes it: `[1,?,2..8,4..]`; undefined for any rank, `[...]`. A dimension without an upper
 * bound takes any size.
 */
export function parseShape(text: string): Dimension[] | undefined {
  const inner = text.replace(/^\[|\]$/g, "");
  if (inner === "...") return undefined;
  return inner === "" ? [] : inner.split(",").map(parseDimension);
}

function parseDimension(text: string): Dimension {
  const [min = "", max = ""] = text.split("..");
  if (/^\d+$/.test(text)) return Number(text);
  return toDimension(Number(min), max === "" ? -1 : Number(max));
}

/** The same the other way round. */
export function formatShape(shape: readonly Dimension[]): string {
  const parts = shape.map((dimension) => {
    if (typeof dimension !== "number") return `${dimension.min}..${dimension.max}`;
    return dimension < 0 ? "?" : String(dimension);
  });
  return `[${parts.join(",")}]`;
}
