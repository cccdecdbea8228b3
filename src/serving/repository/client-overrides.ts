import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, normalize, posix, win32 } from "node:path";
import { invalidArgument, publicText, ServingError } from "../../errors.ts";
import { createScratchFolder, type ScratchFile } from "../../platform/user-module/scratch-file.ts";
import {
  type ConfigEntry,
  type ConfigNode,
  type ConfigScalar,
  parseJsonTree,
} from "../../tensor/codecs/config/config-node.ts";
import type { FieldKind, FieldTable } from "./config/field-table.ts";
import { Findings } from "./config/findings.ts";
import type { ModelConfig } from "./config/model-config.ts";
import type { FolderModel } from "./folders/read-triton-config.ts";
import { readTriton } from "./formats/triton.ts";
import { TRITON_FIELDS } from "./formats/triton-fields.ts";

/** Maximum length of a model's configuration, in characters. */
const MAX_LENGTH = 256 * 1024;
/** Options that name code to load into the server's process. */
const CODE_OPTIONS = ["custom_op_paths", "extension"];
/** Maximum number of files of a version, and of nested folders. */
const MAX_FILES = 10_000;
const MAX_DEPTH = 32;
/** Names of files that would be executed: hooks, Python, libraries. */
const CODE = /(?:^|[/\\])hooks\.[mc]?[jt]s$|\.(?:py|pyc|so|dll|dylib)(?:\.[\d.]+)?$/i;

/** The model that a client's configuration is for. */
interface ModelFolder {
  readonly name: string;
  /** The absolute path of its folder. */
  readonly folder: string;
}

/**
 * Reads a client's configuration for a load: a ModelConfig in JSON. Throws `invalid_argument` for errors in it, and for
 * one that would make the server run code.
 */
export function readConfigOverride(json: string, { name, folder }: ModelFolder): FolderModel {
  try {
    if (json.length > MAX_LENGTH)
      throw invalidArgument(`it has ${json.length} characters; expected ${MAX_LENGTH} at most`);
    const node = parseJsonTree(json, "config");
    if (node.kind !== "map") throw invalidArgument("expected a JSON object of a ModelConfig");
    const findings = new Findings();
    const config = readTriton(fromJsonForm(node, TRITON_FIELDS), { findings, folder, name });
    findings.assertNone();
    assertNoCode(config as ModelConfig);
    return { config: config as ModelConfig, warnings: findings.warnings };
  } catch (reason) {
    throw invalidArgument(`Invalid config override: ${publicText(reason)}`, reason);
  }
}

function assertNoCode({ options, file, refusal }: ModelConfig): void {
  if (refusal !== undefined) throw invalidArgument(`${refusal}.`);
  const option = CODE_OPTIONS.find((name) => options[name] !== undefined);
  if (option !== undefined)
    throw invalidArgument(
      `a client may not name libraries that the server loads (${option}); expected a configuration without.`,
    );
  if (file !== undefined && (file !== basename(file) || file === ".."))
    throw invalidArgument(`default_model_filename is "${file}"; expected a name in the version's folder.`);
}

/**
 * Converts a message from protobuf's JSON form to the tree of its text format: names in camel case are accepted too,
 * maps are objects, and default values are omitted.
 */
function fromJsonForm(node: ConfigNode, table: FieldTable): ConfigNode {
  if (node.kind !== "map") return node;
  return { ...node, entries: node.entries.flatMap((entry) => toEntry(entry, table)) };
}

function toEntry(entry: ConfigEntry, table: FieldTable): ConfigEntry[] {
  const key = Object.hasOwn(table, entry.key) ? entry.key : snakeCase(entry.key);
  const kind = Object.hasOwn(table, key) ? table[key] : undefined;
  if (kind === undefined) return [entry];
  if (isAbsent(entry.value) || (kind.unused !== undefined && isEmptyMap(entry.value))) return [];
  return [{ ...entry, key, value: toValue(entry.value, kind) }];
}

function toValue(node: ConfigNode, kind: FieldKind): ConfigNode {
  if (node.kind === "list") return { ...node, items: node.items.map((item) => toValue(item, kind)) };
  if (kind.type === "group") return fromJsonForm(node, kind.fields);
  if (kind.type !== "pairs" || node.kind !== "map") return node;
  const items = node.entries.map((entry) => toPair(entry, kind.values));
  return { kind: "list", place: node.place, items };
}

function toPair({ key, place, value }: ConfigEntry, values: FieldKind): ConfigNode {
  const name: ConfigScalar = { kind: "scalar", place, value: key, text: key };
  const entries = [
    { key: "key", place, value: name },
    { key: "value", place, value: toValue(value, values) },
  ];
  return { kind: "map", place, entries };
}

/** Printers of protobuf's JSON may write fields that are not set. */
function isAbsent(node: ConfigNode): boolean {
  if (node.kind === "list") return node.items.length === 0;
  return node.kind === "scalar" && (node.value === "" || node.value === null);
}

function isEmptyMap(node: ConfigNode): boolean {
  return node.kind === "map" && node.entries.length === 0;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * Writes a client's files for a model into a private temporary folder. Throws `invalid_argument`, with Triton's texts,
 * for a path outside that folder, and for a file that the server would execute.
 */
export async function writeOverrideFiles(files: ReadonlyMap<string, Uint8Array>): Promise<ScratchFile> {
  if (files.size > MAX_FILES) throw invalidArgument(`${files.size} files are given; expected ${MAX_FILES} at most.`);
  for (const path of files.keys()) assertInside(path);
  const folder = createScratchFolder();
  try {
    for (const [path, content] of files) await write(join(folder.path, normalize(path)), path, content);
    return folder;
  } catch (reason) {
    folder.remove();
    throw reason;
  }
}

function assertInside(path: string): void {
  const parts = path.split(/[/\\]/);
  const isAbsolute = posix.isAbsolute(path) || win32.isAbsolute(path) || /^[A-Za-z]:/.test(path);
  if (isAbsolute || parts.includes("..") || path.includes("\0"))
    throw invalidArgument(`${titleOf(path)} must stay within model directory.`);
  if (path.trim() === "" || path.endsWith("/") || parts.length > MAX_DEPTH)
    throw invalidArgument(`${titleOf(path)} names no file; expected file:VERSION/NAME.`);
  if (CODE.test(path))
    throw invalidArgument(`${titleOf(path)} is code, which the server takes from its own files alone.`);
}

/** Only new files, so that a repeated name overwrites none. */
async function write(target: string, path: string, content: Uint8Array): Promise<void> {
  try {
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await writeFile(target, content, { flag: "wx", mode: 0o600 });
  } catch (reason) {
    const { code } = reason as NodeJS.ErrnoException;
    if (code === "EEXIST" || code === "ENOTDIR" || code === "EISDIR")
      throw invalidArgument(`${titleOf(path)}, directory has been created as a file, or the file is given twice.`);
    if (code === "ENAMETOOLONG") throw invalidArgument(`${titleOf(path)} is too long for the file system.`);
    throw new ServingError("internal", `${titleOf(path)} cannot be written (${code}).`, { cause: reason });
  }
}

function titleOf(path: string): string {
  return `Invalid file parameter 'file:${path.slice(0, 200)}'`;
}
