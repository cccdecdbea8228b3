import { createHash } from "node:crypto";
import { createReadStream, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../test/helpers/run-command.ts";
import type { BuiltImage } from "./build-target.ts";

/** Forms of OCI's parts of an image. */
const TYPES = {
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
};

interface Blob {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/**
 * Writes an image of one layer as an OCI archive, which `ctr images import` takes; the same files give the same bytes.
 * Returns the bytes of the compressed layer.
 */
export async function writeOciArchive({ root, config }: BuiltImage, name: string, out: string): Promise<number> {
  const folder = `${out}.parts`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "blobs/sha256"), { recursive: true });
  const tar = join(folder, "layer");
  const reproducible = ["--sort=name", "--mtime=@0", "--numeric-owner"];
  runCommand("tar", [...reproducible, "--exclude=./proc/*", "--exclude=./dev/*", "-cf", tar, "-C", root, "."]);
  const unpacked = await digestOf(tar);
  runCommand("gzip", ["-n", "-6", tar]);
  const layer = await keep(`${tar}.gz`, TYPES.layer, folder);
  const written = join(folder, "json");
  writeFileSync(written, JSON.stringify(imageOf(config, unpacked)));
  const described = await keep(written, TYPES.config, folder);
  writeFileSync(
    written,
    JSON.stringify({ schemaVersion: 2, mediaType: TYPES.manifest, config: described, layers: [layer] }),
  );
  const manifest = await keep(written, TYPES.manifest, folder);
  const annotations = { "io.containerd.image.name": name, "org.opencontainers.image.ref.name": name };
  writeFileSync(
    join(folder, "index.json"),
    JSON.stringify({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }),
  );
  writeFileSync(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  runCommand("tar", ["-cf", out, "-C", folder, "oci-layout", "index.json", "blobs"]);
  rmSync(folder, { recursive: true });
  return layer.size;
}

function imageOf(config: BuiltImage["config"], unpacked: string): object {
  return {
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    os: "linux",
    config: {
      User: config.user,
      WorkingDir: config.folder,
      Env: Object.entries(config.env).map(([name, value]) => `${name}=${value}`),
      Entrypoint: config.entrypoint,
      Cmd: config.command,
      Labels: config.labels,
      ExposedPorts: Object.fromEntries(config.ports.map((port) => [`${port}/tcp`, {}])),
    },
    rootfs: { type: "layers", diff_ids: [unpacked] },
  };
}

/** Moves a file to where its digest is its name. */
async function keep(file: string, mediaType: string, folder: string): Promise<Blob> {
  const digest = await digestOf(file);
  const { size } = statSync(file);
  renameSync(file, join(folder, "blobs/sha256", digest.slice("sha256:".length)));
  return { mediaType, digest, size };
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return `sha256:${hash.digest("hex")}`;
}
