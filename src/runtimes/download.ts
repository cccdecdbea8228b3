import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { ServingError } from "../errors.ts";
import { megabytes } from "../text/megabytes.ts";
import { checkSpace } from "./disk.ts";
import { openUrl } from "./open-url.ts";
import type { Reporter } from "./reporter.ts";

/** One download. */
export interface Download {
  readonly url: string;
  /** The file to write; must not exist. */
  readonly target: string;
  /** Hexadecimal; undefined where it is unknown. */
  readonly sha256: string | undefined;
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
}

/**
 * Downloads a file to disk, chunk by chunk, and compares its hash. Throws `data_loss` for another hash,
 * `unavailable` for a download that breaks off, `resource_exhausted` for a disk without room.
 */
export async function download({ url, target, sha256, signal, reporter }: Download): Promise<void> {
  const { body, headers } = await openUrl(url, { signal, what: "file server" });
  const totalBytes = Number(headers.get("content-length")) || undefined;
  await checkSpace(dirname(target), totalBytes ?? 0);
  const hash = createHash("sha256");
  let doneBytes = 0;
  async function* measured(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
    try {
      for await (const chunk of chunks) {
        hash.update(chunk);
        doneBytes += chunk.length;
        reporter.progress(doneBytes, totalBytes);
        yield chunk;
      }
    } catch (cause) {
      throw signal.aborted ? cause : brokenOff(doneBytes, totalBytes, cause);
    }
  }
  const file = createWriteStream(target, { flags: "wx" });
  await pipeline(measured(body ?? []), file, { signal }).finally(() => reporter.done());
  if (sha256 !== undefined && hash.digest("hex") !== sha256.toLowerCase()) throw otherHash(url);
}

function brokenOff(doneBytes: number, totalBytes: number | undefined, cause: unknown): ServingError {
  const total = totalBytes === undefined ? "" : ` of ${megabytes(totalBytes)}`;
  const message = `The download broke off after ${megabytes(doneBytes)}${total}. Run the same command again.`;
  return new ServingError("unavailable", message, { cause });
}

function otherHash(url: string): ServingError {
  const name = new URL(url).pathname.split("/").at(-1);
  const message = `The download ${name} is not the file that the package index announced: its SHA-256 differs. Nothing was installed; try again, or ask who runs the index.`;
  return new ServingError("data_loss", message);
}
