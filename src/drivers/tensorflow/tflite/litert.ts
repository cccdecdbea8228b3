import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { compileFunction } from "node:vm";
import { failedPrecondition, reasonText } from "../../../errors.ts";
import { npmInstall } from "../../../npm-install.ts";
import type { NumericDType } from "../../../tensor/dtype.ts";

/** LiteRT in this thread. */
export interface StartedLiteRt {
  readonly module: LiteRtModule;
  readonly environment: Freeable;
  /**
   * The errors that LiteRT has written since it was asked last, the first ones, without the place in its sources. They
   * are results: it resolves runs that failed, and its exceptions only name a place.
   */
  takeErrors(): readonly string[];
}

/** The types of Node declare no WebAssembly. */
interface WebAssemblyApi {
  compile(program: Uint8Array): Promise<object>;
  instantiate(program: object, imports: object): Promise<object>;
}

const { WebAssembly } = globalThis as unknown as { WebAssembly: WebAssemblyApi };

/** The first errors have the reason; those that follow say what failed because of it. */
const MAX_ERRORS = 20;
const ERROR_LINE = /^ERROR: (?:\[[\w.]+:\d+\] )?(.*)/;

type Factory = (options: object) => Promise<LiteRtModule>;
type Find = (specifier: string) => string;

let started: Promise<StartedLiteRt> | undefined;

/** Starts LiteRT in this thread, once; throws `failed_precondition` if its package is missing or cannot run here. */
export function startLiteRt(): Promise<StartedLiteRt> {
  started ??= startLiteRtFrom(createRequire(import.meta.url).resolve).catch((reason: unknown) => {
    started = undefined;
    throw reason;
  });
  return started;
}

/** The same with another way to find the package's files. */
export async function startLiteRtFrom(find: Find): Promise<StartedLiteRt> {
  const errors: string[] = [];
  const print = (line: string) => {
    const [, error] = ERROR_LINE.exec(line) ?? [];
    if (error !== undefined && errors.length < MAX_ERRORS) errors.push(error);
  };
  const { factory, program } = await loadFirst(find);
  const module = await new Promise<Awaited<ReturnType<typeof factory>>>((resolve, reject) => {
    const instantiateWasm = (imports: object, done: (instance: object, program: object) => void) => {
      WebAssembly.instantiate(program, imports).then((instance) => done(instance, program), reject);
      return {};
    };
    factory({ print, printErr: print, instantiateWasm }).then(resolve, reject);
  });
  const environment = module.LiteRtEnvironment.create(null);
  return { module, environment, takeErrors: () => errors.splice(0) };
}

/** The build for relaxed SIMD instructions, and the one for machines and versions of Node that lack them. */
const BUILDS = ["litert_wasm_internal", "litert_wasm_compat_internal"];

async function loadFirst(find: Find) {
  let cause: unknown;
  for (const build of BUILDS) {
    const script = resolve(find, `@litertjs/core/wasm/${build}.js`);
    try {
      const program = await WebAssembly.compile(await readFile(script.replace(/js$/, "wasm")));
      return { program, factory: evaluate(script, await readFile(script, "utf8")) };
    } catch (reason) {
      cause = reason;
    }
  }
  const message = `LiteRT's WebAssembly does not run in this version of Node: ${reasonText(cause)}`;
  throw failedPrecondition(message, cause);
}

function resolve(find: Find, specifier: string): string {
  try {
    return find(specifier);
  } catch (cause) {
    const message = `.tflite files need the package @litertjs/core. Run: ${npmInstall("@litertjs/core")}`;
    throw failedPrecondition(message, cause);
  }
}

/** The script is CommonJS in a package of ES modules; run as a function, it needs no global variable. */
function evaluate(file: string, source: string): Factory {
  const module: { exports: unknown } = { exports: {} };
  const names = ["module", "exports", "require", "__filename", "__dirname"];
  const run = compileFunction(source, names, { filename: file });
  run(module, module.exports, createRequire(file), file, dirname(file));
  return module.exports as Factory;
}

/** LiteRT's WebAssembly module, as far as it is used; everything that it hands out is freed by `delete`. */
interface LiteRtModule {
  readonly HEAPU8: Uint8Array;
  readonly LiteRtEnvironment: { create(gpu: null): Freeable };
  readonly LiteRtTensorBuffer: {
    createManaged(environment: Freeable, kind: EnumValue, type: TensorType, bytes: number): TensorBuffer;
  };
  readonly LiteRtTensorBufferType: { readonly HOST_MEMORY: EnumValue };
  readonly LiteRtTensorBufferLockMode: { readonly READ: EnumValue; readonly WRITE: EnumValue };
  _malloc(bytes: number): number;
  _free(address: number): void;
  loadModel(environment: Freeable, address: number, bytes: number): LoadedModel;
  compileModel(
    environment: Freeable,
    model: LoadedModel,
    options: { accelerator: "wasm" },
  ): CompiledModel | Promise<CompiledModel>;
}

/** An object that must be freed by hand. */
export interface Freeable {
  delete(): void;
}

interface EnumValue {
  readonly value: number;
}

/** A list in LiteRT's memory. */
export interface NativeList<T> extends Freeable {
  size(): number;
  get(index: number): T;
}

/** Element type and dimensions. */
export interface TensorType extends Freeable {
  elementType(): EnumValue;
  layout(): Freeable & { dimensions(): NativeList<number> };
}

/** A tensor's memory; `lock` gives its address. */
export interface TensorBuffer extends Freeable {
  lock(mode: EnumValue): number;
  unlock(): void;
  packedSize(): number;
}

/** A model whose signatures can be asked for. */
export interface LoadedModel extends Freeable {
  getNumSignatures(): number;
  getSignature(index: number): Freeable & {
    key(): string;
    inputNames(): NativeList<string>;
    outputNames(): NativeList<string>;
  };
  getInputTensorType(signature: number, index: number): TensorType;
  getOutputTensorType(signature: number, index: number): TensorType;
}

/** A model that can run. */
export interface CompiledModel extends Freeable {
  run(signature: number, inputs: readonly TensorBuffer[]): TensorBuffer[] | Promise<TensorBuffer[]>;
}

/** Element types that are carried, by LiteRT's numbers (litert_model_types.h). */
const ELEMENT_TYPES: Readonly<Record<number, NumericDType>> = {
  1: "float32",
  2: "int32",
  3: "uint8",
  4: "int64",
  6: "bool",
  7: "int16",
  8: "complex64",
  9: "int8",
  10: "float16",
  11: "float64",
  13: "uint64",
  16: "uint32",
  17: "uint16",
  19: "bfloat16",
};

/** Names of those that are not. */
const OTHER_ELEMENT_TYPES: Readonly<Record<number, string>> = {
  5: "string",
  12: "complex128",
  14: "resource",
  15: "variant",
  18: "int4",
};

/** The dtype for one of LiteRT's numbers; undefined for one that cannot be carried. */
export function dtypeOfElementType(elementType: number): NumericDType | undefined {
  return ELEMENT_TYPES[elementType];
}

/** Name of an element type that cannot be carried. */
export function nameOfElementType(elementType: number): string {
  return OTHER_ELEMENT_TYPES[elementType] ?? `of LiteRT's element type ${elementType}`;
}
