import { basename, dirname, parse } from "node:path/posix";
import { failedPrecondition, ServingError } from "../../errors.ts";
import type { ListOptions, RemoteFile, RemotePlace, StorageAddress } from "../storage-client.ts";

/** Maximum number of files below one address. */
const MAX_FILES = 10_000;
/** Maximum number of folders within each other that are looked at. */
const MAX_DEPTH = 64;

/** The files at an address: those of a folder, or a file and those next to it whose names begin alike (weights). */
export interface FoundFiles {
  readonly isFolder: boolean;
  /** Sorted by key. */
  readonly files: readonly RemoteFile[];
}

/**
 * Lists the files at an address. Throws `not_found` if there is nothing, `failed_precondition` for too many files,
 * `unavailable` for an answer in another form, and the errors of the place.
 */
export async function findFiles(place: RemotePlace, address: StorageAddress, signal: AbortSignal): Promise<FoundFiles> {
  try {
    return await find(place, address, signal);
  } catch (reason) {
    // Lists are JSON of any form, and their members are read as those of the right one.
    if (!(reason instanceof TypeError)) throw reason;
    throw new ServingError("unavailable", "the server's answer is not a list of files. Check the address", {
      cause: reason,
    });
  }
}

async function find(place: RemotePlace, { key }: StorageAddress, signal: AbortSignal): Promise<FoundFiles> {
  const options = { maxFiles: MAX_FILES, signal };
  const listed = await place.list(key === "" ? "" : `${key}/`, options).catch((reason: unknown) => {
    const { code, message } = ServingError.from(reason);
    if (place.stat !== undefined && code === "permission_denied") return reason;
    // An empty folder is something else than a bucket that is not there, in which nothing could be removed.
    throw code === "not_found" ? failedPrecondition(message, reason) : reason;
  });
  if (!Array.isArray(listed)) return findOne(place, key, { signal, reason: listed });
  const files = withoutFolders(listed.filter(isFile));
  if (files.length > 0) return { isFolder: true, files: sorted(files) };
  return findSiblings(place, key, options);
}

/** Finds one file in a place that may not be listed. */
async function findOne(
  place: RemotePlace,
  key: string,
  { signal, reason }: { readonly signal: AbortSignal; readonly reason: unknown },
): Promise<FoundFiles> {
  const file = await place.stat?.(key, signal).catch(() => undefined);
  if (file === undefined) throw reason;
  return { isFolder: false, files: [file] };
}

async function findSiblings(
  place: RemotePlace,
  key: string,
  options: { readonly maxFiles: number; readonly signal: AbortSignal },
): Promise<FoundFiles> {
  if (key === "") throw nothing();
  const folder = dirname(key) === "." ? "" : `${dirname(key)}/`;
  const stem = `${folder}${parse(key).name}`;
  const isSibling = (file: RemoteFile) => file.key === key || file.key.startsWith(`${stem}.`);
  const files = (await place.list(stem, { ...options, shallow: true })).filter(isFile).filter(isSibling);
  if (!files.some((file) => file.key === key)) throw nothing(files);
  return { isFolder: false, files: sorted(files) };
}

/** Consoles mark an empty folder by an object whose name ends with a slash. */
function isFile({ key }: RemoteFile): boolean {
  return !key.endsWith("/");
}

/** Some programs mark a folder by an empty object of its name. Throws `failed_precondition` for one with content. */
function withoutFolders(files: readonly RemoteFile[]): readonly RemoteFile[] {
  const names = new Set(files.map(({ key }) => key));
  const folders = new Set<string>();
  for (const { key } of files) for (const folder of foldersOf(key)) if (names.has(folder)) folders.add(folder);
  const full = files.find(({ key, bytes }) => bytes !== 0 && folders.has(key));
  if (full === undefined) return files.filter(({ key }) => !folders.has(key));
  throw failedPrecondition(`${JSON.stringify(full.key.slice(0, 200))} is a file and a folder at once; rename one`);
}

/** As far as files may be nested. */
function* foldersOf(key: string): Generator<string> {
  let depth = 0;
  for (let at = key.indexOf("/"); at !== -1 && depth++ < MAX_DEPTH; at = key.indexOf("/", at + 1))
    yield key.slice(0, at);
}

function sorted(files: readonly RemoteFile[]): RemoteFile[] {
  return files.toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

function nothing(near: readonly RemoteFile[] = []): ServingError {
  const names = near.slice(0, 5).map(({ key }) => basename(key));
  const hint = names.length === 0 ? "" : `, only ${names.join(", ")}`;
  return new ServingError(
    "not_found",
    `nothing is there${hint}; expected a model's file, its folder or one of versions`,
  );
}

/** One part of a list. */
export interface ListPage {
  readonly files: readonly RemoteFile[];
  /** Token for the request of the next part; undefined after the last one. */
  readonly next: string | undefined;
}

/** Parts of a list, far more than its greatest number of files take. */
const MAX_PAGES = 10_000;

/**
 * The files of all parts of a list; `ask` gets what the part before has named. Throws {@link tooManyFiles} as soon as
 * there are more, and `unavailable` for a list without end.
 */
export async function listPages(
  { maxFiles }: ListOptions,
  ask: (next: string | undefined) => Promise<ListPage>,
): Promise<RemoteFile[]> {
  const files: RemoteFile[] = [];
  for (let next: string | undefined, isLast = false, pages = 1; !isLast; pages++) {
    const page: ListPage = await ask(next);
    if (files.length + page.files.length > maxFiles) throw tooManyFiles(maxFiles);
    files.push(...page.files);
    isLast = page.next === undefined;
    if (!isLast && (page.next === next || pages === MAX_PAGES))
      throw new ServingError("unavailable", "the server's list does not come to its end");
    next = page.next;
  }
  return files;
}

/** The error for a prefix with more files than any model has. */
export function tooManyFiles(maxFiles: number): ServingError {
  return failedPrecondition(
    `there are more than ${maxFiles} files; expected the address of a model, or of a folder of models`,
  );
}
