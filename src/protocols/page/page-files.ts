import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { gzipSync } from "node:zlib";
import { failedPrecondition } from "../../errors.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";

/** Built; the same from src/ and from dist/. */
const FOLDER = new URL("../../../dist/page/", import.meta.url);
const TYPES = {
  "index.html": "text/html; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "page.css": "text/css; charset=utf-8",
  "icon.svg": "image/svg+xml",
  "licences.txt": "text/plain; charset=utf-8",
} as const;

/** Files of the page. */
export type PageFile = keyof typeof TYPES;

/** Names of the page's other files. */
export const PAGE_FILES = (Object.keys(TYPES) as PageFile[]).filter((name) => name !== "index.html");

/** Nothing but the server's own files is loaded, or asked; images may be a model's answer. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src blob:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const HEADERS = {
  "cache-control": "no-cache",
  "content-security-policy": POLICY,
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

interface ReadyFile {
  readonly plain: Buffer;
  readonly gzip: Buffer;
  readonly etag: string;
}

/** The files of the page as answers, read once. */
export class PageFiles {
  readonly #token: string;
  readonly #ready = new Map<PageFile, ReadyFile>();

  /** `token`: that of the running server, which the page gets. */
  constructor(token: string) {
    this.#token = token;
  }

  /** A file; 304 for a client that has it. Throws `failed_precondition` if the program was built without. */
  answer(name: PageFile, { headers }: IncomingMessage): HttpAnswer {
    const { plain, gzip, etag } = this.#read(name);
    const own = { ...HEADERS, etag };
    const contentType = TYPES[name];
    if (headers["if-none-match"]?.split(/, */).includes(etag))
      return { status: 304, contentType, body: Buffer.alloc(0), headers: { ...own, vary: "Accept-Encoding" } };
    const isGzip = /\bgzip\b/i.test(String(headers["accept-encoding"] ?? ""));
    if (!isGzip) return { contentType, body: plain, headers: { ...own, vary: "Accept-Encoding" } };
    return { contentType, body: gzip, contentEncoding: "gzip", headers: own };
  }

  #read(name: PageFile): ReadyFile {
    const known = this.#ready.get(name);
    if (known !== undefined) return known;
    const plain = name === "index.html" ? this.#withToken(readFile(name)) : readFile(name);
    const etag = `W/"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
    const ready = { plain, gzip: gzipSync(plain, { level: 9 }), etag };
    this.#ready.set(name, ready);
    return ready;
  }

  #withToken(html: Buffer): Buffer {
    return Buffer.from(html.toString().replace("{{token}}", this.#token));
  }
}

function readFile(name: PageFile): Buffer {
  try {
    return readFileSync(new URL(name, FOLDER));
  } catch (cause) {
    throw failedPrecondition(
      "This kserving was built without its page; install it again, or build it by npm run build.",
      cause,
    );
  }
}
