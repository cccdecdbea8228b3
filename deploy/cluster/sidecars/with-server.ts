import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HALF, HALF_FILE } from "../subjects.ts";
import { withProgram } from "./with-program.ts";

/** A server as KServe's runtime starts it, on ports of its own. */
export interface ModelServer {
  readonly httpPort: number;
  readonly grpcPort: number;
  /** Hook file next to the model; left out, there is none. */
  readonly hooks?: string;
}

/** Ports that the runtimes of deploy/kserve name. */
export const RUNTIME: ModelServer = { httpPort: 8080, grpcPort: 8081 };

/** Serves the model x / 2 + 2 while `use` works with it. */
export async function withServer(server: ModelServer, use: () => Promise<void>): Promise<void> {
  const { httpPort, grpcPort, hooks } = server;
  const folder = mkdtempSync(join(tmpdir(), "kserving-sidecars-"));
  cpSync(HALF_FILE, join(folder, "model.onnx"));
  if (hooks !== undefined) writeFileSync(join(folder, "hooks.js"), hooks);
  const args = [`--model_name=${HALF.model}`, `--model_dir=${folder}`];
  const ports = [`--http_port=${httpPort}`, `--grpc_port=${grpcPort}`];
  const command = [process.execPath, "bin/kserving.cjs", "kserve", ...args, ...ports];
  const url = `http://127.0.0.1:${httpPort}/v2/health/ready`;
  await withProgram({ command, url }, use).finally(() => rmSync(folder, { recursive: true }));
}
