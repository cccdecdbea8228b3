import type { IncomingMessage } from "node:http";
import { ServingError } from "../errors.ts";

/** A checksum that a server has for a file. */
export interface Checksum {
  /**
   * `git`: SHA-1 of a blob as git has it, with its header. `crc32c`: in base64, as the
   * servers send it; others in hexadecimal.
   */
  readonly algorithm: "md5" | "sha1" | "sha256" | "git" | "crc32c";
  readonly value: string;
}

/** A file on a server. */
export interface RemoteFile {
  /**
   * Its complete name on the server, with forward slashes and without one at the beginning; anything may stand here.
   */
  readonly key: string;
  /** Undefined if the server does not tell. */
  readonly bytes: number | undefined;
  /** Changes with the content. */
  readonly etag: string;
  /**
   * State of the place in which the file was listed, and from which it is read; other
   * than the ETag it may change without the content.
   */
  readonly revision?: string;
  /** Time of the last change, in milliseconds since 1970, if it is known. */
  readonly changedMs?: number | undefined;
  readonly checksum?: Checksum | undefined;
  /**
   * Set for an archive that is unpacked in its place, whatever its name says; files
   * outside of the folder `within` are passed over.
   */
  readonly archive?: ArchiveContent;
}

/** The part of an archive that is of use. */
export interface ArchiveContent {
  readonly within?: string;
  /** Replaces and removes files of the archives before it. */
  readonly isLayer?: boolean;
}

/** Content of a file from an offset on. */
export interface RemoteContent {
  readonly stream: IncomingMessage;
  /** Bytes that the server says it sends; undefined if it does not. */
  readonly bytes: number | undefined;
  /** Offset of the first byte: 0 if the server sends the whole file in spite of the request. */
  readonly offset: number;
  /** A checksum in the answer, in addition to the list. */
  readonly checksum?: Checksum | undefined;
}

/** Limits of a list. */
export interface ListOptions {
  /** Throws {@link tooManyFiles} for more. */
  readonly maxFiles: number;
  readonly signal: AbortSignal;
}

/** A bucket, container, repository or web server, with what it takes to read from it. */
export interface RemotePlace {
  /** The files whose keys begin with a prefix; with `shallow`, without those that have a slash after it. */
  list(prefix: string, options: ListOptions & { readonly shallow?: boolean }): Promise<RemoteFile[]>;
  /** One file, for places that do not let this caller list them; undefined if it is not there. */
  stat?(key: string, signal: AbortSignal): Promise<RemoteFile | undefined>;
  /** Reads a file that has not changed since it was listed; throws `aborted` for one that has. */
  open(file: RemoteFile, offset: number, signal: AbortSignal): Promise<RemoteContent>;
}

/** An address that can be read. */
export interface StorageAddress {
  /** For people, without secrets: `s3://bucket/models/face`. */
  readonly title: string;
  /** Without a slash at either end; empty for the whole place. */
  readonly key: string;
  /** SHA-256 that the file has to have, in hexadecimal. */
  readonly sha256?: string;
  /** Opens the place; cheap, and without requests. */
  open(): RemotePlace;
}

/** Reads addresses of some schemes. */
export interface StorageClient {
  /** Throws `invalid_argument` for one that it cannot read. */
  parse(address: string): StorageAddress;
}

/**
 * The content in an answer to a request for a file, or for the rest of one; throws
 * `unavailable` if it cannot be told which part it is.
 */
export function toContent(response: IncomingMessage, checksum?: Checksum): RemoteContent {
  const { "content-length": length, "content-range": range } = response.headers;
  const start = /^bytes (\d+)-/.exec(range ?? "")?.[1];
  const offset = response.statusCode === 206 && start !== undefined ? Number(start) : 0;
  if (response.statusCode === 206 && start === undefined) {
    response.destroy();
    throw new ServingError("unavailable", "the server sends a part of the file, and does not say which");
  }
  return { stream: response, bytes: length === undefined ? undefined : Number(length), offset, checksum };
}
