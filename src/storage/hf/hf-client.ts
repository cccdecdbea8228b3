import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { invalidArgument, ServingError } from "../../errors.ts";
import { wholeEnvironment } from "../../platform/machine/start-secrets.ts";
import { homeFolder } from "../../platform/machine/system.ts";
import { withoutEnd } from "../../platform/text/shorten.ts";
import { type Environment, firstOf, isOn } from "../environment.ts";
import { type Expiring, untilExpired } from "../http/access-token.ts";
import { readJson, statusError } from "../http/answers.ts";
import { followRedirects } from "../http/follow-redirects.ts";
import { decodeName } from "../local-name.ts";
import { listPages } from "../objects/find-files.ts";
import { parseSha256, shownAddress } from "../remote-address.ts";
import {
  type ListOptions,
  type RemoteContent,
  type RemoteFile,
  type RemotePlace,
  type StorageClient,
  toContent,
} from "../storage-client.ts";

const EXPECTED = "hf://OWNER/NAME, hf://OWNER/NAME@REVISION or hf://OWNER/NAME/PATH";

/** Model repositories of the Hugging Face Hub, and of servers with its interface. */
export const hfClient: StorageClient = {
  parse: (text) => {
    const { address, sha256 } = parseSha256(text);
    const { key, ...repository } = parseHf(address);
    const open = () => HfPlace.of(repository);
    return { title: address, key, open, ...(sha256 !== undefined && { sha256 }) };
  },
};

/**
 * Reads `hf://OWNER/NAME@REVISION/PATH`; KServe has a colon before the revision.
 * Slashes in a revision are written as %2F.
 */
function parseHf(address: string): HfRepository & { readonly key: string } {
  const [owner = "", named = "", ...path] = address
    .slice("hf://".length)
    .split("/")
    .filter((part) => part !== "");
  const [, name = "", revision = "main"] = /^([\w.-]+)(?:[@:]([^@:]+))?$/.exec(named) ?? [];
  if (!/^[\w.-]+$/.test(owner) || name === "" || ["datasets", "spaces"].includes(owner))
    throw invalidArgument(
      `${shownAddress(address).slice(0, 200)} is not a repository of models; expected ${EXPECTED}.`,
    );
  return { name: `${owner}/${name}`, revision: decodeName(revision), key: path.join("/") };
}

const ACCESS =
  "Check the repository's name; if it is private, set HF_TOKEN to a token that may read it; if it is gated, accept its terms on its page too";

/** A repository at a revision: a branch, a tag or a commit. */
interface HfRepository {
  /** `OWNER/NAME`. */
  readonly name: string;
  readonly revision: string;
}

/** An entry of a tree; large files have an `lfs` member, and others are blobs of git. */
interface HfEntry {
  readonly type: string;
  readonly path: string;
  readonly size?: number;
  readonly oid: string;
  readonly lfs?: { readonly oid: string; readonly size: number };
}

interface Kept {
  readonly commit: string;
  readonly files: readonly RemoteFile[];
}

/** One repository at a revision. Its files are listed again when the revision is another commit. */
class HfPlace implements RemotePlace {
  static readonly #opened = new Map<string, HfPlace>();

  readonly #repository: HfRepository;
  readonly #token = untilExpired(() => findHfToken(wholeEnvironment()));
  readonly #lists = new Map<string, Kept>();

  private constructor(repository: HfRepository) {
    this.#repository = repository;
  }

  static of(repository: HfRepository): HfPlace {
    const name = `${endpoint()} ${repository.name}@${repository.revision}`;
    const place = HfPlace.#opened.get(name) ?? new HfPlace(repository);
    HfPlace.#opened.set(name, place);
    return place;
  }

  async list(prefix: string, options: ListOptions & { readonly shallow?: boolean }): Promise<RemoteFile[]> {
    const commit = await this.#commit(options.signal);
    const id = `${prefix}\0${options.shallow ?? false}`;
    const kept = this.#lists.get(id);
    if (kept?.commit === commit) return [...kept.files];
    const files = await this.#tree(commit, prefix, options);
    this.#lists.set(id, { commit, files });
    return [...files];
  }

  async open(file: RemoteFile, offset: number, signal: AbortSignal): Promise<RemoteContent> {
    const { key, checksum, revision = this.#repository.revision } = file;
    const path = `/${this.#repository.name}/resolve/${encodeURIComponent(revision)}/${escapePath(key)}`;
    const range: Record<string, string> = offset > 0 ? { range: `bytes=${offset}-` } : {};
    const response = await this.#send(path, { headers: { "accept-encoding": "identity", ...range }, signal });
    if (![200, 206].includes(response.statusCode ?? 0)) throw await statusError(response, ACCESS);
    return toContent(response, checksum);
  }

  /** https://huggingface.co/docs/hub/api */
  async #commit(signal: AbortSignal): Promise<string> {
    const { name, revision } = this.#repository;
    const path = `/api/models/${name}/revision/${encodeURIComponent(revision)}?expand=sha`;
    const response = await this.#send(path, { signal });
    if (response.statusCode !== 200) throw await statusError(response, ACCESS);
    const { sha } = ((await readJson(response)) ?? {}) as { readonly sha?: unknown };
    if (typeof sha === "string" && /^[\da-f]{40,64}$/.test(sha)) return sha;
    throw new ServingError("unavailable", "the server's answer has no commit. Check HF_ENDPOINT");
  }

  #tree(commit: string, prefix: string, options: ListOptions & { readonly shallow?: boolean }): Promise<RemoteFile[]> {
    const folder = prefix.includes("/") ? `/${escapePath(prefix.slice(0, prefix.lastIndexOf("/")))}` : "";
    const first = `/api/models/${this.#repository.name}/tree/${commit}${folder}?recursive=${!options.shallow}`;
    return listPages(options, async (next = first) => {
      const response = await this.#send(next, { signal: options.signal });
      if (response.statusCode === 404 && next === first) {
        // The commit is there, so the folder is not.
        response.resume();
        return { files: [], next: undefined };
      }
      if (response.statusCode !== 200) throw await statusError(response, ACCESS);
      const entries = (await readJson(response)) as HfEntry[];
      const files = entries.filter(({ type, path }) => type === "file" && path.startsWith(prefix));
      return { files: files.map((entry) => toFile(entry, commit)), next: nextIn(response) };
    });
  }

  async #send(path: string, { headers, signal }: Asked): Promise<IncomingMessage> {
    const { token } = await this.#token();
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return followRedirects(new URL(`${endpoint()}${path}`), { headers: { ...headers, ...authorization }, signal });
  }
}

interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

function endpoint(): string {
  return withoutEnd(firstOf(wholeEnvironment(), "HF_ENDPOINT") ?? "https://huggingface.co", "/");
}

function escapePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** Path and query of the next part: it is asked of the same server, whatever host the answer names. */
function nextIn({ headers }: IncomingMessage): string | undefined {
  const [, link] = /<([^<>]+)>;\s*rel="next"/.exec(String(headers.link ?? "")) ?? [];
  if (link === undefined || !URL.canParse(link, endpoint())) return undefined;
  const { pathname, search } = new URL(link, endpoint());
  const base = new URL(endpoint()).pathname.replace(/\/$/, "");
  return `${pathname.startsWith(base) ? pathname.slice(base.length) : pathname}${search}`;
}

function toFile({ path, size, oid, lfs }: HfEntry, revision: string): RemoteFile {
  if (lfs !== undefined)
    return { key: path, bytes: lfs.size, etag: lfs.oid, revision, checksum: { algorithm: "sha256", value: lfs.oid } };
  return { key: path, bytes: size, etag: oid, revision, checksum: { algorithm: "git", value: oid } };
}

/** A token for the hub; without one, requests are anonymous. */
interface HfToken extends Expiring {
  readonly token?: string;
}

/** Time after which the file is read again, in milliseconds: it may have been replaced. */
const FILE_MS = 900_000;

/**
 * Finds the token as the hub's own programs do: HF_TOKEN, then the file that a login has written
 * (https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables).
 */
async function findHfToken(env: Environment): Promise<HfToken> {
  const token = firstOf(env, "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN");
  if (token !== undefined) return { token: token.trim() };
  const expiresMs = Date.now() + FILE_MS;
  if (isOn(env.HF_HUB_DISABLE_IMPLICIT_TOKEN)) return { expiresMs };
  const home =
    firstOf(env, "HF_HOME") ?? join(firstOf(env, "XDG_CACHE_HOME") ?? join(homeFolder(), ".cache"), "huggingface");
  const text = await readFile(firstOf(env, "HF_TOKEN_PATH") ?? join(home, "token"), "utf8").catch(() => "");
  return text.trim() === "" ? { expiresMs } : { token: text.trim(), expiresMs };
}
