import { invalidArgument, ServingError } from "../../errors.ts";
import { shorten } from "../../platform/text/shorten.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import type { LoadParameters } from "./load-request.ts";
import { type Parameters, readBoolean } from "./parameters.ts";

/** Loads a model again (the model_repository extension), with the client's configuration and files if there are any. */
export async function reloadModel(
  service: InferenceService,
  model: string,
  { config, files }: LoadParameters,
): Promise<void> {
  if (config === undefined && files.size > 0)
    throw invalidArgument("Load parameter 'config' must be specified for model file override");
  await rename("load", model, service.load(model, config === undefined ? undefined : { config, files }));
}

/**
 * Unloads a model once its requests are answered. With `unload_dependents`, also the models that need it, or were
 * loaded only for it; other parameters are ignored, as in Triton.
 */
export async function unloadModel(service: InferenceService, model: string, parameters: Parameters): Promise<void> {
  const dependents = readBoolean(parameters, "unload_dependents");
  await rename("unload", model, service.unload(model, { dependents }));
}

/** Characters of a model's name in an error, so that the reason behind it is not cut. */
const SHOWN_NAME = 256;

/** With the text by which Triton's clients recognise a failure. */
async function rename(action: "load" | "unload", model: string, change: Promise<void>): Promise<void> {
  await change.catch((reason: unknown) => {
    const { code, message } = ServingError.from(reason);
    const isUnknown = code === "not_found" && action === "load";
    if (isUnknown) assertName(model);
    // The only case in which Triton does not find the model to load.
    const known = isUnknown ? "failed to poll from model repository. " : "";
    const named = shorten(model, SHOWN_NAME);
    throw new ServingError(code, `failed to ${action} '${named}', ${known}${message}`, { cause: reason });
  });
}

/** Throws, with Triton's texts, for an invalid name. */
function assertName(model: string): void {
  const name = model.trim();
  if (name === "") throw invalidArgument("Model name cannot be empty. Please enter a valid name to deploy.");
  if (name !== ".." && !name.includes("/")) return;
  throw invalidArgument(
    `invalid model name '${shorten(model, SHOWN_NAME)}', model name must not contain path traversal characters`,
  );
}
