import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { startWeb } from "../start-web.ts";

/** Something with a digest, for a manifest. */
interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A registry with one repository. */
export class ToyRegistry {
  /** Method and path of each request. */
  readonly requests: string[] = [];
  readonly blobs = new Map<string, Buffer>();
  readonly tags = new Map<string, string>();
  /** Basic authentication, directly or for a token, if clients have to log in. */
  login: { readonly kind: "Basic" | "Bearer"; readonly user: string } | undefined;
  /** Changes what is sent for a digest. */
  tamper: ((digest: string, body: Buffer) => Buffer) | undefined;
  /** Parameters of a challenge before those of the toy. */
  challenge = "";
  /** `HOST:PORT`. */
  host = "";
  #repository: string;

  /** Starts it until the test ends. */
  static async start(repository: string): Promise<ToyRegistry> {
    const toy = new ToyRegistry(repository);
    toy.host = new URL(await startWeb((request, response) => toy.#answer(request, response))).host;
    return toy;
  }

  private constructor(repository: string) {
    this.#repository = repository;
  }

  blob(mediaType: string, body: string | Buffer, annotations?: Readonly<Record<string, string>>): Descriptor {
    const bytes = Buffer.from(body as string);
    const digest = digestOf(bytes);
    this.blobs.set(digest, bytes);
    return { mediaType, digest, size: bytes.length, ...(annotations && { annotations }) };
  }

  /** Stores a manifest, and lets a tag stand for it. */
  push(tag: string, manifest: object): Descriptor {
    const mediaType = "manifests" in manifest ? "index" : "manifest";
    const own = this.blob(
      `application/vnd.oci.image.${mediaType}.v1+json`,
      JSON.stringify({ schemaVersion: 2, ...manifest }),
    );
    this.tags.set(tag, own.digest);
    return own;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "", `http://${this.host}`);
    this.requests.push(`${request.method} ${url.pathname}`);
    const [, kind, reference = ""] =
      new RegExp(`^/v2/${this.#repository}/(manifests|blobs)/(.+)$`).exec(url.pathname) ?? [];
    const digest = (kind === "manifests" ? this.tags.get(reference) : undefined) ?? reference;
    const body = this.blobs.get(digest);
    if (url.pathname === "/token") this.#giveToken(url, request, response);
    else if (!this.#isAllowed(request)) this.#challenge(response);
    else if (kind === undefined) refuse(response, 404, "NAME_UNKNOWN", "repository name not known to registry");
    else if (body === undefined) refuse(response, 404, "MANIFEST_UNKNOWN", `manifest unknown: ${reference}`);
    else send(this.tamper?.(digest, body) ?? body, digest, { request, response });
  }

  #isAllowed({ headers }: IncomingMessage): boolean {
    if (this.login === undefined) return true;
    const basic = `Basic ${Buffer.from(this.login.user).toString("base64")}`;
    return headers.authorization === (this.login.kind === "Basic" ? basic : "Bearer t0ken");
  }

  #challenge(response: ServerResponse): void {
    const challenge =
      this.login?.kind === "Basic"
        ? 'Basic realm="toy"'
        : `Bearer ${this.challenge}realm="http://${this.host}/token",service="toy"`;
    response.setHeader("www-authenticate", challenge);
    refuse(response, 401, "UNAUTHORIZED", "authentication required");
  }

  #giveToken({ searchParams }: URL, { headers }: IncomingMessage, response: ServerResponse): void {
    const isRight =
      headers.authorization === `Basic ${Buffer.from(this.login?.user ?? "").toString("base64")}` &&
      searchParams.get("service") === "toy" &&
      searchParams.get("scope") === `repository:${this.#repository}:pull`;
    if (isRight) response.end('{"token":"t0ken","expires_in":300}');
    else refuse(response, 401, "UNAUTHORIZED", "incorrect username or password");
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

function send(body: Buffer, digest: string, { request, response }: Exchange): void {
  const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
  const range = { "content-range": `bytes ${start}-${body.length - 1}/${body.length}` };
  const head = { "docker-content-digest": digest, "content-length": body.length - start };
  response.writeHead(start > 0 ? 206 : 200, { ...head, ...(start > 0 && range) });
  response.end(request.method === "HEAD" ? undefined : body.subarray(start));
}

function digestOf(body: Uint8Array | string): string {
  return `sha256:${createHash("sha256").update(body).digest("hex")}`;
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ errors: [{ code, message }] }));
}
