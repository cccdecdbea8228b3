import { withRegularFile } from "../repository/warm-up/open-regular-file.ts";

/** First bytes of files that people take for request logs, in hexadecimal, with what to do. */
const KINDS: readonly (readonly [string, string])[] = [
  ["1f8b", "is compressed by gzip. Unpack it first, with gunzip."],
  ["28b52ffd", "is compressed by zstd. Unpack it first, with zstd -d."],
  ["504b0304", "is a zip archive. Unpack it first."],
  ["894844460d0a1a0a", "is an HDF5 file, as Keras writes models. Serve it with --model-path."],
];

/** The reason why a file does not have recorded requests, and the remedy, derived from its first bytes. */
export function foreignFile(path: string): Promise<string> {
  return withRegularFile(path, path, async ({ file, size }) => {
    if (size === 0) return `${path} is empty. A request log has its first records a moment after the first requests.`;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0);
    const head = buffer.subarray(0, bytesRead);
    const known = KINDS.find(([start]) => head.toString("hex").startsWith(start));
    if (known !== undefined) return `${path} ${known[1]}`;
    if (/^\s*[[{]/.test(head.toString("latin1")))
      return `${path} is JSON. Send such a request with curl, or warm a model up with it (--warmup FILE); replay takes the TFRecord files of --request-log.`;
    return `${path} is not a TFRecord file. Expected a request log (--request-log), or warm-up requests of TensorFlow Serving.`;
  });
}
