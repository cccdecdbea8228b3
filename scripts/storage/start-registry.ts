import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { goProgram } from "./installed-program.ts";
import type { RealServer } from "./real-server.ts";
import { startProgram } from "./start-program.ts";

const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const EMPTY = Buffer.from("{}");

/** The registry of the CNCF's project Distribution, built with Go. */
export async function startRegistry(): Promise<RealServer> {
  const { program, version } = await goProgram("registry", "github.com/distribution/distribution/v3/cmd/registry");
  const { port, stop } = await startProgram((port, folder) => {
    const config = join(folder, "config.json");
    const storage = { filesystem: { rootdirectory: folder } };
    writeFileSync(config, JSON.stringify({ version: 0.1, storage, http: { addr: `127.0.0.1:${port}` } }));
    return { command: [program, "serve", config] };
  });
  const layers = new Map<string, object>();
  const base = `http://127.0.0.1:${port}/v2/models-check`;
  return {
    port,
    version,
    bucket: (own) => `oci://127.0.0.1:${own}/models-check:v1`,
    env: () => ({ DOCKER_CONFIG: "none" }),
    put: async (key, content) => {
      const annotations = { "org.opencontainers.image.title": key };
      layers.set(key, { ...(await upload(base, content)), annotations });
      const config = { ...(await upload(base, EMPTY)), mediaType: "application/vnd.oci.empty.v1+json" };
      const manifest = { schemaVersion: 2, mediaType: MANIFEST, config, layers: [...layers.values()] };
      const headers = { "content-type": MANIFEST };
      await send(`${base}/manifests/v1`, { method: "PUT", headers, body: JSON.stringify(manifest) });
    },
    stop,
  };
}

/** https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pushing-a-blob-monolithically */
async function upload(base: string, content: Uint8Array) {
  const digest = `sha256:${createHash("sha256").update(content).digest("hex")}`;
  const begun = await send(`${base}/blobs/uploads/`, { method: "POST" });
  const url = new URL(begun.headers.get("location") ?? "", base);
  url.searchParams.set("digest", digest);
  await send(url, {
    method: "PUT",
    headers: { "content-type": "application/octet-stream" },
    body: Buffer.from(content),
  });
  return { mediaType: "application/octet-stream", digest, size: content.length };
}

async function send(url: string | URL, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (!response.ok) throw new Error(`${url} answers ${response.status}: ${await response.text()}`);
  return response;
}
