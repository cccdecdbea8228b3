import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { failedPrecondition } from "../../../errors.ts";
import { readProblem } from "../../../platform/text/file-problem.ts";
import { describeFileKind, readHead } from "../../file-kind.ts";
import type { GraphDef, MetaGraphDef, SavedModelDef } from "./graph-def.ts";
import { parseMessage } from "./tensorflow-messages.ts";

/** A SavedModel's first byte, which it shares with other models. */
const MODEL_START = 8;

/**
 * Reads a SavedModel's folder and takes the graph with exactly these tags; throws
 * `failed_precondition` listing the tags that exist.
 */
export function loadSavedModel(folder: string, tags: readonly string[]): MetaGraphDef {
  return chooseMetaGraph(parseSavedModel(folder), tags);
}

/** Reads a frozen graph's file; throws `failed_precondition` for one that is cut short or something else. */
export function loadFrozenGraph(path: string): GraphDef {
  const graph = parse("GraphDef", path, "a frozen graph");
  if (graph.node.length === 0) throw failedPrecondition(`"${path}" has a graph without a single node.`);
  return graph;
}

/** Tags as the option writes them, separated by commas. */
export function parseTags(text: string): readonly string[] {
  return text
    .split(",")
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "");
}

/** Reads a SavedModel's saved_model.pb with all its graphs; throws `failed_precondition`. */
export function parseSavedModel(folder: string): SavedModelDef {
  const path = join(folder, "saved_model.pb");
  if (!statSync(path, { throwIfNoEntry: false })) {
    const isText = statSync(join(folder, "saved_model.pbtxt"), { throwIfNoEntry: false }) !== undefined;
    throw failedPrecondition(
      isText
        ? `"${folder}" has its graph as text, saved_model.pbtxt; save it again in binary form, as saved_model.pb.`
        : `The folder "${folder}" has no saved_model.pb.`,
    );
  }
  const model = parse("SavedModel", path, "a SavedModel");
  if (model.metaGraphs.length === 0) throw failedPrecondition(`"${path}" is not a SavedModel: it has no graph.`);
  return model;
}

function parse<Name extends "SavedModel" | "GraphDef">(name: Name, path: string, what: string) {
  const bytes = read(path);
  if (bytes.length === 0) throw failedPrecondition(`"${path}" is empty; export or download it again.`);
  try {
    return parseMessage(name, bytes);
  } catch (cause) {
    throw failedPrecondition(`"${path}" is not ${what}${reasonOf(path, bytes)}.`, cause);
  }
}

function reasonOf(path: string, bytes: Uint8Array): string {
  const kind = describeFileKind(readHead(path));
  return kind === undefined || bytes[0] === MODEL_START
    ? `, or it is cut short (${bytes.length} bytes)`
    : `: it looks like ${kind}`;
}

function read(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw failedPrecondition(`"${path}" ${readProblem(cause)}; expected a file that can be read.`, cause);
  }
}

function chooseMetaGraph({ metaGraphs }: SavedModelDef, tags: readonly string[]): MetaGraphDef {
  const wanted = setText(tags);
  const found = metaGraphs.find((graph) => setText(graph.metaInfoDef?.tags ?? []) === wanted);
  if (found !== undefined) return found;
  const existing = metaGraphs.map(({ metaInfoDef }) => metaInfoDef?.tags.join(",") || "(none)");
  throw failedPrecondition(
    `The SavedModel has no graph with the tags "${tags.join(",")}"; it has: ${existing.join("; ")}. Choose with -o tags=.`,
  );
}

function setText(tags: readonly string[]): string {
  return [...new Set(tags)].sort().join(",");
}
