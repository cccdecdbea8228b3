import { defineJob } from "../../platform/codec-host/job.ts";
import { isObject } from "../../tensor/record.ts";
import {
  imageContent,
  readThoughts,
  readTool,
  strictSchema,
  type TextFormat,
  textContent,
  toChatWish,
  type WireContent,
} from "../text/chat-members.ts";
import { Members, parseMembers, writeRequest, wrongMember } from "../text/members.ts";
import { readTexts } from "../text/text-input.ts";
import { readSeed, readStop, type TextWish } from "../text/text-wish.ts";
import { type EmbedWish, toTensor } from "../text/vectors-codec.ts";

/** A request of chat or generate. */
export interface OllamaWish extends TextWish {
  /** True = it has no text: Ollama loads the model, and answers nothing. */
  readonly isEmpty: boolean;
}

/** Reads a request of chat. Throws `invalid_argument` with the place of a wrong member. */
function readChat(bytes: Uint8Array): OllamaWish {
  const body = parseMembers(bytes);
  const messages = body.objects("messages", readMessage);
  const tools = body.objects("tools", readTool);
  const own = { messages, tools, toolChoice: tools.length === 0 ? "none" : "auto", responseFormat: readFormat(body) };
  const wish = readWish(body, messages.length === 0);
  return { ...wish, ...toChatWish(own, readOptions(body)) };
}

/** {@link readChat} for a codec thread. */
export const readOllamaChatJob = defineJob(import.meta.url, "readOllamaChatJob", readChat);

/**
 * Reads a request of generate, which is one for the function `chat`, as Ollama puts the prompt into the template of a
 * conversation, or else for `complete`, and for that alone if it is raw or has a gap. Throws likewise.
 */
function readGenerate(bytes: Uint8Array): OllamaWish {
  const body = parseMembers(bytes);
  const prompt = body.text("prompt") ?? "";
  const [suffix, system] = [body.text("suffix"), body.text("system")];
  const images = readImages(body);
  const isRaw = body.boolean("raw") === true || suffix !== undefined;
  const format = readFormat(body);
  const wish = readWish(body, prompt === "" && suffix === undefined);
  const options = readOptions(body);
  const content = [...textContent(prompt), ...images];
  const messages = [...(system ? [toMessage("system", textContent(system))] : []), toMessage("user", content)];
  const chat = { messages, tools: [], toolChoice: "none", responseFormat: format, ...options };
  const more = { ...options.more, ...(system && { system }), ...(format.type !== "text" && { format }) };
  const requests = [
    ...(isRaw ? [] : [{ entry: "chat" as const, request: writeRequest(chat) }]),
    ...(images.length > 0
      ? []
      : [{ entry: "complete" as const, request: writeRequest({ prompt, suffix, ...options, more }) }]),
  ];
  if (requests.length === 0) throw wrongMember("images", "a list of images", "none in a request with raw or suffix");
  return { ...wish, schema: strictSchema(format), requests };
}

/** {@link readGenerate} for a codec thread. */
export const readGenerateJob = defineJob(import.meta.url, "readGenerateJob", readGenerate);

/** Throws for a request to unload the model. */
function readWish(body: Members, isEmpty: boolean): Omit<OllamaWish, "requests" | "schema"> {
  if (isEmpty && isNoTime(body.value("keep_alive")))
    throw wrongMember(
      "keep_alive",
      "0, which unloads a model",
      "another: models are unloaded by the server's own calls",
    );
  const [model, isStream] = [body.text("model") ?? "", body.boolean("stream") ?? true];
  return { model, isStream, isEmpty, includeUsage: true, echo: new Uint8Array(0) };
}

/** Checks for 0 as a number of seconds, or as a duration such as `0s` and `0h0m`. */
function isNoTime(keepAlive: unknown): boolean {
  const text = typeof keepAlive === "number" || typeof keepAlive === "string" ? String(keepAlive) : "";
  return text.includes("0") && !/[1-9]/.test(text);
}

const ROLES = ["user", "system", "assistant", "tool"] as const;

function readMessage(message: Members): object {
  if (message.value("role") === undefined) throw message.wrong("role", ROLES.join(", "));
  const role = message.choice("role", ROLES);
  const content = [...textContent(message.text("content") ?? ""), ...readImages(message)];
  return {
    ...toMessage(role, content),
    name: message.text("tool_name") ?? message.text("name"),
    reasoning: role === "assistant" ? readThoughts(message, "thinking") : undefined,
    toolCalls: message.objects("tool_calls", readCall),
    toolCallId: message.text("tool_call_id"),
  };
}

function toMessage(role: string, content: readonly WireContent[]): object {
  return { role, content, toolCalls: [] };
}

function readCall(call: Members): object {
  const made = call.object("function");
  if (made === undefined) throw call.wrong("function", "an object with name and arguments");
  made.object("arguments");
  const given = JSON.stringify(made.value("arguments") ?? {});
  return { id: call.text("id") ?? "", name: made.requiredText("name"), arguments: given };
}

function readImages(place: Members): readonly WireContent[] {
  return place.fewOf("images").map((base64, index) => imageContent(base64, `${place.placeOf("images")}[${index}]`));
}

/** Ollama's answers always fit a schema, which has no name there. */
function readFormat(body: Members): TextFormat {
  const format = body.value("format");
  if (format === undefined || format === "") return { type: "text" };
  if (format === "json") return { type: "json_object" };
  if (!isObject(format)) throw body.wrong("format", "json, or a JSON schema");
  return { type: "json_schema", name: "", schema: format, strict: true };
}

/** Reads what a client chooses for the text, to be called last: all members that are left are passed on. */
function readOptions(body: Members) {
  const options = body.object("options", true) ?? new Members({});
  // A negative number is one without a limit.
  const limit = options.number("num_predict", { isWhole: true }) ?? -1;
  return {
    maxTokens: limit < 0 ? undefined : limit,
    temperature: options.number("temperature", { min: 0 }),
    topP: options.number("top_p", { min: 0 }),
    presencePenalty: options.number("presence_penalty"),
    frequencyPenalty: options.number("frequency_penalty"),
    seed: readSeed(options),
    stop: readStop(options),
    more: { ...options.rest(), ...body.rest() },
  };
}

/** Reads a request of embed. Throws likewise. */
function readEmbed(bytes: Uint8Array): EmbedWish {
  return embedWish(parseMembers(bytes), "input");
}

/** {@link readEmbed} for a codec thread. */
export const readOllamaEmbedJob = defineJob(import.meta.url, "readOllamaEmbedJob", readEmbed);

/** Reads a request of the older embeddings, of one text. Throws likewise. */
function readEmbedding(bytes: Uint8Array): EmbedWish {
  const body = parseMembers(bytes);
  body.text("prompt");
  return embedWish(body, "prompt");
}

/** {@link readEmbedding} for a codec thread. */
export const readEmbeddingJob = defineJob(import.meta.url, "readEmbeddingJob", readEmbedding);

/** One without a text has none, by which clients load a model. */
function embedWish(body: Members, name: string): EmbedWish {
  const given = body.value(name) ?? "";
  const isEmpty = given === "" || (Array.isArray(given) && given.length === 0);
  const texts = isEmpty ? [] : readTexts(body, name);
  const [model, dimensions] = [body.text("model") ?? "", body.number("dimensions", { isWhole: true, min: 1 })];
  const options = body.object("options", true)?.rest() ?? {};
  const request = writeRequest({ texts, dimensions, more: { ...options, ...body.rest() } });
  const refusesCut = body.peek("truncate") === false;
  return { model, texts: toTensor(texts), isBase64: false, dimensions, request, refusesCut };
}
