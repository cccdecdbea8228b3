import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../test/helpers/run-command.ts";
import { baseRoot, copyRoot } from "../image/base-root.ts";
import type { BuiltImage } from "../image/build-target.ts";
import { writeOciArchive } from "../image/write-oci-archive.ts";
import { PAUSE_IMAGE } from "./cluster-place.ts";

/** Names of images in the cluster. */
export const IMAGES = {
  pause: PAUSE_IMAGE,
  /** The image of `npm run build:image`. */
  kserving: "kserving:base",
  /** The same files with another configuration, and so another image. */
  next: "kserving:next",
  /** A model in /models, as KServe's modelcars have it. */
  model: "registry.local/half:1",
  /** KServe's agent and router. */
  agent: "registry.local/agent:1",
  router: "registry.local/router:1",
};

/** Files of the images: those of this check, and those of the image's build. */
export interface ImagePlace {
  readonly cache: string;
  /** Folder of `npm run build:image`. */
  readonly built: string;
  /** File of the model. */
  readonly model: string;
}

const PLAIN: BuiltImage["config"] = {
  ...{ user: "65535", folder: "/", env: { PATH: "/usr/local/bin:/usr/bin:/bin" } },
  ...{ labels: {}, ports: [], entrypoint: [], command: [], healthcheck: [] },
};

/** Files of archives by the images that they hold. */
export type ImageArchives = Readonly<Record<"pause" | "kserving" | "next" | "model", string>>;

/** Writes the archives of the images that are not there yet, but for those of KServe's programs. */
export async function writeImages(place: ImagePlace): Promise<ImageArchives> {
  const folder = openFolder(place);
  const base: BuiltImage = JSON.parse(readFileSync(join(place.built, "base.json"), "utf8"));
  const kserving = join(place.built, "kserving-base.tar");
  const archiveOf = (name: string) => join(folder, `${name}.tar`);
  const [pause, model, next] = [archiveOf("pause"), archiveOf("model"), archiveOf("next")];
  if (!existsSync(pause)) await writeOciArchive(pauseImage(folder), IMAGES.pause, pause);
  if (!existsSync(model)) await writeOciArchive(modelImage(folder, place), IMAGES.model, model);
  if (!existsSync(next) || statSync(next).mtimeMs < statSync(kserving).mtimeMs) {
    const labels = { ...base.config.labels, "org.opencontainers.image.version": "next" };
    await writeOciArchive({ ...base, config: { ...base.config, labels } }, IMAGES.next, next);
  }
  return { pause, kserving, next, model };
}

/** Writes the archive of an image of one program, unless it is there; returns its file. */
export async function writeProgramImage(
  name: "agent" | "router",
  { cache, program }: { readonly cache: string; readonly program: string },
): Promise<string> {
  const folder = openFolder({ cache });
  const archive = join(folder, `${name}.tar`);
  if (!existsSync(archive)) await writeOciArchive(programImage(folder, name, program), IMAGES[name], archive);
  return archive;
}

function openFolder({ cache }: Pick<ImagePlace, "cache">): string {
  const folder = join(cache, "images");
  mkdirSync(folder, { recursive: true });
  return folder;
}

function pauseImage(folder: string): BuiltImage {
  const root = join(folder, "pause");
  mkdirSync(root, { recursive: true });
  const source = join(import.meta.dirname, "pause.go");
  runCommand("env", ["CGO_ENABLED=0", "go", "build", "-ldflags=-s -w", "-o", join(root, "pause"), source]);
  return { root, config: { ...PLAIN, entrypoint: ["/pause"] } };
}

/** An image of one program without anything else. */
function programImage(folder: string, name: string, program: string): BuiltImage {
  const root = join(folder, name);
  mkdirSync(root, { recursive: true });
  cpSync(program, join(root, name));
  return { root, config: { ...PLAIN, entrypoint: [`/${name}`] } };
}

/** KServe runs a shell in it that links the model's folder. */
function modelImage(folder: string, { built, model }: ImagePlace): BuiltImage {
  const root = copyRoot(baseRoot("debian:bookworm-slim", built), join(folder, "model"));
  cpSync(model, join(root, "models/model.onnx"));
  runCommand("chmod", ["-R", "go+rX", join(root, "models")]);
  return { root, config: { ...PLAIN, user: "1010" } };
}
