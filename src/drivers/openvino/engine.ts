import type { Dimension } from "../../tensor/signature/signature.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { DriverHost } from "../driver.ts";
import type { OpenvinoOptions } from "./openvino-options.ts";

/**
 * One way to call OpenVINO. Every function throws OpenvinoFailure for OpenVINO's errors, unless its comment differs.
 */
export interface OpenvinoEngine {
  /** Loads the runtime; throws `failed_precondition` if it is missing or does not load. */
  open(options: OpenvinoOptions, host: DriverHost): Promise<OpenvinoCore>;
}

/** The runtime with its devices and their settings, as one model uses it. */
export interface OpenvinoCore {
  /** Such as 2026.4.1. */
  readonly version: string;
  /** Devices of this machine: CPU, GPU.0. */
  readonly devices: readonly string[];
  /** Names of the properties that a device's plugin takes; loads the plugin. */
  supportedProperties(device: string): readonly string[];
  /** Settings for models that are compiled from here on. */
  setProperty(device: string, key: string, value: string): void;
  /** Loads a library of operations. */
  addExtension(path: string): void;
  /** Reads a model in any of its formats, to be compiled for a device. */
  readNetwork(files: NetworkFiles, device: string): Promise<Network>;
  release(): void;
}

/** Files of a model. */
export interface NetworkFiles {
  readonly path: string;
  /** For IR alone, if it has any. */
  readonly weights?: string | undefined;
}

/** A model that was read. */
export interface Network {
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  /** The place among inputs or outputs of a tensor by any of its names; undefined for a name that it does not have. */
  find(role: PortRole, name: string): number | undefined;
  /** Changes the shapes of inputs, by their indices, all together; the network is unchanged if that fails. */
  reshape(shapes: ReadonlyMap<number, readonly Dimension[]>): void;
  /**
   * Lets inputs, by their places, come in other layouts, which are transposed; their
   * ports are those of the clients from here on.
   */
  changeLayouts(changes: ReadonlyMap<number, LayoutChange>): void;
  /**
   * With bounded runs, how long one takes depends on the inputs' sizes alone; short ones
   * may then be made without leaving the thread.
   */
  compile(choice: { readonly hasBoundedRuns: boolean }): Promise<CompiledNetwork>;
  release(): void;
}

/** The order of an input's axes, by a letter for each: as clients send it, and as the network takes it. */
export interface LayoutChange {
  readonly client: string;
  readonly model: string;
}

/** The list of a network that a port is in. */
export type PortRole = "inputs" | "outputs";

/** An input or output of a network. */
export interface Port {
  /** One of the names of its tensor; undefined if it has none. */
  readonly name: string | undefined;
  /** OpenVINO's name of its tensor, if `name` is another. */
  readonly nativeName?: string;
  /** OpenVINO's own name, such as f32. */
  readonly elementType: string;
  /** -1 = any size; absent = any rank. */
  readonly shape?: readonly Dimension[];
}

/** A network made ready for a device, with the network's inputs and outputs in their order. */
export interface CompiledNetwork {
  /** A setting that the device has chosen; throws for one that it does not have. */
  property(key: string): string;
  createRequest(): InferRequest;
  release(): void;
}

/** Memory for one run at a time; a stateful model's state is in here. */
export interface InferRequest {
  /**
   * Runs on all inputs, in order, and returns the outputs with the requested indices in their own memory. The caller
   * must not change or free the inputs until it settles.
   */
  infer(inputs: readonly Tensor[], outputs: readonly number[]): Promise<Tensor[]>;
  /** Aborts the running inference; without effect when there is none. */
  cancel(): void;
  release(): void;
}
