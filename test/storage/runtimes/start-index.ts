import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** Content and faults of an index. */
export interface IndexOptions {
  /** The one project it has. */
  readonly project: string;
  /** Bytes by file name. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Its pages in JSON (PEP 691); else in HTML (PEP 503). */
  readonly json?: boolean;
  /** Hexadecimal hashes in place of the true ones, by file name. */
  readonly sha256?: Readonly<Record<string, string>>;
  /** Answers requests for files itself. */
  readonly serveFile?: (response: ServerResponse, bytes: Uint8Array) => void;
  /** `USER:PASSWORD` that every request has to carry. */
  readonly password?: string;
}

/**
 * Starts a Python package index on loopback; returns its address, with user and
 * password, and the paths that were asked for.
 */
export async function startIndex(options: IndexOptions): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    answer(request, response, options);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const user = options.password === undefined ? "" : `${options.password}@`;
  return { url: `http://${user}127.0.0.1:${(server.address() as AddressInfo).port}/simple`, asked };
}

function answer(request: IncomingMessage, response: ServerResponse, options: IndexOptions): void {
  const { project, files, password, serveFile = sendFile } = options;
  const wanted = password === undefined ? undefined : `Basic ${Buffer.from(password).toString("base64")}`;
  const bytes = files[decodeURIComponent(request.url?.replace("/files/", "") ?? "")];
  if (request.headers.authorization !== wanted) response.writeHead(401).end();
  else if (request.url === `/simple/${project}/`) sendPage(response, options);
  else if (bytes !== undefined) serveFile(response, bytes);
  else response.writeHead(404).end();
}

function sendFile(response: ServerResponse, bytes: Uint8Array): void {
  response.writeHead(200, { "content-length": bytes.length }).end(bytes);
}

function sendPage(response: ServerResponse, { project, files, json, sha256 }: IndexOptions): void {
  const entries = Object.entries(files).map(([name, bytes]) => {
    const hash = sha256?.[name] ?? createHash("sha256").update(bytes).digest("hex");
    return { filename: name, url: `../../files/${encodeURIComponent(name)}`, hashes: { sha256: hash } };
  });
  if (json) {
    const type = { "content-type": "application/vnd.pypi.simple.v1+json" };
    response
      .writeHead(200, type)
      .end(JSON.stringify({ meta: { "api-version": "1.1" }, name: project, files: entries }));
    return;
  }
  const anchors = entries.map(
    ({ filename, url, hashes }) =>
      `<a href="${url}#sha256=${hashes.sha256}" data-requires-python="&gt;=3.10">${filename}</a><br/>`,
  );
  const page = `<!DOCTYPE html><html><body><h1>Links for ${project}</h1>\n${anchors.join("\n")}</body></html>`;
  response.writeHead(200, { "content-type": "text/html" }).end(page);
}
