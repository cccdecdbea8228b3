import { kindOf } from "../../platform/text/kind-of.ts";
import { type Members, wrongMember } from "./members.ts";

/** Texts of one request: as many as OpenAI takes. */
const MAX_TEXTS = 2048;

const TEXTS = "texts, since only their own tokenizer turns token ids back into text";
const REMEDY = "LangChain's OpenAIEmbeddings sends texts with check_embedding_ctx_length=False";

/**
 * Reads a member that is a text or a list of texts, one at least. Throws `invalid_argument` for token ids, which some
 * clients send in place of texts, with the switch of such a client.
 */
export function readTexts(body: Members, name: string): readonly string[] {
  const given = body.value(name);
  if (typeof given === "string") return [checkText(given, body.placeOf(name))];
  if (!Array.isArray(given)) throw body.wrong(name, "a text, or a list of texts");
  const [first] = given as readonly unknown[];
  if (first === undefined) throw body.wrong(name, "a list with one text at least");
  if (typeof first === "number" || (Array.isArray(first) && typeof first[0] === "number"))
    throw wrongMember(name, "a list of token ids", name === "input" ? `${TEXTS}: ${REMEDY}` : TEXTS);
  return checkTexts(given, name);
}

/** Checks a list of texts, which are not too many. */
export function checkTexts(texts: readonly unknown[], name: string): readonly string[] {
  if (texts.length > MAX_TEXTS)
    throw wrongMember(name, `a list of ${texts.length} texts`, `${MAX_TEXTS} at most: send several requests`);
  const wrong = texts.findIndex((text) => typeof text !== "string");
  if (wrong !== -1) throw wrongMember(`${name}[${wrong}]`, kindOf(texts[wrong]), "a text");
  const all = texts as readonly string[];
  for (const [index, text] of all.entries()) checkText(text, `${name}[${index}]`);
  return all;
}

/** Half of a surrogate pair, which UTF-8 has no bytes for: another character would be in its place. */
const HALF = /\p{Surrogate}/u;

/** Checks that a text can become UTF-8, as it was sent. */
export function checkText(text: string, place: string): string {
  const at = text.search(HALF);
  if (at === -1) return text;
  throw wrongMember(place, `a text with half of a surrogate pair at ${at}`, "whole characters: cut texts between them");
}
