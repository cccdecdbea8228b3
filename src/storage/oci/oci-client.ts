import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ServingError } from "../../errors.ts";
import { readBody, statusError } from "../http/answers.ts";
import { followRedirects } from "../http/follow-redirects.ts";
import { parseSha256 } from "../remote-address.ts";
import {
  type ListOptions,
  type RemoteContent,
  type RemoteFile,
  type RemotePlace,
  type StorageClient,
  toContent,
} from "../storage-client.ts";
import { authorize, isLocalRegistry, type OciAccess, type OciLocation, parseOci } from "./oci-access.ts";
import { chosenDigest, filesOf, MANIFEST_TYPES, type OciManifest } from "./oci-manifest.ts";

/** Models in registries of containers: artifacts, and images with a folder `models`. */
export const ociClient: StorageClient = {
  parse: (text) => {
    const { address, sha256 } = parseSha256(text);
    const { key, ...location } = parseOci(address);
    const open = () => OciPlace.of(location);
    return { title: address, key, open, ...(sha256 !== undefined && { sha256 }) };
  },
};

const ACCESS = "Log in (docker login, podman login or oras login): DOCKER_CONFIG is the folder of its config.json";

interface Asked {
  readonly method?: "GET" | "HEAD";
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

interface Kept {
  readonly digest: string;
  readonly files: readonly RemoteFile[];
}

/** One manifest with its blobs. It is read again when its tag stands for another one. */
class OciPlace implements RemotePlace {
  static readonly #opened = new Map<string, OciPlace>();

  readonly #location: OciLocation;
  #access: OciAccess = {};
  #kept: Kept | undefined;

  private constructor(location: OciLocation) {
    this.#location = location;
  }

  static of(location: OciLocation): OciPlace {
    const name = `${location.registry}/${location.repository}@${location.reference}`;
    const place = OciPlace.#opened.get(name) ?? new OciPlace(location);
    OciPlace.#opened.set(name, place);
    return place;
  }

  /** Archives are part of the whole alone: what is in them is not known before. */
  async list(prefix: string, options: ListOptions & { readonly shallow?: boolean }): Promise<RemoteFile[]> {
    const { shallow } = options;
    const isBelow = ({ key, archive }: RemoteFile) =>
      key.startsWith(prefix) &&
      (archive === undefined || prefix === "") &&
      !(shallow && key.slice(prefix.length).includes("/"));
    return (await this.#files(options)).filter(isBelow);
  }

  async open({ etag, checksum }: RemoteFile, offset: number, signal: AbortSignal): Promise<RemoteContent> {
    const headers = { "accept-encoding": "identity", ...(offset > 0 && { range: `bytes=${offset}-` }) };
    const response = await this.#send(`blobs/${etag}`, { headers, signal });
    if (![200, 206].includes(response.statusCode ?? 0)) throw await statusError(response, ACCESS);
    return toContent(response, checksum);
  }

  async #files({ signal, maxFiles }: ListOptions): Promise<readonly RemoteFile[]> {
    const { reference } = this.#location;
    const digest = reference.startsWith("sha256:") ? reference : await this.#digest(signal);
    if (this.#kept !== undefined && this.#kept.digest === digest) return this.#kept.files;
    const first = await this.#manifest(digest ?? reference, signal);
    const own = chosenDigest(first);
    const files = filesOf(own === undefined ? first : await this.#manifest(own, signal), maxFiles);
    this.#kept = digest === undefined ? undefined : { digest, files };
    return files;
  }

  /** The digest that a tag stands for; undefined if the registry does not tell. */
  async #digest(signal: AbortSignal): Promise<string | undefined> {
    const headers = { accept: MANIFEST_TYPES };
    const response = await this.#send(`manifests/${this.#location.reference}`, { method: "HEAD", headers, signal });
    response.resume();
    const digest = response.headers["docker-content-digest"];
    return response.statusCode === 200 && /^sha256:[\da-f]{64}$/.test(String(digest)) ? String(digest) : undefined;
  }

  async #manifest(reference: string, signal: AbortSignal): Promise<OciManifest> {
    const response = await this.#send(`manifests/${reference}`, { headers: { accept: MANIFEST_TYPES }, signal });
    if (response.statusCode !== 200) throw await statusError(response, ACCESS);
    const text = await readBody(response);
    const digest = `sha256:${createHash("sha256").update(text).digest("hex")}`;
    if (reference.startsWith("sha256:") && digest !== reference)
      throw new ServingError("data_loss", "the manifest differs from its digest");
    try {
      return JSON.parse(text) as OciManifest;
    } catch (cause) {
      throw new ServingError("unavailable", "the server's answer is not a manifest. Check the address", { cause });
    }
  }

  /** Asks for access if the registry wants to know who asks. */
  async #send(path: string, asked: Asked): Promise<IncomingMessage> {
    const { repository } = this.#location;
    if ((this.#access.expiresMs ?? Number.POSITIVE_INFINITY) < Date.now()) this.#access = {};
    const response = await this.#sendOnce(`/v2/${repository}/${path}`, asked);
    if (response.statusCode !== 401) return response;
    const access = await authorize(response, this.#location, asked.signal);
    if (access === undefined) return response;
    response.resume();
    this.#access = access;
    return this.#sendOnce(`/v2/${repository}/${path}`, asked);
  }

  #sendOnce(path: string, { method = "GET", headers, signal }: Asked): Promise<IncomingMessage> {
    const { authorization } = this.#access;
    const own = authorization === undefined ? {} : { authorization };
    return followRedirects(new URL(`${originOf(this.#location)}${path}`), {
      method,
      headers: { ...headers, ...own },
      signal,
    });
  }
}

function originOf(location: OciLocation): string {
  const { registry } = location;
  if (isLocalRegistry(location)) return `http://${registry}`;
  return `https://${registry === "docker.io" ? "registry-1.docker.io" : registry}`;
}
