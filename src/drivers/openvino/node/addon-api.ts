/** A value of OpenVINO's properties in JavaScript; one that the addon has no conversion for is undefined. */
export type AddonValue = string | number | boolean | readonly AddonValue[] | object | undefined;

/**
 * The parts of openvino-node 2026 that we call: https://docs.openvino.ai/2026/api/nodejs_api/addon.html. Objects that
 * are not released there are freed with the garbage.
 */
export interface OpenvinoAddon {
  readonly Core: new () => AddonCore;
  readonly Tensor: new (elementType: string, shape: readonly number[], data?: NodeJS.TypedArray) => AddonTensor;
  /** From 2026.4. */
  getOpenvinoVersion?(): { readonly buildNumber: string };
}

/**
 * ov::Core. Its asynchronous compileModel is not used: it creates another core without
 * this one's properties and extensions.
 */
export interface AddonCore {
  getAvailableDevices(): string[];
  getProperty(device: string, key: string): AddonValue;
  setProperty(device: string, properties: Readonly<Record<string, string>>): void;
  addExtension(path: string): void;
  /** Gives names to unnamed tensors. */
  readModelSync(path: string, weights?: string): AddonModel;
  compileModelSync(model: AddonModel, device: string): AddonCompiledModel;
}

/** ov::Model. Asking it for a tensor by a name that it does not have may end the process. */
export interface AddonModel {
  readonly inputs: readonly AddonOutput[];
  readonly outputs: readonly AddonOutput[];
  getOutputElementType(place: number): string;
  /** From 2025.3. */
  reshape?(shapes: ReadonlyMap<number, string>): AddonModel;
}

/** ov::Output: an input or output of a model. */
interface AddonOutput {
  readonly anyName: string;
  getPartialShape(): { toString(): string };
}

/** ov::CompiledModel. */
export interface AddonCompiledModel {
  getProperty(key: string): AddonValue;
  createInferRequest(): AddonInferRequest;
}

/** ov::InferRequest. */
export interface AddonInferRequest {
  getInputTensor(place: number): AddonTensor;
  setOutputTensor(place: number, tensor: AddonTensor): void;
  /** Runs in another thread, after all earlier runs of the process. The caller owns the tensors' memory. */
  inferAsync(inputs: readonly AddonTensor[]): Promise<unknown>;
}

/** ov::Tensor. */
export interface AddonTensor {
  getElementType(): string;
  getShape(): number[];
  /** A copy. */
  getData(): NodeJS.TypedArray;
}
