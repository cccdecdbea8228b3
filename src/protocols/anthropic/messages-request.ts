import { defineJob } from "../../platform/codec-host/job.ts";
import {
  type ChoiceForm,
  imageContent,
  readThoughts,
  readToolChoice,
  schemaOf,
  type TextFormat,
  toChatWish,
  toTool,
  type WireContent,
} from "../text/chat-members.ts";
import { readAddress } from "../text/media-addresses.ts";
import { type Members, parseMembers } from "../text/members.ts";
import { readStop, type TextWish } from "../text/text-wish.ts";

/** Reads a request of messages. Throws `invalid_argument` with the place of a wrong member. */
function readMessages(bytes: Uint8Array): TextWish {
  const body = parseMembers(bytes);
  const asked = body.objects("messages", readMessage).flat();
  if (asked.length === 0) throw body.wrong("messages", "a list with one message at least");
  const system = readPieces(body, "system");
  const messages = [...(system.length > 0 ? [{ role: "system", content: system, toolCalls: [] }] : []), ...asked];
  const tools = body.objects("tools", readTool);
  const own = {
    messages,
    tools,
    toolChoice: readToolChoice(body, tools.length, CHOICE),
    responseFormat: readFormat(body),
  };
  const [model, isStream] = [body.text("model") ?? "", body.boolean("stream") ?? false];
  const choices = {
    maxTokens: body.number("max_tokens", { isWhole: true, min: 0 }),
    temperature: body.number("temperature", { min: 0 }),
    topP: body.number("top_p", { min: 0 }),
    stop: readStop(body, "stop_sequences"),
    user: body.within("metadata")?.text("user_id"),
    more: body.rest(),
  };
  return { model, isStream, includeUsage: true, ...toChatWish(own, choices) };
}

/** {@link readMessages} for a codec thread. */
export const readMessagesJob = defineJob(import.meta.url, "readMessagesJob", readMessages);

/** A block of a message: a piece of it, a thought, a call of a tool, or the message that answers one. */
interface Block {
  readonly content?: WireContent;
  readonly thought?: string;
  readonly call?: object;
  readonly result?: object;
}

function contentOf({ content }: Block): readonly WireContent[] {
  return content === undefined ? [] : [content];
}

/** Reads content within which are no calls of tools, and no results of them; none if it is absent. */
function readPieces(place: Members, name: string): readonly WireContent[] {
  if (place.value(name) === undefined) return [];
  return readContent(place, name, (block) => {
    if (isOfTools(block)) throw block.wrong("type", "text, image or document");
    return readBlock(block);
  }).flatMap(contentOf);
}

function isOfTools(block: Members): boolean {
  const type = block.text("type");
  return type === "tool_use" || type === "tool_result";
}

/** Results of tools are messages of their own for the function, before the rest of the one that they are in. */
function readMessage(message: Members): readonly object[] {
  if (message.value("role") === undefined) throw message.wrong("role", "user, assistant");
  const role = message.choice("role", ["user", "assistant", "system"]);
  const blocks = readContent(message, "content");
  const results = blocks.flatMap(({ result }) => (result === undefined ? [] : [result]));
  const toolCalls = blocks.flatMap(({ call }) => (call === undefined ? [] : [call]));
  const content = blocks.flatMap(contentOf);
  if (results.length > 0 && content.length + toolCalls.length === 0) return results;
  const reasoning = role === "assistant" ? blocks.map(({ thought = "" }) => thought).join("") : "";
  return [...results, { role, content, toolCalls, ...(reasoning !== "" && { reasoning }) }];
}

function readContent(place: Members, name: string, read = readBlock): readonly Block[] {
  const content = place.value(name);
  if (typeof content === "string") return content === "" ? [] : [{ content: { type: "text", text: content } }];
  if (!Array.isArray(content)) throw place.wrong(name, "a text, or a list of blocks such as {type, text}");
  return place.objects(name, read);
}

function readBlock(block: Members): Block {
  const type = block.requiredText("type");
  if (type === "text") return { content: { type, text: block.requiredText("text") } };
  if (type === "image") return { content: readImage(block) };
  if (type === "document") return { content: readDocument(block) };
  if (type === "thinking") return { thought: readThoughts(block, "thinking") ?? "" };
  if (type === "redacted_thinking") return {};
  if (type === "tool_use") {
    block.object("input");
    const given = JSON.stringify(block.value("input") ?? {});
    return { call: { id: block.requiredText("id"), name: block.requiredText("name"), arguments: given } };
  }
  if (type === "tool_result") {
    const [content, toolCallId] = [readPieces(block, "content"), block.requiredText("tool_use_id")];
    const isError = block.boolean("is_error") === true;
    return { result: { role: "tool", content, toolCalls: [], toolCallId, ...(isError && { isError }) } };
  }
  throw block.wrong("type", "text, image, document, tool_use, tool_result or thinking");
}

const MEDIA_TYPE = /^image\/[\w.+-]{1,64}$/;

function readImage(block: Members): WireContent {
  const source = sourceOf(block);
  const type = source.choice("type", ["base64", "url", "file"]);
  if (type === "file") throw source.wrong("type", "base64 or url: the server has no files");
  if (type === "url") {
    const address = readAddress(source, "url", "image");
    if (address === undefined) throw source.wrong("url", "an address that begins with https:, or http:");
    return address;
  }
  if (!MEDIA_TYPE.test(source.requiredText("media_type")))
    throw source.wrong("media_type", "that of an image, such as image/png");
  return imageContent(source.requiredText("data"), source.placeOf("data"));
}

function readDocument(block: Members): WireContent {
  const source = sourceOf(block);
  if (source.text("type") !== "text") throw source.wrong("type", "text: only a document of plain text is taken");
  return { type: "text", text: source.requiredText("data") };
}

function sourceOf(block: Members): Members {
  const source = block.object("source");
  if (source === undefined) throw block.wrong("source", "an object with type and data");
  return source;
}

function readTool(tool: Members): object {
  if (tool.value("type") !== undefined) tool.choice("type", ["custom"]);
  return toTool(tool, "input_schema");
}

const CHOICE: ChoiceForm = {
  read: (choice) => {
    const type = choice.choice("type", ["auto", "any", "none", "tool"]);
    if (type === "tool") return { name: choice.requiredText("name") };
    return type === "any" ? "required" : type;
  },
  expected: "an object",
};

function readFormat(body: Members): TextFormat {
  const format = body.within("output_config")?.object("format") ?? body.object("output_format");
  if (format === undefined) return { type: "text" };
  if (format.text("type") !== "json_schema") throw format.wrong("type", "json_schema");
  const schema = schemaOf(format, "schema");
  if (schema === undefined) throw format.wrong("schema", "a JSON schema");
  return { type: "json_schema", name: "", schema, strict: true };
}
