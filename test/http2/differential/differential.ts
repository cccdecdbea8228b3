import { readFileSync } from "node:fs";
import type { Random } from "../../grpc/random.ts";
import { change } from "./change.ts";
import { describe, type Piece, readConversation, writeConversation } from "./conversation.ts";
import { explanationOf } from "./explained.ts";
import { type Outcome, observe } from "./observe.ts";
import { oddFields, oddFrames } from "./oddities.ts";
import type { Servers } from "./servers.ts";

const FILE = new URL("../../fixtures/http2/recordings.json", import.meta.url);
/** Time without a word after which a server is taken to have nothing to say, in milliseconds. */
const QUIET_MS = 60;
/** Runs of a conversation alone that differ alike before it counts, however busy the machine was. */
const DOUBTS = 2;
/** Conversations that are kept for a difference until then: the first may be one that was late. */
const KEPT = 3;
const AT_A_TIME = 24;

/** A difference that nothing explains. */
interface Difference {
  readonly what: string;
  /** The frames of the shortest conversation that was found for it. */
  readonly frames: readonly string[];
}

/** Results of many conversations. */
export interface DifferentialResult {
  readonly conversations: number;
  /** Number of differences by their explanation. */
  readonly explained: ReadonlyMap<string, number>;
  readonly unexplained: readonly Difference[];
}

/** All that real clients sent, by their names (test/fixtures/make/http2-recordings.ts). */
export function recordedBytes(): Readonly<Record<string, Buffer>> {
  const texts: Readonly<Record<string, string>> = JSON.parse(readFileSync(FILE, "utf8"));
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text, "base64")]));
}

/** The same in frames. */
export function recordings(): Readonly<Record<string, readonly Piece[]>> {
  return Object.fromEntries(Object.entries(recordedBytes()).map(([name, bytes]) => [name, readConversation(bytes)]));
}

/** Sends changed recordings to both servers for as long as `goesOn` says, and gathers how they differ. */
export async function compareServers(
  servers: Servers,
  random: Random,
  goesOn: (conversations: number) => boolean,
): Promise<DifferentialResult> {
  const all = Object.values(recordings());
  const explained = new Map<string, number>();
  const doubtful = new Map<string, (readonly Piece[])[]>();
  let conversations = 0;
  const work = async () => {
    while (goesOn(conversations)) {
      conversations++;
      const pieces = change(random.pick(all), random);
      for (const what of await differences(servers, pieces, QUIET_MS)) {
        const why = explanationOf(what);
        if (why !== undefined) explained.set(why, (explained.get(why) ?? 0) + 1);
        else if ((await differences(servers, pieces, servers.doubtMs)).includes(what)) keep(doubtful, what, pieces);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return { conversations, explained, unexplained: await verify(servers, doubtful) };
}

/** A difference that nothing explains, the first of a number of conversations; undefined if there is none. */
export async function findDifference(servers: Servers, random: Random, most: number): Promise<string | undefined> {
  const all = Object.values(recordings());
  for (let conversations = 0; conversations < most; conversations++) {
    const pieces = change(random.pick(all), random);
    for (const what of await differences(servers, pieces, QUIET_MS))
      if (explanationOf(what) === undefined && (await isSure(servers, pieces, what))) return what;
  }
  return undefined;
}

function keep(doubtful: Map<string, (readonly Piece[])[]>, what: string, pieces: readonly Piece[]): void {
  const kept = doubtful.get(what) ?? [];
  if (kept.length < KEPT) kept.push(pieces);
  doubtful.set(what, kept);
}

async function verify(
  servers: Servers,
  doubtful: ReadonlyMap<string, readonly (readonly Piece[])[]>,
): Promise<Difference[]> {
  const found: Difference[] = [];
  for (const [what, conversations] of doubtful) {
    for (const pieces of conversations) {
      if (!(await isSure(servers, pieces, what))) continue;
      found.push({ what, frames: (await shorten(servers, pieces, what)).map(describe) });
      break;
    }
  }
  return found;
}

async function isSure(servers: Servers, pieces: readonly Piece[], what: string): Promise<boolean> {
  for (let run = 0; run < DOUBTS; run++) {
    if (!(await differences(servers, pieces, servers.doubtMs)).includes(what)) return false;
  }
  return true;
}

async function shorten(servers: Servers, original: readonly Piece[], what: string): Promise<readonly Piece[]> {
  let pieces = original;
  for (let at = pieces.length - 1; at >= 0; at--) {
    const fewer = pieces.toSpliced(at, 1);
    if ((await differences(servers, fewer, servers.doubtMs)).includes(what)) pieces = fewer;
  }
  return pieces;
}

/**
 * Differences of the servers' outcomes: of the connection's end, else of what came on streams, without their numbers. A
 * connection that both end may end before or after what comes on its streams.
 */
async function differences({ ours, nodes }: Servers, pieces: readonly Piece[], quietMs: number): Promise<string[]> {
  const bytes = writeConversation(pieces);
  const cut = bytes.length > 100 ? Math.floor(bytes.length / 2) : bytes.length;
  const [port, { deaths }] = [await nodes.port(), nodes];
  const [our, node] = await Promise.all([observe(ours, bytes, cut, quietMs), observe(port, bytes, cut, quietMs)]);
  // The operating system tells of the connection's end first.
  if (node.end === "closed") await new Promise((resolve) => setTimeout(resolve, quietMs));
  return compare(our, nodes.deaths === deaths ? node : { ...node, end: "died" }, pieces);
}

function compare(ours: Outcome, nodes: Outcome, pieces: readonly Piece[]): string[] {
  if (ours.end !== nodes.end) return [toText(endOf(ours), endOf(nodes), oddFrames(pieces))];
  if (ours.end !== "open") return [];
  const ids = new Set([...Object.keys(ours.streams), ...Object.keys(nodes.streams)]);
  const differing = [...ids].filter((id) => ours.streams[id] !== nodes.streams[id]);
  const texts = differing.map((id) =>
    toText(ours.streams[id] ?? "nothing", nodes.streams[id] ?? "nothing", oddFields(pieces, Number(id))),
  );
  return [...new Set(texts)];
}

/** With the resets of a connection that stays open. */
function endOf({ end, why, streams }: Outcome): string {
  const resets = new Set(Object.values(streams).flatMap((text) => /reset \d+/.exec(text) ?? []));
  return [end, why && `(${why})`, ...(end === "open" ? [...resets].toSorted() : [])].filter(Boolean).join(" ");
}

/** Values of an answer that differ from conversation to conversation. */
const VALUES = { head: /(?<=x-head )\w+/, count: /(?<=x-bytes )\w+/, bytes: /\d+(?= bytes)/ };

/** Names of those of which the servers have different ones. */
function otherValues(ours: string, nodes: string): string[] {
  return Object.entries(VALUES).flatMap(([name, value]) => {
    const [our, node] = [value.exec(ours), value.exec(nodes)];
    return our !== null && node !== null && our[0] !== node[0] ? [`another ${name}`] : [];
  });
}

/** Without those values, unless they alone are the difference. */
function toText(ours: string, nodes: string, odd: readonly string[]): string {
  const [our, node] = [ours, nodes].map((text) => text.trim().replace(/stream \d+/g, "stream N")) as [string, string];
  const [ourKind, nodeKind] = [our, node].map((text) => text.replace(/(x-head|x-bytes) \w+|\d+ (?=bytes)/g, "$1"));
  const both = ourKind === nodeKind ? `ours: ${our} | node: ${node}` : `ours: ${ourKind} | node: ${nodeKind}`;
  const all = ourKind === nodeKind ? odd : [...otherValues(our, node), ...odd];
  return all.length === 0 ? both : `${both} | ${all.join(", ")}`;
}
