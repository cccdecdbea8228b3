import { readFileSync, statSync } from "node:fs";
import { failedPrecondition } from "../../errors.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import type { ModelNotes } from "../../tensor/signature/signature.ts";
import { describeFileKind, readHead } from "../file-kind.ts";

/** Facts about a model from its .xml file, before OpenVINO reads it. */
export interface IrFile {
  /** True if it has variables, which live from run to run. */
  readonly isStateful: boolean;
  /** True if it has loops, whose number of turns may be in the data. */
  readonly hasLoops: boolean;
  /** True if it does anything with its inputs but return them. */
  readonly computes: boolean;
  /** Bytes that the weights have to have at least. */
  readonly weightBytes: number;
  /** Notes of its exporter; absent = there are none. */
  readonly modelInfo?: ModelNotes;
}

/** The versions of the format that OpenVINO reads. */
const VERSIONS = ["10", "11"];
const STATE = /\stype="(ReadValue|Assign)"/;
const LOOPS = /\stype="(Loop|TensorIterator|If)"/;
const OPERATOR = /<layer [^<>]{0,4096}\stype="(?!(?:Parameter|Const|Result)")/;
/** Tags of constants, whose attributes are read one by one: a pattern for all takes a time of their number's power. */
const DATA = /<data(\s[^<>]{0,8192})/g;

/**
 * Reads an IR's .xml; throws `failed_precondition` for a file that is not an IR, is cut short, or has a version that
 * OpenVINO no longer reads.
 */
export function readIrFile(path: string): IrFile {
  const text = readFileSync(path, "utf8");
  const version = versionOf(text);
  if (version === undefined) throw failedPrecondition(`"${path}" is not an OpenVINO model: ${whatElse(path)}.`);
  if (!VERSIONS.includes(version))
    throw failedPrecondition(
      `"${path}" is an OpenVINO model of version ${version}; OpenVINO reads ${VERSIONS.join(" and ")}: convert the original again.`,
    );
  if (!/<\/net>\s*$/.test(text))
    throw failedPrecondition(`"${path}" is cut short: it has ${text.length} characters and no </net> at its end.`);
  const modelInfo = readModelInfo(text);
  return {
    isStateful: STATE.test(text),
    hasLoops: LOOPS.test(text),
    computes: OPERATOR.test(text),
    weightBytes: endOfWeights(text),
    ...(modelInfo !== undefined && { modelInfo }),
  };
}

/** The version of the format, in the first tag behind comments and the declaration of XML; undefined without one. */
function versionOf(text: string): string | undefined {
  let at = text.indexOf("<");
  if (text.startsWith("<?xml", at)) at = nextTag(text, "?>", at);
  while (at >= 0 && text.startsWith("<!--", at)) at = nextTag(text, "-->", at);
  const tag = at < 0 ? "" : text.slice(at, text.indexOf(">", at) + 1);
  return /^<net [^>]*?\bversion="(\d+)"/.exec(tag)?.[1];
}

function nextTag(text: string, mark: string, from: number): number {
  const end = text.indexOf(mark, from);
  return end < 0 ? -1 : text.indexOf("<", end);
}

function whatElse(path: string): string {
  const head = readHead(path);
  const kind = head.startsWith("<?xml") ? undefined : describeFileKind(head);
  return kind === undefined ? 'it has no <net version="11"> at its beginning' : `it looks like ${kind}`;
}

function endOfWeights(text: string): number {
  let end = 0;
  for (const { offset, size } of constantsOf(text)) end = Math.max(end, offset + size);
  return end;
}

/** A constant of an IR: its type and shape as they are written, and its place among the weights. */
interface IrConstant {
  readonly type: string;
  readonly shape: string;
  readonly offset: number;
  readonly size: number;
}

/** The constants of an IR's text. */
export function* constantsOf(text: string): Iterable<IrConstant> {
  for (const [, tag = ""] of text.matchAll(DATA)) {
    const type = /\selement_type="([^"]*)"/.exec(tag)?.[1];
    const offset = /\soffset="(\d+)"/.exec(tag)?.[1];
    const size = /\ssize="(\d+)"/.exec(tag)?.[1];
    if (type === undefined || offset === undefined || size === undefined) continue;
    yield { type, shape: /\sshape="([^"]*)"/.exec(tag)?.[1] ?? "", offset: Number(offset), size: Number(size) };
  }
}

/** An IR's weights. */
export interface IrWeights {
  readonly path: string;
  /** Bytes of the file that the model does not use; converters leave none. */
  readonly spareBytes: number;
}

/**
 * Finds an IR's weights; undefined for a model without any. Throws `failed_precondition` if they are missing or too
 * few.
 */
export function findWeights(path: string, { weightBytes }: IrFile, option: string | undefined): IrWeights | undefined {
  const weights = option ?? path.replace(/\.xml$/i, ".bin");
  if (weightBytes === 0 && option === undefined) return undefined;
  const bytes = sizeOf(path, weights, option !== undefined);
  if (bytes >= weightBytes) return { path: weights, spareBytes: bytes - weightBytes };
  const message = `The weights "${weights}" are cut short or of another model: "${path}" needs ${weightBytes} bytes, the file has ${bytes}.`;
  throw failedPrecondition(message);
}

function sizeOf(path: string, weights: string, isGiven: boolean): number {
  try {
    const stat = statSync(weights);
    if (!stat.isDirectory()) return stat.size;
  } catch (cause) {
    const todo = isGiven
      ? "name the file with -o model_weights="
      : "put it next to the model, or name it with -o model_weights=";
    throw failedPrecondition(`The weights "${weights}" of "${path}" ${readProblem(cause)}; ${todo}.`, cause);
  }
  throw failedPrecondition(`The weights "${weights}" of "${path}" are a folder; name the file with -o model_weights=.`);
}

/** The section that follows the layers; those in the layers are of their operations. */
const INFO_BEGIN = "<rt_info>";
const INFO_END = /<\/rt_info>\s*<\/net>\s*$/;
const MODEL_INFO = "model_info";
const TAG = /<(\/?)([^\s<>/]+)((?:\s+[^\s=<>/]+="[^"]*")*)\s*(\/?)>/g;
const ATTRIBUTE = /([^\s=]+)="([^"]*)"/g;
const REFERENCE = /&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi;
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };
/** Model API, which writes these notes, has one level of them. */
const MAX_DEPTH = 16;

/** The notes about the model, such as its labels, in the text of an IR's .xml; undefined if there are none. */
export function readModelInfo(text: string): ModelNotes | undefined {
  const begin = text.lastIndexOf(INFO_BEGIN);
  const section = text.slice(begin + INFO_BEGIN.length);
  if (begin === -1 || !INFO_END.test(section)) return undefined;
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
