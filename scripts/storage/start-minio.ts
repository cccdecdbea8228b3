import { createHash } from "node:crypto";
import { escapeS3, signV4 } from "../../src/storage/s3/sign-v4.ts";
import { goProgram } from "./installed-program.ts";
import type { RealServer } from "./real-server.ts";
import { sendRequest } from "./send-request.ts";
import { startProgram } from "./start-program.ts";

const KEY = { accessKeyId: "checkstorage", secretAccessKey: "check/storage+secret" };

/** MinIO's server, built with Go. */
export async function startMinio(): Promise<RealServer> {
  const { program, version } = await goProgram("minio", "github.com/minio/minio");
  const env = { MINIO_ROOT_USER: KEY.accessKeyId, MINIO_ROOT_PASSWORD: KEY.secretAccessKey };
  const { port, stop } = await startProgram((port, folder) => ({
    command: [program, "server", folder, "--address", `127.0.0.1:${port}`, "--quiet"],
    env,
  }));
  const put = async (path: string, body: Uint8Array) => {
    const url = new URL(`http://127.0.0.1:${port}/models-check${path.split("/").map(escapeS3).join("/")}`);
    const sha256 = createHash("sha256").update(body).digest("hex");
    const headers = signV4({ method: "PUT", url, headers: {}, region: "us-east-1", now: new Date(), sha256 }, KEY);
    await sendRequest(url, { method: "PUT", headers, body });
  };
  await put("/", Buffer.alloc(0));
  return {
    port,
    version,
    bucket: () => "s3://models-check",
    env: (own) => ({
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${own}`,
      AWS_ACCESS_KEY_ID: KEY.accessKeyId,
      AWS_SECRET_ACCESS_KEY: KEY.secretAccessKey,
    }),
    put: (key, content) => put(`/${key}`, content),
    stop,
  };
}
