import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { failedPrecondition, ServingError } from "../../../errors.ts";
import { npmInstall } from "../../../npm-install.ts";
import { npmFolders } from "../../../storage/runtimes/find-library.ts";
import { OpenvinoFailure } from "../openvino-failure.ts";

/** A value of OpenVINO's properties in JavaScript; one that the addon has no conversion for is undefined. */
type AddonValue = string | number | boolean | readonly AddonValue[] | object | undefined;

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
interface AddonCore {
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

/** Calls the addon; throws {@link OpenvinoFailure} with the text of its error. */
export function attempt<Value>(call: () => Value): Value {
  try {
    return call();
  } catch (reason) {
    throw toFailure(reason);
  }
}

/** The error that the addon threw, or rejected a promise with. */
export function toFailure(reason: unknown): Error {
  if (reason instanceof ServingError) return reason;
  return new OpenvinoFailure("failed", reason instanceof Error ? reason.message : String(reason));
}

/** Parts that all objects of one core share. */
export interface NodeContext {
  readonly addon: OpenvinoAddon;
  readonly core: AddonCore;
}

/** A property as OpenVINO writes it; throws for one that the addon gives nothing for. */
export function toText(value: AddonValue): string {
  if (value === undefined) throw new Error("openvino-node cannot read it");
  if (typeof value === "boolean") return value ? "YES" : "NO";
  if (Array.isArray(value)) return value.map(toText).join(" ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The installed openvino-node. */
interface AddonPackage {
  readonly folder: string;
  readonly version: string;
  /** True if its installer has put the addon there. */
  readonly isComplete: boolean;
  /** The least major version of Node that it asks for. */
  readonly node: number;
}

const NAME = "openvino-node";
const OTHERWISE = "or leave -o engine= out and run: kserving runtimes install openvino";

/** The package in a folder or among npm's, a complete one first; undefined if there is none. */
export function findAddon(folder?: string): AddonPackage | undefined {
  const folders = folder === undefined ? npmFolders(NAME, "") : [folder];
  const found = folders.filter((each) => existsSync(join(each, "package.json"))).map(readPackage);
  return found.find(({ isComplete }) => isComplete) ?? found[0];
}

function readPackage(folder: string): AddonPackage {
  const { version = "", engines = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return {
    folder,
    version,
    isComplete: existsSync(join(folder, "bin")),
    node: Number(/\d+/.exec(engines.node ?? "")?.[0] ?? 0),
  };
}

/** Checks that the package is made for this Node. */
export function takesThisNode({ node }: AddonPackage): boolean {
  return Number.parseInt(process.versions.node, 10) >= node;
}

/** Loads the addon; throws `failed_precondition`, saying what to do, if that cannot be. */
export function loadAddon(found: AddonPackage | undefined): OpenvinoAddon {
  if (found === undefined)
    throw failedPrecondition(`${NAME} is not installed. Run: ${npmInstall(NAME)}, ${OTHERWISE}.`);
  const { folder, version, isComplete, node } = found;
  if (!takesThisNode(found))
    throw failedPrecondition(
      `${NAME} ${version} needs Node ${node} or later, this is ${process.version}; take another Node, ${OTHERWISE}.`,
    );
  if (!isComplete)
    throw failedPrecondition(
      `${NAME} ${version} has no addon: its installer has not run, or failed. Run: npm rebuild ${NAME}, ${OTHERWISE}.`,
    );
  try {
    return createRequire(import.meta.url)(folder).addon;
  } catch (cause) {
    throw failedPrecondition(
      `The addon of ${NAME} ${version} does not load. Run: npm rebuild ${NAME}, ${OTHERWISE}.`,
      cause,
    );
  }
}
