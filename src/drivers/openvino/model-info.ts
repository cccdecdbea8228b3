import type { ModelNotes } from "../../signature/model-notes.ts";

/** The section that follows the layers; those in the layers are of their operations. */
const BEGIN = "<rt_info>";
const END = /<\/rt_info>\s*<\/net>\s*$/;
const MODEL_INFO = "model_info";
const TAG = /<(\/?)([^\s<>/]+)((?:\s+[^\s=<>/]+="[^"]*")*)\s*(\/?)>/g;
const ATTRIBUTE = /([^\s=]+)="([^"]*)"/g;
const REFERENCE = /&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi;
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };
/** Model API, which writes these notes, has one level of them. */
const MAX_DEPTH = 16;

/** The notes about the model, such as its labels, in the text of an IR's .xml; undefined where there are none. */
export function readModelInfo(text: string): ModelNotes | undefined {
  const begin = text.lastIndexOf(BEGIN);
  const section = text.slice(begin + BEGIN.length);
  if (begin === -1 || !END.test(section)) return undefined;
  const info = readElements(section)[MODEL_INFO];
  return typeof info === "object" ? info : undefined;
}

type Tree = { [name: string]: string | Tree };

/** The elements up to the end tag of the one that they are in. */
function readElements(section: string): Tree {
  const root = createTree();
  const open = [root];
  for (const [, slash, tag = "", attributes = "", isEmpty] of section.matchAll(TAG)) {
    if (slash === "/") {
      open.pop();
      if (open.length === 0) break;
      continue;
    }
    const { name = tag, value } = readAttributes(attributes);
    const content = value ?? createTree();
    open.at(-1)![name] = content;
    if (isEmpty === "/") continue;
    if (open.length === MAX_DEPTH) break;
    open.push(typeof content === "string" ? createTree() : content);
  }
  return root;
}

/** Without a prototype, as its names are the file's. */
function createTree(): Tree {
  return Object.create(null) as Tree;
}

/** Names that XML does not allow are in an attribute. */
function readAttributes(text: string): { readonly name?: string; readonly value?: string } {
  const attributes = Array.from(text.matchAll(ATTRIBUTE), ([, key = "", value = ""]) => [key, decode(value)] as const);
  const { name, value } = Object.fromEntries(attributes);
  return { ...(name !== undefined && { name }), ...(value !== undefined && { value }) };
}

function decode(text: string): string {
  return text.replace(REFERENCE, (whole, hex?: string, decimal?: string, entity?: string) => {
    if (entity !== undefined) return ENTITIES[entity] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
