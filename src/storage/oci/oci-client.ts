import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { failedPrecondition, ServingError } from "../../errors.ts";
import { readBody, statusError } from "../http/answers.ts";
import { followRedirects } from "../http/follow-redirects.ts";
import { tooManyFiles } from "../objects/find-files.ts";
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

  /** Archives are part of the whole alone: their files are not known before. */
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

/** A reference to content: https://github.com/opencontainers/image-spec/blob/main/descriptor.md */
interface Descriptor {
  readonly mediaType?: string;
  readonly digest?: string;
  readonly size?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly platform?: { readonly os?: string; readonly architecture?: string };
}

/** A manifest, or an index of manifests. */
interface OciManifest {
  readonly config?: Descriptor;
  readonly layers?: readonly Descriptor[];
  readonly manifests?: readonly Descriptor[];
}

/** Media types that are asked for. */
const MANIFEST_TYPES = [
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
].join(", ");

/** Folder of an image in which KServe expects models. */
const IMAGE_FOLDER = "models/";

/** Architectures as images name them. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64", ia32: "386", arm: "arm" };

/**
 * The digest of the manifest for this machine in an index; undefined for a manifest.
 * Files of a model are the same for all machines.
 */
function chosenDigest({ manifests }: OciManifest): string | undefined {
  if (manifests === undefined) return undefined;
  const real = manifests.filter(({ platform }) => platform?.architecture !== "unknown");
  const own = real.find(({ platform }) => platform?.architecture === ARCHITECTURES[process.arch]);
  const digest = (own ?? real[0])?.digest;
  if (digest === undefined) throw failedPrecondition("the index has no manifest in it");
  return digest;
}

/**
 * The files of an artifact. A layer with a title is a file (as `oras push` has it), one of another tar type is an
 * archive, and of an image's layers the folder `models` is unpacked. Throws `failed_precondition` if there are none
 * or too many, and for layers in other formats.
 */
function filesOf({ config, layers = [] }: OciManifest, maxFiles: number): RemoteFile[] {
  if (layers.length > maxFiles) throw tooManyFiles(maxFiles);
  const isImage = /^application\/vnd\.(?:oci\.image|docker\.container\.image)\./.test(config?.mediaType ?? "");
  const isPacked = layers.every((layer) => titleOf(layer) === undefined);
  const files = layers.flatMap((layer, index) => toFile(layer, { index, isImage: isImage && isPacked }) ?? []);
  const names = new Set<string>();
  const twice = files.map(({ key }) => key).find((name) => names.size === names.add(name).size);
  if (twice !== undefined) throw failedPrecondition(`two of its layers are called ${JSON.stringify(twice)}`);
  if (files.length > 0) return files;
  throw failedPrecondition("no layer has files in it; expected an artifact with titles, archives, or an image");
}

interface ToFileOptions {
  readonly index: number;
  readonly isImage: boolean;
}

function toFile(layer: Descriptor, { index, isImage }: ToFileOptions): RemoteFile | undefined {
  const { mediaType = "", digest = "", size } = layer;
  const [, value] = /^sha256:([\da-f]{64})$/.exec(digest) ?? [];
  if (value === undefined) throw failedPrecondition("a layer has no digest of the kind sha256");
  const file = { bytes: size, etag: digest, checksum: { algorithm: "sha256", value } } as const;
  const title = titleOf(layer);
  const isArchive = /[.+]tar(?:\.gzip|\+gzip|\.gz)?$/.test(mediaType);
  const isUnpacked =
    layer.annotations?.["io.deis.oras.content.unpack"] === "true" || FILE_PATH in (layer.annotations ?? {});
  if (title !== undefined && !(isArchive && isUnpacked)) return { ...file, key: title };
  if (/zstd$/.test(mediaType))
    throw failedPrecondition("a layer is packed with zstd, which is not unpacked here; push it with gzip");
  if (!isArchive) return undefined;
  const ending = /gz(?:ip)?$/.test(mediaType) ? "tar.gz" : "tar";
  const key = `layer-${String(index).padStart(3, "0")}.${ending}`;
  return { ...file, key, archive: isImage ? { within: IMAGE_FOLDER, isLayer: true } : {} };
}

/** https://github.com/modelpack/model-spec/blob/main/docs/annotations.md */
const FILE_PATH = "org.cncf.model.filepath";

function titleOf({ annotations = {} }: Descriptor): string | undefined {
  return annotations[FILE_PATH] ?? annotations["org.opencontainers.image.title"];
}
