import { dirname } from "node:path";
import type { Source } from "./read-sources.ts";

/** A figure of the sources: `bound` is the most that it may be today, or the least, and `goal` what it is to become. */
export interface Measure {
  readonly point: string;
  readonly figure: (house: House) => number;
  readonly bound: number;
  readonly goal: number;
  /** True for figures that are good if they are large. */
  readonly atLeast?: boolean;
}

/** The sources of `src`, and who imports each. */
export interface House {
  readonly sources: readonly Source[];
  readonly importers: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Builds the table of importers. */
export function toHouse(sources: readonly Source[]): House {
  const importers = new Map(sources.map(({ path }) => [path, new Set<string>()]));
  for (const { path, imports } of sources) for (const name of imports) importers.get(name)?.add(path);
  return { sources, importers };
}

/** Small files that stay apart from their only importer, with the reason. */
const STAYS_APART: Readonly<Record<string, string>> = {
  "src/drivers/null.ts": "a driver, and the example of one",
  "src/client/client.ts": "kserving/client for browsers",
  "src/models/threads/run-model-thread.ts": "where a model's thread begins, by which the build cuts the program",
  "src/cli/commands/completion-command.ts": "a command, as all others have a file",
  "src/protocols/kserve/raw-tensor-jobs.ts":
    "jobs of codec threads; the client for browsers has raw-tensor.ts without them",
  "src/protocols/write-items-job.ts": "what codec threads load",
};

const SMALL_LINES = 40;
const MOST_LINES = 300;

/** Shapes that a request passes as on its way, and an answer on its way back. */
const REQUEST_SHAPES = [
  ...["DecodedInferRequest", "KserveRequest", "CheckedRequest", "InferRequest", "PipelineRequest", "ModelCall"],
  ...["RpcRequest", "WireRecord", "PredictMeta", "WaitingRun", "PredictCall", "RunChoice"],
];
const ANSWER_SHAPES = [
  ...["PipelineResult", "InferResponse", "TimedAnswer", "KserveAnswer", "ExampleAnswer", "JsonAnswer"],
  ...["EncodedAnswer", "UnaryAnswer"],
];

/** Functions that send requests over HTTP, as the files name them. */
const HTTP_CLIENTS = ["fetch", "requestHttp", "requestHttps"];

/** The figures that `npm run check -- house` prints, each with its bound. */
export const MEASURES: readonly Measure[] = [
  ...named("flag", ["sendTimeoutMs", "accessLog", "checkMethodNames"], { bounds: [4, 4, 4], goal: 4 }),
  ...named("fact of a model", ["graphRefusal", "hookPlaces", "maxBatchSize"], { bounds: [4, 4, 4], goal: 4 }),
  ...["priority", "peer", "fromHook"].map((name, index) => ({
    point: `files outside protocols/ with the request's field ${name}`,
    // Frames of HTTP/2 have a priority too.
    figure: (house: House) =>
      filesWith(house, name).filter(({ path }) => !/^src\/(protocols|http2)\//.test(path)).length,
    bound: [2, 2, 2][index] as number,
    goal: 2,
  })),
  { point: "shapes of a request", figure: (house) => declared(house, REQUEST_SHAPES), bound: 6, goal: 6 },
  { point: "shapes of an answer", figure: (house) => declared(house, ANSWER_SHAPES), bound: 5, goal: 5 },
  { point: "% of files with one importer", figure: sharedByNone, bound: 20.8, goal: 20 },
  {
    point: `files of at most ${SMALL_LINES} lines that only a neighbour imports`,
    figure: smallRooms,
    bound: 15,
    goal: 15,
  },
  { point: "source files", figure: ({ sources }) => sources.length, bound: 1350, goal: 1350 },
  { point: "median of their lines", figure: medianLines, bound: 75, goal: 75, atLeast: true },
  { point: `files over ${MOST_LINES} lines`, figure: ({ sources }) => longer(sources).length, bound: 0, goal: 0 },
  { point: "folders in src", figure: ({ sources }) => foldersOf(sources).length, bound: 20, goal: 20 },
  { point: "files that connect to gRPC servers", figure: grpcClients, bound: 1, goal: 1 },
  { point: "files that call HTTP servers", figure: httpClients, bound: 2, goal: 2 },
  { point: "type assertions in 1000 lines", figure: casts, bound: 9.8, goal: 9 },
  { point: "% of exports with a doc comment", figure: documented, bound: 99.2, goal: 99, atLeast: true },
  ...commented(/\bwhere\b/i, "where", { bound: 300, goal: 300 }),
  ...commented(/\bwhat is\b/i, "what is", { bound: 20, goal: 20 }),
  ...commented(/\bof its own\b/i, "of its own", { bound: 20, goal: 20 }),
];

function named(kind: string, names: readonly string[], { bounds, goal }: { bounds: readonly number[]; goal: number }) {
  return names.map((name, index) => ({
    point: `files with the ${kind} ${name}`,
    figure: (house: House) => filesWith(house, name).length,
    bound: bounds[index] as number,
    goal,
  }));
}

function commented(pattern: RegExp, words: string, limits: { bound: number; goal: number }): Measure[] {
  const figure = ({ sources }: House) =>
    sources.flatMap(({ comments }) => comments()).filter((line) => pattern.test(line)).length;
  return [{ point: `lines of comments with "${words}"`, figure, ...limits }];
}

function filesWith({ sources }: House, name: string): Source[] {
  return sources.filter(({ names }) => names.has(name));
}

function declared({ sources }: House, shapes: readonly string[]): number {
  const types = new Set(sources.flatMap((source) => source.types));
  return shapes.filter((shape) => types.has(shape)).length;
}

function sharedByNone({ sources, importers }: House): number {
  return percent(sources.filter(({ path }) => importers.get(path)?.size === 1).length, sources.length);
}

/** Small files whose only importer is in the same folder, and that have no reason to be files. */
export function smallNeighbours({ sources, importers }: House): string[] {
  const small = sources.filter(({ path, lines }) => lines <= SMALL_LINES && STAYS_APART[path] === undefined);
  return small.flatMap(({ path }) => {
    const [importer, ...others] = importers.get(path) ?? [];
    return importer !== undefined && others.length === 0 && dirname(importer) === dirname(path) ? [path] : [];
  });
}

function smallRooms(house: House): number {
  return smallNeighbours(house).length;
}

function medianLines({ sources }: House): number {
  return sources.map(({ lines }) => lines).sort((a, b) => a - b)[Math.floor(sources.length / 2)] ?? 0;
}

function longer(sources: readonly Source[]): Source[] {
  return sources.filter(({ lines }) => lines > MOST_LINES);
}

function foldersOf(sources: readonly Source[]): string[] {
  return [...new Set(sources.flatMap(({ path }) => /^src\/[^/]+(?=\/)/.exec(path) ?? []))];
}

function grpcClients({ sources }: House): number {
  return sources.filter(
    ({ imports, calls }) =>
      (imports.has("@grpc/grpc-js") && calls.has("Client")) || (imports.has("node:http2") && calls.has("connect")),
  ).length;
}

function httpClients({ sources }: House): number {
  return sources.filter(({ calls }) => HTTP_CLIENTS.some((name) => calls.has(name))).length;
}

function casts({ sources }: House): number {
  const lines = sources.reduce((sum, source) => sum + source.lines, 0);
  return Math.round((sources.reduce((sum, source) => sum + source.casts, 0) / lines) * 10_000) / 10;
}

function documented({ sources }: House): number {
  const all = sources.reduce((sum, { exports }) => sum + exports.all, 0);
  return percent(
    sources.reduce((sum, { exports }) => sum + exports.documented, 0),
    all,
  );
}

function percent(part: number, all: number): number {
  return Math.round((part / all) * 1000) / 10;
}
