import { failedPrecondition, ServingError } from "../errors.ts";
import { openUrl } from "./open-url.ts";

/** One file that a Python package index offers. */
export interface IndexFile {
  readonly name: string;
  readonly url: string;
  /** Hexadecimal; undefined where the index gives none. */
  readonly sha256: string | undefined;
  /** Withdrawn by its makers. */
  readonly yanked: boolean;
}

const JSON_TYPE = "application/vnd.pypi.simple.v1+json";
/** An index may answer with HTML alone: https://packaging.python.org/specifications/simple-repository-api. */
const ACCEPT = `${JSON_TYPE}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1`;

/**
 * The files of a project in an index. Throws `not_found` for an unknown project, `unavailable` when the index cannot be
 * reached.
 */
export async function listIndexFiles(indexUrl: string, project: string, signal: AbortSignal): Promise<IndexFile[]> {
  const url = `${indexUrl.replace(/\/*$/, "/")}${project}/`;
  const response = await openUrl(url, { signal, accept: ACCEPT, what: "package index" }).catch((reason) => {
    throw reason instanceof ServingError && reason.code === "not_found" ? noSuchProject(url, project, reason) : reason;
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json");
  const files = isJson ? fromJson(text, response.url) : fromHtml(text, response.url);
  return files.map((file) => ({ ...file, url: withCredentials(file.url, url) }));
}

/** The files of an index with a password need it too; other hosts must not receive it. */
function withCredentials(file: string, index: string): string {
  const [fileUrl, { origin, username, password }] = [new URL(file), new URL(index)];
  if (fileUrl.origin === origin) Object.assign(fileUrl, { username, password });
  return fileUrl.href;
}

interface JsonFile {
  readonly filename: string;
  readonly url: string;
  readonly hashes?: Readonly<Record<string, string>>;
  readonly yanked?: boolean | string;
}

function fromJson(text: string, base: string): IndexFile[] {
  const { files } = parseJson(text);
  if (!Array.isArray(files)) throw notAnIndex(base);
  return (files as JsonFile[]).map(({ filename, url, hashes, yanked }) => ({
    name: filename,
    url: new URL(url, base).href,
    sha256: hashes?.sha256,
    yanked: yanked !== undefined && yanked !== false,
  }));
}

function parseJson(text: string): { readonly files?: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as { files?: unknown };
  } catch {
    return {};
  }
}

/** PEP 503: one anchor for each file, its text the name, the hash behind the address. */
function fromHtml(text: string, base: string): IndexFile[] {
  const anchors = [...text.matchAll(/<a\s([^>]*)>([^<]*)<\/a>/gi)];
  if (anchors.length === 0 && !/<!doctype html|<html/i.test(text)) throw notAnIndex(base);
  return anchors.flatMap(([, attributes = "", name = ""]) => {
    const [, href] = /href\s*=\s*["']([^"']*)["']/i.exec(attributes) ?? [];
    if (href === undefined) return [];
    const url = new URL(decodeEntities(href), base);
    const [, sha256] = /sha256=([0-9a-f]{64})/i.exec(url.hash) ?? [];
    url.hash = "";
    return [{ name: decodeEntities(name).trim(), url: url.href, sha256, yanked: /data-yanked/i.test(attributes) }];
  });
}

function decodeEntities(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity]!);
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
};

function noSuchProject(url: string, project: string, cause: unknown): ServingError {
  const message = `The package index ${new URL(url).host} has no ${project}. PIP_INDEX_URL chooses another index (its address ends with /simple); or pass a wheel with --wheel FILE.`;
  return new ServingError("not_found", message, { cause });
}

function notAnIndex(url: string): ServingError {
  const message = `What ${new URL(url).host} answers is not a package index. Set PIP_INDEX_URL to one (its address ends with /simple), or pass a wheel with --wheel FILE.`;
  return failedPrecondition(message);
}
