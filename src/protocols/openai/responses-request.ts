import { defineJob } from "../../platform/codec-host/job.ts";
import { readToolChoice, textContent, toChatWish, toTool, type WireContent } from "../text/chat-members.ts";
import { type Members, parseMembers, writeRequest, wrongMember } from "../text/members.ts";
import type { TextWish } from "../text/text-wish.ts";
import { choiceForm, readAudio, readImageUri, toFormat } from "./chat-request.ts";

/** Members of a request that its answer repeats. */
const TOLD = [
  ...["instructions", "metadata", "temperature", "top_p", "max_output_tokens", "tools", "tool_choice", "user"],
  ...["parallel_tool_calls", "reasoning", "truncation"],
];
/** Bytes of them; more are not repeated, since a stream has them three times. */
const MAX_TOLD_BYTES = 64 * 1024;

/** Reads a request of responses. Throws `invalid_argument` with the place of a wrong member. */
function readResponse(bytes: Uint8Array): TextWish {
  const body = parseMembers(bytes);
  refuseKept(body);
  const instructions = body.text("instructions");
  const asked = readInput(body);
  const messages = [...(instructions === undefined ? [] : [toMessage("system", textContent(instructions))]), ...asked];
  const tools = body.objects("tools", readTool);
  const format = body.within("text")?.object("format");
  const own = {
    messages,
    tools,
    toolChoice: readToolChoice(body, tools.length, CHOICE),
    responseFormat: toFormat(format, format),
  };
  const [model, isStream] = [body.text("model") ?? "", body.boolean("stream") ?? false];
  const told = toldOf(body);
  const choices = {
    maxTokens: body.number("max_output_tokens", { isWhole: true, min: 0 }),
    temperature: body.number("temperature", { min: 0 }),
    topP: body.number("top_p", { min: 0 }),
    stop: [],
    user: body.text("user") ?? body.text("safety_identifier"),
    more: body.rest(),
  };
  return { model, isStream, includeUsage: true, told, ...toChatWish(own, choices) };
}

/** {@link readResponse} for a codec thread. */
export const readResponseJob = defineJob(import.meta.url, "readResponseJob", readResponse);

/** Refuses what needs answers that the server has kept; that it should keep this one is not heeded. */
function refuseKept(body: Members): void {
  for (const name of ["previous_response_id", "conversation", "prompt"])
    if (body.value(name) !== undefined) throw body.wrong(name, "none: no answers are kept; send the whole input");
  if (body.boolean("background") === true) throw body.wrong("background", "false: no answers are kept");
  body.boolean("store");
}

/** SDKs read the form of every answer. */
const DEFAULT_TEXT = { format: { type: "text" } };

function toldOf(body: Members): Uint8Array {
  const given = Object.entries(Object(body.peek("text"))).filter(([, value]) => value !== null);
  const text = { ...DEFAULT_TEXT, ...Object.fromEntries(given) };
  const told = writeRequest({ ...Object.fromEntries(TOLD.map((name) => [name, body.peek(name)])), text });
  return told.length > MAX_TOLD_BYTES ? writeRequest({}) : told;
}

interface Message {
  readonly role: string;
  readonly content: readonly WireContent[];
  readonly toolCalls: readonly object[];
  readonly toolCallId?: string;
  /** Thoughts before it. */
  readonly reasoning?: string;
}

function toMessage(role: string, content: readonly WireContent[], toolCalls: readonly object[] = []): Message {
  return { role, content, toolCalls };
}

/** Calls of tools belong to the assistant's message before them, and thoughts to the one behind them. */
function readInput(body: Members): readonly Message[] {
  const input = body.value("input");
  if (typeof input === "string") return [toMessage("user", textContent(input))];
  if (!Array.isArray(input) || input.length === 0)
    throw body.wrong("input", "a text, or a list with one item at least");
  const messages: Message[] = [];
  let thoughts = "";
  for (const item of body.objects("input", readItem)) {
    if (typeof item === "string") {
      thoughts += item;
      continue;
    }
    const last = messages.at(-1);
    const isMore = item.toolCalls.length > 0 && last?.role === "assistant";
    if (isMore) messages.pop();
    const message = isMore ? { ...last, toolCalls: [...last.toolCalls, ...item.toolCalls] } : item;
    const reasoning = (message.reasoning ?? "") + (item.role === "assistant" ? thoughts : "");
    messages.push({ ...message, ...(reasoning !== "" && { reasoning }) });
    thoughts = "";
  }
  if (messages.length === 0) throw body.wrong("input", "one with a message at least");
  return messages;
}

const ROLES = ["user", "system", "developer", "assistant"] as const;

/** A thought is a text, and no message. */
function readItem(item: Members): Message | string {
  const type = item.text("type") ?? "message";
  if (type === "reasoning") return readThoughts(item);
  if (type === "function_call") {
    const [name, given] = [item.requiredText("name"), item.text("arguments") ?? ""];
    return toMessage("assistant", [], [{ id: item.requiredText("call_id"), name, arguments: given }]);
  }
  if (type === "function_call_output")
    return { ...toMessage("tool", readContent(item, "output")), toolCallId: item.requiredText("call_id") };
  if (type !== "message") throw item.wrong("type", "message, function_call, function_call_output or reasoning");
  if (item.value("role") === undefined) throw item.wrong("role", ROLES.join(", "));
  const role = item.choice("role", ROLES);
  return toMessage(role === "developer" ? "system" : role, readContent(item, "content"));
}

/** The thoughts themselves, else their summary; in another form than parts with a text they are left out. */
function readThoughts(item: Members): string {
  const textsIn = (name: string) => {
    const parts = item.value(name);
    const texts: readonly unknown[] = Array.isArray(parts) ? parts.map((part) => Object(part).text) : [];
    return texts.filter((each) => typeof each === "string").join("");
  };
  return textsIn("content") || textsIn("summary");
}

function readContent(item: Members, name: string): readonly WireContent[] {
  const content = item.value(name);
  if (typeof content === "string") return textContent(content);
  if (!Array.isArray(content)) throw item.wrong(name, "a text, or a list of parts such as {type, text}");
  return item.objects(name, readPart);
}

function readPart(part: Members): WireContent {
  const type = part.requiredText("type");
  if (type === "input_text" || type === "output_text" || type === "text")
    return { type: "text", text: part.requiredText("text") };
  if (type === "refusal") return { type: "text", text: part.requiredText("refusal") };
  if (type === "input_audio") return readAudio(part);
  if (type !== "input_image") throw part.wrong("type", "input_text, input_image, input_audio, output_text or refusal");
  if (part.value("image_url") !== undefined) return readImageUri(part, "image_url");
  throw wrongMember(part.placeOf("image_url"), "missing", "the image itself: data:image/jpeg;base64,…");
}

function readTool(tool: Members): object {
  if (tool.text("type") !== "function") throw tool.wrong("type", "function");
  return toTool(tool, "parameters");
}

const CHOICE = choiceForm((choice) => choice, "{type, name}");
