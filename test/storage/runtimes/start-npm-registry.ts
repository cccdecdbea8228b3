import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/**
 * Starts an npm registry on loopback with one version of some packages, and returns its address. `lies` = it states the
 * integrity of other archives.
 */
export async function startNpmRegistry(
  version: string,
  archives: Readonly<Record<string, Buffer>>,
  lies = false,
): Promise<string> {
  const server = createServer((request, response) => {
    const [, name = "", file] = decodeURIComponent(request.url ?? "").split("/");
    const archive = archives[name];
    const host = `http://${request.headers.host}`;
    if (archive === undefined) response.writeHead(404).end("{}");
    else if (file !== undefined) response.writeHead(200).end(archive);
    else sendPackument(response, { name, version, host, archive: lies ? Buffer.from("other") : archive });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

interface Packument {
  readonly name: string;
  readonly version: string;
  readonly host: string;
  readonly archive: Buffer;
}

function sendPackument(response: ServerResponse, { name, version, host, archive }: Packument): void {
  const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  const dist = { tarball: `${host}/${name}/${name}-${version}.tgz`, integrity };
  const body = { name, "dist-tags": { latest: version }, versions: { [version]: { name, version, dist } } };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}
