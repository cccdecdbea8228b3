import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { basename, join, posix } from "node:path";
import { baseRoot, copyRoot } from "./base-root.ts";
import { type DockerStep, fillIn, readDockerfile, readPairs } from "./read-dockerfile.ts";
import { runStep } from "./run-step.ts";

/** A built image: its files, and how a container of it runs. */
export interface BuiltImage {
  readonly root: string;
  readonly config: ImageConfig;
}

/** The parts of OCI's image configuration that a Dockerfile sets. */
export interface ImageConfig {
  readonly user: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly ports: readonly string[];
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
}

/** Files and folders of a build. */
export interface BuildPlace {
  readonly dockerfile: string;
  readonly context: string;
  /** Folder of the stages' roots and of the base images'. */
  readonly work: string;
  /** Values of arguments; the defaults are the Dockerfile's. */
  readonly args?: Readonly<Record<string, string>>;
}

const EMPTY: ImageConfig = {
  user: "0",
  folder: "/",
  env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
  labels: {},
  ports: [],
  entrypoint: [],
  command: [],
  healthcheck: [],
};

/** Instructions that this build carries out. */
export const INSTRUCTIONS: Readonly<Record<string, (build: Building, step: DockerStep) => Partial<ImageConfig>>> = {
  ARG: ({ args, given }, { text }) => {
    for (const [name, value] of Object.entries(readPairs(text))) args[name] = given[name] ?? value;
    return {};
  },
  ENV: ({ config, values }, { text }) => ({ env: { ...config.env, ...readPairs(fillIn(text, values)) } }),
  LABEL: ({ config, values }, { text }) => ({ labels: { ...config.labels, ...readPairs(fillIn(text, values)) } }),
  WORKDIR: ({ root }, { text }) => {
    mkdirSync(join(root, text), { recursive: true });
    return { folder: text };
  },
  COPY: (build, step) => {
    copyFiles(build, step);
    return {};
  },
  RUN: ({ root, config, args }, { text }) => {
    runStep(root, text, { env: { ...config.env, ...args }, folder: config.folder });
    return {};
  },
  USER: (_, { text }) => ({ user: text }),
  EXPOSE: (_, { text }) => ({ ports: text.split(" ") }),
  HEALTHCHECK: (_, { text }) => ({ healthcheck: JSON.parse(text.slice(text.indexOf("["))) }),
  ENTRYPOINT: (_, { text }) => ({ entrypoint: JSON.parse(text) }),
  CMD: (_, { text }) => ({ command: JSON.parse(text) }),
};

interface Building {
  readonly root: string;
  readonly config: ImageConfig;
  /** Arguments of the stage. */
  readonly args: Record<string, string>;
  readonly given: Readonly<Record<string, string>>;
  /** Arguments and environment. */
  readonly values: Readonly<Record<string, string>>;
  readonly context: string;
  /** The root of an earlier stage. */
  rootOf(stage: string): string;
}

/**
 * Builds a target of a Dockerfile by the steps that stand there, without an engine: base images come from packages, RUN
 * is a chroot. Needs root. Throws for an instruction that is not one of {@link INSTRUCTIONS}.
 */
export function buildTarget(target: string, place: BuildPlace, built = new Map<string, BuiltImage>()): BuiltImage {
  const known = built.get(target);
  if (known !== undefined) return known;
  const file = readDockerfile(readFileSync(place.dockerfile, "utf8"));
  const stage = file.stages.find(({ name }) => name === target);
  if (stage === undefined) throw new Error(`${place.dockerfile} has no target ${target}`);
  const image = fillIn(stage.from, { ...file.args, ...place.args });
  const root = join(place.work, target);
  const isStage = file.stages.some(({ name }) => name === image);
  const from = isStage ? buildTarget(image, place, built) : { root: baseRoot(image, place.work), config: EMPTY };
  rmSync(root, { recursive: true, force: true });
  copyRoot(from.root, root);
  const args: Record<string, string> = {};
  let { config } = from;
  for (const step of stage.steps) {
    const run = INSTRUCTIONS[step.instruction];
    if (run === undefined) throw new Error(`${step.instruction} is not known to this build`);
    const rootOf = (name: string) => buildTarget(name, place, built).root;
    const values = { ...config.env, ...args };
    const own = { root, config, args, values, given: place.args ?? {}, context: place.context, rootOf };
    config = { ...config, ...run(own, step) };
  }
  built.set(target, { root, config });
  return { root, config };
}

function copyFiles({ root, config, context, rootOf }: Building, { flags, text }: DockerStep): void {
  const words: string[] = text.startsWith("[") ? JSON.parse(text) : text.split(" ");
  const target = posix.resolve(config.folder, words.at(-1) as string);
  const isFolder = words.pop()?.endsWith("/");
  const source = flags.from === undefined ? context : rootOf(flags.from);
  for (const file of words.flatMap((pattern) => filesOf(source, pattern))) {
    // Of a folder its content is copied.
    const to = join(root, isFolder && !statSync(file).isDirectory() ? posix.join(target, basename(file)) : target);
    // Links stay as they are: their targets are paths of the image.
    cpSync(file, to, { recursive: true, verbatimSymlinks: true });
    if (flags.chmod !== undefined) chmodSync(to, Number.parseInt(flags.chmod, 8));
  }
}

function filesOf(source: string, pattern: string): readonly string[] {
  const [start = "", end] = pattern.split("*");
  const fits = (name: string) => name.startsWith(start) && name.endsWith(end ?? "");
  const names = end === undefined ? [pattern] : readdirSync(source).filter(fits);
  const files = names.map((name) => join(source, name));
  if (files.length === 0 || !files.every((file) => existsSync(file)))
    throw new Error(`COPY ${pattern}: no such file in ${source}`);
  return files;
}
