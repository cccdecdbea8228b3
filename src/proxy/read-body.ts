import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { ServingError } from "../errors.ts";
import { HttpError } from "./http-errors.ts";

const inflate = promisify(gunzip);

/**
 * The whole body of a request, inflated if it is gzip. More than `maxBytes`, compressed or not, is refused with 413: by
 * Content-Length before anything is read, else as soon as the limit is passed.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const encoding = request.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  const isGzip = encoding.includes("gzip");
  if (!isGzip && encoding !== "identity" && encoding !== "") {
    throw new HttpError(415, `Content-Encoding "${encoding}" is not supported; send gzip, or no encoding.`);
  }
  if (Number(request.headers["content-length"]) > maxBytes) throw tooLarge(maxBytes);
  const body = await collect(request, maxBytes);
  return isGzip ? inflateBody(body, maxBytes) : body;
}

function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const add = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      request.off("data", add);
      reject(tooLarge(maxBytes));
    };
    request.on("data", add);
    request.once("end", () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)));
    request.once("error", (cause) => {
      reject(
        new ServingError("cancelled", "The client closed the connection before its body was complete.", { cause }),
      );
    });
  });
}

async function inflateBody(body: Buffer, maxBytes: number): Promise<Buffer> {
  try {
    return await inflate(body, { maxOutputLength: maxBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(maxBytes);
    throw new ServingError("invalid_argument", "The body is not valid gzip data, as its Content-Encoding says.", {
      cause,
    });
  }
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError(413, `The body is larger than ${maxBytes} bytes, the most that this server takes.`);
}
