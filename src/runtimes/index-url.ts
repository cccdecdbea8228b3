import { devNull } from "node:os";
import { join } from "node:path";
import { invalidArgument } from "../errors.ts";
import { homeFolder } from "../machine/home-folder.ts";
import { readText } from "../machine/read-text.ts";

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
