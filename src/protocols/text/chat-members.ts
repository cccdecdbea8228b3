import { FORMAT_NAMES, imageType } from "../../tensor/media/image-format.ts";
import { soundType } from "../../tensor/media/sound-format.ts";
import { isObject } from "../../tensor/record.ts";
import { addressesIn, type MediaAddress } from "./media-addresses.ts";
import { type Members, writeRequest, wrongMember } from "./members.ts";
import type { TextWish } from "./text-wish.ts";

/** A piece of a message as it goes to the hooks' thread. */
export type WireContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly mediaType: string; readonly base64: string }
  | MediaAddress;

/** The content of a message that is a text. */
export function textContent(text: string): readonly WireContent[] {
  return text === "" ? [] : [{ type: "text", text }];
}

/**
 * Reads thoughts of an answer before, by the first of these names that has some; in another form than a text they are
 * left out, since clients send back what any server has given them.
 */
export function readThoughts(place: Members, ...names: readonly string[]): string | undefined {
  const given = names.map((name) => place.value(name));
  return given.find((each): each is string => typeof each === "string" && each !== "");
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** Characters of base64 that have the bytes by which a format is known. */
const HEAD_CHARACTERS = 256;

function headOf(base64: string): Uint8Array {
  return Buffer.from(base64.slice(0, HEAD_CHARACTERS), "base64");
}

/**
 * An image in base64, whose type its first bytes tell, whatever its client says. Throws {@link wrongMember} for one in
 * none of the formats that are decoded.
 */
export function imageContent(base64: unknown, place: string): WireContent {
  const text = typeof base64 === "string" && BASE64.test(base64) ? base64 : "";
  const mediaType = imageType(headOf(text));
  if (mediaType !== undefined) return { type: "image", mediaType, base64: text };
  throw wrongMember(place, "no image in base64", `one of ${Object.values(FORMAT_NAMES).join(", ")}`);
}

/** Formats that all files of theirs begin alike in, so that other bytes are none. */
const KNOWN_SOUNDS = ["wav", "flac", "ogg", "opus"];

/** Sound in base64, likewise; one of an unknown beginning is of the format that its client names, if that has none. */
export function soundContent(base64: string, format: string, place: string): WireContent {
  if (!BASE64.test(base64)) throw wrongMember(place, "no base64", "the sound in base64");
  const known = soundType(headOf(base64));
  if (known === undefined && KNOWN_SOUNDS.includes(format))
    throw wrongMember(place, `no ${format}`, "sound of that format, or the name of another");
  return { type: "audio", mediaType: known ?? `audio/${format}`, base64 };
}

/** Reads a function that an answer may call. */
export function readTool(tool: Members): object {
  if (tool.value("type") !== undefined) tool.choice("type", ["function"]);
  const declared = tool.object("function");
  if (declared === undefined) throw tool.wrong("function", "an object with name, description and parameters");
  return toTool(declared, "parameters");
}

/** A function as it is declared, with the schema of its parameters in that member. */
export function toTool(declared: Members, parameters: string): object {
  return {
    name: declared.requiredText("name"),
    description: declared.text("description") ?? "",
    parameters: schemaOf(declared, parameters) ?? { type: "object", properties: {} },
    strict: declared.boolean("strict") ?? false,
  };
}

/** A JSON schema as it was sent. */
export function schemaOf(place: Members, name: string): unknown {
  return place.object(name) && place.value(name);
}

/** The use of tools that a client wants: `required` = the answer has to call one; a name = that one. */
type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

/** The form in which a protocol has the choice of a tool. */
export interface ChoiceForm {
  /** The texts that it may be; absent = it is always an object. */
  readonly words?: readonly ["auto", "none", "required"];
  /** Reads an object; undefined for one that is none of the protocol's. */
  readonly read: (choice: Members) => ToolChoice | undefined;
  readonly expected: string;
}

/** Reads what an answer may do with so many tools; without a choice of the client's, what it likes. */
export function readToolChoice(body: Members, toolCount: number, { words, read, expected }: ChoiceForm): ToolChoice {
  const given = body.value("tool_choice");
  if (given === undefined) return toolCount === 0 ? "none" : "auto";
  if (typeof given === "string" && words !== undefined) return body.choice("tool_choice", words);
  const choice = isObject(given) ? body.within("tool_choice") : undefined;
  const made = choice && read(choice);
  if (made === undefined) throw body.wrong("tool_choice", expected);
  return made;
}

/** The form of an answer, as it goes to the hooks' thread. */
export interface TextFormat {
  readonly type: string;
  readonly name?: string;
  readonly schema?: unknown;
  readonly strict?: boolean;
}

/** Bytes of a schema by which answers are checked. */
const MAX_SCHEMA_BYTES = 64 * 1024;

/** The schema that an answer has to fit, as JSON; undefined if it need not, or if it is too large for checks. */
export function strictSchema({ type, schema, strict = false }: TextFormat): Uint8Array | undefined {
  if (type === "json_object") return writeRequest({ type: "object" });
  const written = strict && isObject(schema) ? writeRequest(schema) : undefined;
  return written !== undefined && written.length > MAX_SCHEMA_BYTES ? undefined : written;
}

/** A conversation that has been read. */
interface Conversation {
  readonly messages: readonly object[];
  readonly responseFormat: TextFormat;
}

/** The wish for an answer to a conversation; `choices` are further members of the functions' request. */
export function toChatWish(
  own: Conversation,
  choices: object,
): Pick<TextWish, "echo" | "schema" | "addresses" | "requests"> {
  return {
    echo: new Uint8Array(0),
    schema: strictSchema(own.responseFormat),
    addresses: addressesIn(own.messages),
    requests: [{ entry: "chat", request: writeRequest({ ...own, ...choices }) }],
  };
}
