import type { InferenceService } from "../../serving/inference-service.ts";
import { defaultSignatureName } from "../../tensor/signature/signature.ts";

/** Requests of OpenAI's API, by the functions of hooks that answer them. */
const TEXT_REQUESTS = {
  chat: ["chat/completions", { messages: [{ role: "user", content: "Hello" }] }],
  complete: ["completions", { prompt: "Hello" }],
  embed: ["embeddings", { input: ["a cat", "two cats"] }],
  rerank: ["rerank", { query: "a cat", documents: ["two cats", "a boat"] }],
} as const;

/** A request that a model, or its hooks, answers. */
interface TextExample {
  readonly path: string;
  readonly body: object;
}

/** A request for what a model, or its hooks, make of texts; undefined for a model of anything else, or none. */
export async function textExample(name: string, service: InferenceService): Promise<TextExample | undefined> {
  const kind = await textKind(name, service).catch(() => undefined);
  if (kind === undefined) return undefined;
  const [route, members] = TEXT_REQUESTS[kind];
  return { path: `/v1/${route}`, body: { model: name, ...members } };
}

/** By its hooks' first function, else by its inputs and outputs, for which the code is loaded if they may be texts. */
async function textKind(name: string, service: InferenceService): Promise<keyof typeof TEXT_REQUESTS | undefined> {
  const lease = await service.acquire({ model: name });
  lease.release();
  const { hooks, signatures } = lease.description;
  const functions = Object.keys(TEXT_REQUESTS) as (keyof typeof TEXT_REQUESTS)[];
  const found = functions.find((each) => hooks?.entries?.includes(each));
  if (found !== undefined) return found;
  const { inputs = [] } = signatures[defaultSignatureName(signatures)] ?? {};
  if (inputs.length === 0 || inputs.some(({ dtype }) => dtype !== "bytes")) return undefined;
  const { isEmbeddingModel } = await import("../text/answer-vectors.ts");
  if (isEmbeddingModel(lease.description)) return "embed";
  const { PAIR_MODELS } = await import("./answer-numbers.ts");
  return PAIR_MODELS.isEnough(lease.description) ? "rerank" : undefined;
}
