import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setEnv } from "../set-env.ts";
import { startWeb } from "../start-web.ts";

/** A hub with one repository, whose large files are on another server, as the real one has them. */
export class ToyHf {
  readonly files = new Map<string, Buffer>();
  /** Path and query of each request to the hub, and whether it came with a token. */
  readonly requests: string[] = [];
  /** Headers of the requests to the other server. */
  readonly elsewhere: IncomingMessage["headers"][] = [];
  commit = "1".repeat(40);
  /** Undefined: the repository is public. */
  token: string | undefined;
  pageSize = 1000;
  /** Links before the one to the next part of a list. */
  links = "";
  /** A reaction to a request to the other server instead of an answer; true = there was one. */
  fault: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  endpoint = "";
  #cdn = "";
  #name: string;

  /**
   * Starts it until the test ends, in place of the public one and without a token. Files
   * of more than 100 bytes are large.
   */
  static async start(name: string, files: Readonly<Record<string, string | Buffer>>): Promise<ToyHf> {
    const toy = new ToyHf(name);
    for (const [path, body] of Object.entries(files)) toy.files.set(path, Buffer.from(body as string));
    toy.#cdn = await startWeb((request, response) => toy.#answerLarge(request, response));
    toy.endpoint = await startWeb((request, response) => toy.#answer(request, response));
    setEnv({ HF_ENDPOINT: toy.endpoint, HF_TOKEN: "", HF_TOKEN_PATH: "none" });
    return toy;
  }

  private constructor(name: string) {
    this.#name = name;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { authorization } = request.headers;
    const url = new URL(request.url ?? "", this.endpoint);
    this.requests.push(request.url ?? "");
    const [, kind, rest = ""] = new RegExp(`^/(api/models/${this.#name}|${this.#name})/(.*)$`).exec(url.pathname) ?? [];
    const [action, revision = "", ...path] = rest.split("/").map(decodeURIComponent);
    if (kind === undefined || (this.token !== undefined && authorization !== `Bearer ${this.token}`))
      refuse(response, 401, "Invalid username or password.");
    else if (!["main", "refs/pr/1", this.commit].includes(revision))
      refuse(response, 404, `Invalid rev id: ${revision}`);
    else if (action === "revision") response.end(JSON.stringify({ id: this.#name, sha: this.commit }));
    else if (action === "tree") this.#tree(path.join("/"), url, response);
    else this.#resolve(path.join("/"), request, response);
  }

  #tree(folder: string, url: URL, response: ServerResponse): void {
    const start = folder === "" ? "" : `${folder}/`;
    const isRecursive = url.searchParams.get("recursive") === "true";
    const paths = [...this.files.keys()]
      .filter((path) => path.startsWith(start) && (isRecursive || !path.slice(start.length).includes("/")))
      .sort();
    if (paths.length === 0) {
      refuse(response, 404, `${folder} does not exist on "main"`);
      return;
    }
    const from = Number(url.searchParams.get("cursor") ?? 0);
    const page = paths.slice(from, from + this.pageSize);
    url.searchParams.set("cursor", String(from + this.pageSize));
    if (from + this.pageSize < paths.length) response.setHeader("link", `${this.links}<${url}>; rel="next"`);
    const directory = { type: "directory", oid: "2".repeat(40), size: 0, path: `${start}folder` };
    response.end(JSON.stringify([directory, ...page.map((path) => entryOf(path, this.files.get(path) as Buffer))]));
  }

  #resolve(path: string, request: IncomingMessage, response: ServerResponse): void {
    const body = this.files.get(path);
    if (body === undefined) refuse(response, 404, "Entry not found");
    else if (body.length > 100)
      response.writeHead(302, { location: `${this.#cdn}/${encodeURIComponent(path)}?sig=s1g` }).end();
    else send(body, request, response);
  }

  #answerLarge(request: IncomingMessage, response: ServerResponse): void {
    this.elsewhere.push(request.headers);
    const path = decodeURIComponent(new URL(request.url ?? "", this.#cdn).pathname.slice(1));
    if (!this.fault?.(request, response)) send(this.files.get(path) ?? Buffer.alloc(0), request, response);
  }
}

function entryOf(path: string, body: Buffer) {
  const git = createHash("sha1").update(`blob ${body.length}\0`).update(body).digest("hex");
  const plain = { type: "file", oid: git, size: body.length, path };
  if (body.length <= 100) return plain;
  const oid = createHash("sha256").update(body).digest("hex");
  return { ...plain, oid: "3".repeat(40), lfs: { oid, size: body.length, pointerSize: 134 }, xetHash: "4".repeat(64) };
}

function send(body: Buffer, { headers }: IncomingMessage, response: ServerResponse): void {
  const start = Number(/^bytes=(\d+)-/.exec(headers.range ?? "")?.[1] ?? 0);
  const range = { "content-range": `bytes ${start}-${body.length - 1}/${body.length}` };
  response.writeHead(start > 0 ? 206 : 200, { "content-length": body.length - start, ...(start > 0 && range) });
  response.end(body.subarray(start));
}

function refuse(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error }));
}
