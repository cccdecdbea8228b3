import { devNull } from "node:os";
import { join } from "node:path";
import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import { homeFolder, readText } from "../../platform/machine/system.ts";
import { readBody } from "../http/answers.ts";
import { openUrl } from "./open-url.ts";

/** One file that a Python package index offers. */
export interface IndexFile {
  readonly name: string;
  readonly url: string;
  /** Hexadecimal; undefined if the index gives none. */
  readonly sha256: string | undefined;
  /** Withdrawn by its makers. */
  readonly yanked: boolean;
}

const JSON_TYPE = "application/vnd.pypi.simple.v1+json";
/** An index may answer with HTML alone: https://packaging.python.org/specifications/simple-repository-api. */
const ACCEPT = `${JSON_TYPE}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1`;

/** Bytes of a list: that of a project with thousands of versions for many systems has some 10 MB. */
const MAX_BYTES = 128 * 1024 * 1024;

/**
 * The files of a project in an index. Throws `not_found` for an unknown project, `unavailable` when the index cannot be
 * reached.
 */
export async function listIndexFiles(indexUrl: string, project: string, signal: AbortSignal): Promise<IndexFile[]> {
  const url = `${indexUrl.replace(/\/*$/, "/")}${project}/`;
  const opened = await openUrl(url, { signal, accept: ACCEPT, what: "package index" }).catch((reason) => {
    throw reason instanceof ServingError && reason.code === "not_found" ? noSuchProject(url, project, reason) : reason;
  });
  const { response, url: place } = opened;
  const text = await readBody(response, MAX_BYTES);
  const isJson = response.headers["content-type"]?.includes("json");
  const files = isJson ? fromJson(text, place.href) : fromHtml(text, place.href);
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

const DEFAULT_INDEX = "https://pypi.org/simple";

/**
 * pip's package index: `PIP_INDEX_URL`, else `index-url` of pip's configuration files, else PyPI. Throws
 * `invalid_argument` for a value that is not an http address.
 */
export function findIndexUrl(env: NodeJS.ProcessEnv = process.env): string {
  const url = env.PIP_INDEX_URL || fromConfigFiles(env) || DEFAULT_INDEX;
  if (/^https?:\/\/./.test(url) && URL.canParse(url)) return url;
  const shown = url.replace(/\/\/[^/?#]*@/, "//***@");
  throw invalidArgument(
    `The package index is "${shown}" (PIP_INDEX_URL or pip's configuration); expected an address such as ${DEFAULT_INDEX}.`,
  );
}

/** The last file that names an index counts, as it does for pip. */
function fromConfigFiles(env: NodeJS.ProcessEnv): string | undefined {
  const urls = configFiles(env).map((path) => readIndexUrl(path));
  return urls.findLast((url) => url !== undefined);
}

/**
 * https://pip.pypa.io/en/stable/topics/configuration: the system's, then the user's or the one that is named instead,
 * after that of a Python environment.
 */
function configFiles(env: NodeJS.ProcessEnv): string[] {
  const { PIP_CONFIG_FILE: named, VIRTUAL_ENV: environment } = env;
  if (named === devNull) return [];
  const { system, user, name } = (FILES[process.platform] ?? FILES.linux)(env, homeFolder());
  const inEnvironment = environment ? [join(environment, name)] : [];
  return [...system, ...(named ? [] : user), ...inEnvironment, ...(named ? [named] : [])];
}

interface ConfigFiles {
  readonly name: string;
  readonly system: readonly string[];
  readonly user: readonly string[];
}

type FilesOf = (env: NodeJS.ProcessEnv, home: string) => ConfigFiles;

const FILES: { readonly linux: FilesOf } & Partial<Record<NodeJS.Platform, FilesOf>> = {
  linux: (env, home) => ({
    name: "pip.conf",
    system: ["/etc/xdg/pip/pip.conf", "/etc/pip.conf"],
    user: [join(home, ".pip/pip.conf"), join(env.XDG_CONFIG_HOME || join(home, ".config"), "pip/pip.conf")],
  }),
  darwin: (_, home) => ({
    name: "pip.conf",
    system: ["/Library/Application Support/pip/pip.conf"],
    user: [join(home, ".pip/pip.conf"), join(home, "Library/Application Support/pip/pip.conf")],
  }),
  win32: (env, home) => ({
    name: "pip.ini",
    system: [join(env.PROGRAMDATA ?? "C:\\ProgramData", "pip", "pip.ini")],
    user: [join(home, "pip", "pip.ini"), join(env.APPDATA ?? join(home, "AppData", "Roaming"), "pip", "pip.ini")],
  }),
};

/** `index-url` in the sections that `pip download` reads; the section of the command beats the global one. */
function readIndexUrl(path: string): string | undefined {
  const found: Partial<Record<string, string>> = {};
  let section = "";
  for (const line of readText(path).split("\n")) {
    section = /^\s*\[(.+?)\]/.exec(line)?.[1] ?? section;
    const [, url] = /^\s*index[-_]url\s*[=:]\s*(\S+)/.exec(line) ?? [];
    if (url !== undefined) found[section] = url;
  }
  return found.download ?? found.global;
}
