import { createHash } from "node:crypto";
import { ServingError } from "../../errors.ts";
import type { InferenceService, ModelsCall } from "../../serving/inference-service.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { describeModel } from "../kserve/model-ref.ts";
import { isEmbeddingModel } from "../text/answer-vectors.ts";
import { hasEntry, knowing } from "../text/lease-for.ts";

/** The tag of a name without one. */
const TAG = ":latest";

/** The name of the model that Ollama's name means, which may have the tag that stands for none. */
export async function servedName(model: string, service: InferenceService, call: ModelsCall): Promise<string> {
  if (!model.endsWith(TAG)) return model;
  const name = model.slice(0, -TAG.length);
  const known = await knowing(service, call, model).catch(ifUnknown);
  if (known === undefined) return name;
  // Another server, which has been asked for it by its whole name, tells of no others.
  if (known !== service) return model;
  const served = known.nameOf?.(model) ?? model;
  const isServed = served !== model || known.index({ loadable: true }).some((one) => one.model === model);
  return isServed ? model : name;
}

/** A caller that may not name a model with the tag may name the one without it. */
function ifUnknown(reason: unknown): undefined {
  if (!["not_found", "permission_denied"].includes(ServingError.from(reason).code)) throw reason;
}

/** Tells of every model that answers requests about texts, as `GET /api/tags`, or as `GET /api/ps`, which is more. */
export async function listModels(all: InferenceService, isRunning: boolean, call: ModelsCall): Promise<object> {
  const service = await knowing(all, call);
  const names = new Set(service.index().flatMap(({ model, state }) => (state === "AVAILABLE" ? [model] : [])));
  const described = await Promise.allSettled([...names].map((model) => describeModel(service, { model })));
  // One that has gone meanwhile is not there.
  const there = described.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const models = there.filter((description) => capabilities(description).length > 0).map(toModel);
  return { models: isRunning ? models.map(({ modified_at: _, ...model }) => ({ ...model, ...RUNNING })) : models };
}

/** Memory of graphics cards is not told by model; no time ends the loading of one. */
const RUNNING = { size_vram: 0, expires_at: "9999-12-31T23:59:59Z" };

interface OllamaModel {
  readonly name: string;
  readonly model: string;
  readonly modified_at: string;
  readonly size: number;
  readonly digest: string;
  readonly details: object;
}

function toModel(description: ServableDescription): OllamaModel {
  const { model, version, models = [] } = description;
  const name = model.includes(":") ? model : model + TAG;
  const size = models.reduce((sum, { memoryBytes = 0 }) => sum + memoryBytes, 0);
  // Of its name alone: programs show the beginning of it.
  const digest = createHash("sha256").update(`${model} ${version}`).digest("hex");
  return { name, model: name, modified_at: started(), size, digest, details: toDetails(description) };
}

function started(): string {
  return new Date(performance.timeOrigin).toISOString();
}

function toDetails({ drivers }: ServableDescription): object {
  const families = [...new Set(drivers)];
  const texts = { parent_model: "", format: "kserving", parameter_size: "", quantization_level: "" };
  return { ...texts, family: families.join("+"), families };
}

/** Describes a model as `POST /api/show`; throws `not_found` for an unknown one. */
export async function showModel(service: InferenceService, name: string, call: ModelsCall): Promise<object> {
  const model = await servedName(name, service, call);
  const description = await describeModel(await knowing(service, call, model), { model });
  return {
    ...{ modified_at: started(), details: toDetails(description) },
    ...{ modelfile: "", parameters: "", template: "" },
    model_info: { "general.architecture": "kserving", "general.basename": description.model },
    capabilities: capabilities(description),
  };
}

/** The function `chat` gets tools and images with every request, and `complete` the text behind a gap. */
function capabilities(description: ServableDescription): readonly string[] {
  const has = (entry: string, ...names: readonly string[]) => (hasEntry(description, entry) ? names : []);
  const isEmbedding = hasEntry(description, "embed") || isEmbeddingModel(description);
  const made = [...has("chat", "completion", "tools", "vision"), ...has("complete", "completion", "insert")];
  return [...new Set(made), ...(isEmbedding ? ["embedding"] : [])];
}
