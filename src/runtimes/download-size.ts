import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { limitedSignal } from "../async/limited-signal.ts";

/** Milliseconds that a request for the size may take; it is worth no more waiting. */
const HEAD_MS = 10_000;

/** Number of bytes to download, as far as the servers report it. */
export interface DownloadSize {
  readonly bytes: number;
  /** False where some servers do not report it. */
  readonly isComplete: boolean;
}

/** Requests the sizes of files; never fails without an answer. */
export async function findDownloadSize(urls: readonly string[], signal: AbortSignal): Promise<DownloadSize> {
  const sizes = await Promise.all(urls.map((url) => sizeOf(url, signal).catch(() => undefined)));
  return { bytes: sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0), isComplete: !sizes.includes(undefined) };
}

async function sizeOf(url: string, signal: AbortSignal): Promise<number | undefined> {
  if (url.startsWith("file:")) return (await stat(fileURLToPath(url))).size;
  const response = await fetch(url, { method: "HEAD", signal: limitedSignal(signal, HEAD_MS) });
  const length = response.ok ? response.headers.get("content-length") : null;
  return length === null ? undefined : Number(length);
}
