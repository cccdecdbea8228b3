import { unlessAborted } from "../platform/async/cancel-source.ts";
import { deathsOf } from "./crash-marks.ts";
import { hostInline } from "./host-inline.ts";
import type { PreprocessInputs } from "./images/image-input.ts";
import { ImagePreprocessor } from "./images/image-preprocessor.ts";
import { loadHostedModel } from "./load-hosted-model.ts";
import { isBatched } from "./model-facts.ts";
import type { ModelHandle } from "./model-handle.ts";
import type { ModelHost } from "./model-host.ts";
import type { ModelToLoad, StartModelOptions } from "./model-to-load.ts";
import { startCopies } from "./start-copies.ts";

/**
 * Loads a model in this thread or in its own threads, as its driver declares; isolated, in its own processes. A
 * driver that is an object of this thread runs in it.
 */
export async function startModel(source: ModelToLoad, options: StartModelOptions): Promise<ModelHost> {
  const { driver, isHere = false } = source.found;
  const { environment = {}, placement, name, isIsolated = false } = driver;
  const deaths = isIsolated ? 0 : deathsOf(source);
  if (deaths > 0) warnIsolated(source, deaths, options);
  if ((options.isolate || deaths > 0) && !isHere) {
    if (!isIsolated) return startCopies(source, { ...options, isolate: true });
    options.log.info(`models of the ${name} driver run in processes of their own with and without --isolate`);
  }
  // Here, since a model thread has a copy of the environment, which native code does not see.
  for (const [name, value] of Object.entries(environment)) process.env[name] ??= value;
  return isHere || placement === "inline" ? startInline(source, options) : startCopies(source, options);
}

function warnIsolated({ name, path }: ModelToLoad, deaths: number, { log }: StartModelOptions): void {
  const times = deaths === 1 ? "ended" : `ended ${deaths} times`;
  log.warn(`the server's process has ${times} while this model ran; the model gets a process of its own`, {
    model: name ?? path,
    path,
  });
}

async function startInline(
  { found, path, name = path, options: raw, hookFolder }: ModelToLoad,
  { threads = 1, signal, log }: StartModelOptions,
): Promise<ModelHost> {
  const preprocessor = new ImagePreprocessor(log);
  const preprocess: PreprocessInputs = (...preprocessing) => preprocessor.preprocess(...preprocessing);
  const { driver, location, isHere = false } = found;
  const foreignName = isHere || "file" in location ? name : undefined;
  const source = { driver, path, options: raw, threads, hookFolder, signal, preprocess, foreignName };
  const handle = await loadHostedModel(source, log);
  const close = async () => {
    await handle.close();
    await preprocessor.close();
  };
  return hostInline(isBatched(handle) ? givenUpAlone(handle) : handle, close);
}

/** A model whose requests are given up at once, though the batch that they are in goes on for the others. */
function givenUpAlone(handle: ModelHandle): ModelHandle {
  return { ...handle, predict: (inputs, call) => unlessAborted(handle.predict(inputs, call), call.signal) };
}
