import { defineJob } from "../../platform/codec-host/job.ts";
import {
  type ChoiceForm,
  imageContent,
  readThoughts,
  readTool,
  readToolChoice,
  schemaOf,
  soundContent,
  type TextFormat,
  textContent,
  toChatWish,
  type WireContent,
} from "../text/chat-members.ts";
import { readAddress } from "../text/media-addresses.ts";
import { type Members, parseMembers, wrongMember } from "../text/members.ts";
import type { TextWish } from "../text/text-wish.ts";
import { readChoices, readWish } from "./text-request.ts";

/** Reads a request of chat/completions. Throws `invalid_argument` with the place of a wrong member. */
function readChat(bytes: Uint8Array): TextWish {
  const body = parseMembers(bytes);
  const wish = readWish(body);
  const messages = body.objects("messages", readMessage);
  if (messages.length === 0) throw body.wrong("messages", "a list with one message at least");
  const tools = body.objects("tools", readTool);
  const own = {
    messages,
    tools,
    toolChoice: readToolChoice(body, tools.length, CHOICE),
    responseFormat: readFormat(body),
  };
  return { ...wish, ...toChatWish(own, readChoices(body)) };
}

/** {@link readChat} for a codec thread. */
export const readChatJob = defineJob(import.meta.url, "readChatJob", readChat);

const ROLES = ["user", "system", "developer", "assistant", "tool"] as const;

function readMessage(message: Members): object {
  if (message.value("role") === undefined) throw message.wrong("role", ROLES.join(", "));
  const role = message.choice("role", ROLES);
  const content = readContent(message);
  return {
    role: role === "developer" ? "system" : role,
    content,
    name: message.text("name"),
    // By the names that servers of open models have for them.
    reasoning: role === "assistant" ? readThoughts(message, "reasoning_content", "reasoning") : undefined,
    toolCalls: message.objects("tool_calls", readCall),
    toolCallId: message.text("tool_call_id"),
  };
}

function readContent(message: Members): readonly WireContent[] {
  const content = message.value("content");
  // An answer that was a refusal, as it comes back in the next request.
  if (content === undefined && message.value("refusal") !== undefined)
    return textContent(message.requiredText("refusal"));
  if (typeof content === "string") return textContent(content);
  if (content !== undefined && !Array.isArray(content))
    throw message.wrong("content", "a text, or a list of parts such as {type, text}");
  return message.objects("content", readPart);
}

function readPart(part: Members): WireContent {
  const type = part.requiredText("type");
  if (type === "text") return { type, text: part.requiredText("text") };
  if (type === "refusal") return { type: "text", text: part.requiredText("refusal") };
  if (type === "image_url") return readImage(part);
  if (type === "input_audio") return readAudio(part);
  if (type === "audio_url") return readAudioUri(part);
  throw part.wrong("type", "text, refusal, image_url, input_audio or audio_url");
}

/** The beginning of a data URI, with parameters such as `codecs=opus` behind its type. */
const DATA_URI = /^data:(image|audio)\/([\w.+-]{1,64})(?:;[\w.+=-]{1,64}){0,4};base64,/i;
/** Characters that it has at most. */
const MAX_HEAD = 400;

/** The type in a data URI, and its base64; undefined if it is none of that kind. */
function readDataUri(
  uri: string,
  kind: "image" | "audio",
): { readonly type: string; readonly base64: string } | undefined {
  const [head = "", found = "", type = ""] = DATA_URI.exec(uri.slice(0, MAX_HEAD)) ?? [];
  return found.toLowerCase() === kind ? { type: type.toLowerCase(), base64: uri.slice(head.length) } : undefined;
}

function readImage(part: Members): WireContent {
  const image = part.object("image_url");
  if (image === undefined) throw part.wrong("image_url", "an object with url");
  return readImageUri(image, "url");
}

/** Reads an image that is in the request as a data URI, or as the address of one. */
export function readImageUri(place: Members, name: string): WireContent {
  const address = readAddress(place, name, "image");
  if (address !== undefined) return address;
  const image = readDataUri(place.requiredText(name), "image");
  if (image !== undefined) return imageContent(image.base64, place.placeOf(name));
  throw wrongMember(place.placeOf(name), "no image", "the image itself: data:image/jpeg;base64,…");
}

/** Reads sound as vLLM's clients send it: by an address, or as a data URI. */
function readAudioUri(part: Members): WireContent {
  const audio = part.object("audio_url");
  if (audio === undefined) throw part.wrong("audio_url", "an object with url");
  const address = readAddress(audio, "url", "audio");
  if (address !== undefined) return address;
  const sound = readDataUri(audio.requiredText("url"), "audio");
  if (sound !== undefined) return soundContent(sound.base64, sound.type, audio.placeOf("url"));
  throw wrongMember(audio.placeOf("url"), "no sound", "the sound itself: data:audio/wav;base64,…");
}

/** Reads sound that is in the request, in base64. */
export function readAudio(part: Members): WireContent {
  const audio = part.object("input_audio");
  if (audio === undefined) throw part.wrong("input_audio", "an object with data and format");
  const base64 = audio.requiredText("data");
  const format = audio.text("format") ?? "wav";
  if (!/^[\w.+-]{1,32}$/.test(format)) throw audio.wrong("format", "a format such as wav");
  return soundContent(base64, format, audio.placeOf("data"));
}

function readCall(call: Members): object {
  const made = call.object("function");
  if (made === undefined) throw call.wrong("function", "an object with name and arguments");
  const [name, given] = [made.requiredText("name"), made.text("arguments") ?? ""];
  return { id: call.text("id") ?? "", name, arguments: given };
}

/** The form of the choice of a tool; `chosenIn` finds the object with its name. */
export function choiceForm(chosenIn: (choice: Members) => Members | undefined, form: string): ChoiceForm {
  const read = (choice: Members) => {
    const chosen = (choice.text("type") ?? "function") === "function" ? chosenIn(choice) : undefined;
    return chosen && { name: chosen.requiredText("name") };
  };
  return { words: ["auto", "none", "required"], read, expected: `auto, none, required, or ${form}` };
}

const CHOICE = choiceForm((choice) => choice.object("function"), "{type, function: {name}}");

function readFormat(body: Members): TextFormat {
  const format = body.object("response_format");
  return toFormat(format, format?.object("json_schema"));
}

/** The form of an answer, whose schema is among the members `declared`. */
export function toFormat(format: Members | undefined, declared: Members | undefined): TextFormat {
  const type = format?.choice("type", ["text", "json_object", "json_schema"]) ?? "text";
  if (format === undefined) return { type };
  if (type !== "json_schema") {
    // As llama.cpp's clients write it.
    const schema = type === "json_object" ? schemaOf(format, "schema") : undefined;
    return schema === undefined ? { type } : { type: "json_schema", name: "", schema, strict: true };
  }
  if (declared === undefined) throw format.wrong("json_schema", "an object with name and schema");
  const schema = schemaOf(declared, "schema");
  if (schema === undefined) throw declared.wrong("schema", "a JSON schema");
  const name = declared.text("name") ?? "";
  return { type, name, schema, strict: declared.boolean("strict") ?? false };
}
