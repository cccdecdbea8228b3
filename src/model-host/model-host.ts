import { DEFAULT_SIGNATURE, type Driver, type Model, type PredictCall, type Signature } from "../drivers/driver.ts";
import { parseOptions, type RawOptions } from "../drivers/option-table.ts";
import { publicText, reasonText, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { checkInputs } from "./check-inputs.ts";
import { ConcurrencyGate } from "./concurrency-gate.ts";
import type { ModelHandle } from "./model-handle.ts";

/** What to load. */
export interface ModelSource {
  readonly driver: Driver;
  /** Empty for a driver that needs none. */
  readonly path: string;
  readonly options: RawOptions;
}

/** Loads a model and gives it what drivers must not write again: checks, the concurrency gate, timing, error mapping, closing once. */
export async function loadModel(source: ModelSource, log: Logger): Promise<ModelHandle> {
  const { driver, path } = source;
  const started = performance.now();
  const model = await openModel(source, log);
  const loadMs = performance.now() - started;
  log.debug("model loaded", { driver: driver.name, path, ms: Math.round(loadMs) });
  return hostModel(model, { driver: driver.name, path, loadMs, log });
}

async function openModel({ driver, path, options }: ModelSource, log: Logger): Promise<Model> {
  const parsed = parseOptions(driver.options, options);
  try {
    return await driver.load(path, parsed, { log });
  } catch (reason) {
    if (reason instanceof ServingError) throw reason;
    const message = `The ${driver.name} driver could not load ${path}: ${reasonText(reason)}`;
    throw new ServingError("failed_precondition", message, { cause: reason });
  }
}

interface HostFacts {
  readonly driver: string;
  readonly path: string;
  readonly loadMs: number;
  readonly log: Logger;
}

function hostModel(model: Model, facts: HostFacts): ModelHandle {
  const gate = new ConcurrencyGate(model.concurrency ?? 1);
  let closed: Promise<void> | undefined;
  return {
    driver: facts.driver,
    path: facts.path,
    loadMs: facts.loadMs,
    signatures: model.signatures,
    defaultSignature: defaultSignature(model.signatures),
    hookArgs: model.hookArgs ?? {},
    echoes: model.echoes ?? false,
    async predict(inputs, call) {
      if (closed !== undefined) throw new ServingError("unavailable", "The model is closed.");
      const checked = checkInputs(inputs, signatureOf(model, call.signature).inputs);
      return gate.run(call.signal, () => predict(model, checked, call, facts)).catch(rethrow);
    },
    close: () => {
      closed ??= gate.idle().then(() => model.close());
      return closed;
    },
  };
}

async function predict(model: Model, inputs: Tensors, call: PredictCall, { driver, log }: HostFacts): Promise<Tensors> {
  const started = performance.now();
  try {
    return await model.predict(inputs, call);
  } catch (reason) {
    if (reason instanceof ServingError) throw reason;
    if (call.signal.aborted) throw call.signal.reason;
    throw new ServingError("internal", `The ${driver} model failed: ${publicText(reason)}`, { cause: reason });
  } finally {
    log.trace("predict", { driver, ms: performance.now() - started });
  }
}

function defaultSignature(signatures: Model["signatures"]): string {
  if (Object.hasOwn(signatures, DEFAULT_SIGNATURE)) return DEFAULT_SIGNATURE;
  return Object.keys(signatures)[0] ?? DEFAULT_SIGNATURE;
}

function signatureOf({ signatures }: Model, name: string): Signature {
  const signature = Object.hasOwn(signatures, name) ? signatures[name] : undefined;
  if (signature !== undefined) return signature;
  const known = Object.keys(signatures).join(", ");
  throw new ServingError("failed_precondition", `Serving signature key "${name}" not found. The model has ${known}.`);
}

function rethrow(reason: unknown): never {
  throw ServingError.from(reason);
}
