import { failedPrecondition } from "../../errors.ts";
import { tooManyFiles } from "../objects/find-files.ts";
import type { RemoteFile } from "../storage-client.ts";

/** A reference to content: https://github.com/opencontainers/image-spec/blob/main/descriptor.md */
interface Descriptor {
  readonly mediaType?: string;
  readonly digest?: string;
  readonly size?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly platform?: { readonly os?: string; readonly architecture?: string };
}

/** A manifest, or an index of manifests. */
export interface OciManifest {
  readonly config?: Descriptor;
  readonly layers?: readonly Descriptor[];
  readonly manifests?: readonly Descriptor[];
}

/** Media types that are asked for. */
export const MANIFEST_TYPES = [
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
export function chosenDigest({ manifests }: OciManifest): string | undefined {
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
export function filesOf({ config, layers = [] }: OciManifest, maxFiles: number): RemoteFile[] {
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
