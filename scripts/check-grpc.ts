import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createGrpcServer } from "../src/grpc/grpc-server.ts";
import { createSilentLogger } from "../src/observability/logger.ts";
import { interop } from "../test/grpc/interop/interop-service.ts";
import { ScriptedService } from "../test/grpc/scripted-service.ts";

/** grpc-go's interoperability client against our gRPC transport. It is built with Go, once, into .cache/go. */
const CLIENT = "google.golang.org/grpc/interop/client@v1.85.0";
const FOLDER = join(process.cwd(), ".cache", "go");
/** The cases that need neither credentials nor trailing metadata (doc/interop-test-descriptions.md of grpc/grpc). */
const CASES = [
  "empty_unary",
  "large_unary",
  "client_streaming",
  "server_streaming",
  "ping_pong",
  "empty_stream",
  "cancel_after_begin",
  "cancel_after_first_response",
  "timeout_on_sleeping_server",
  "status_code_and_message",
  "special_status_message",
  "unimplemented_method",
  "unimplemented_service",
];

const client = join(FOLDER, "client");
if (!existsSync(client)) {
  mkdirSync(FOLDER, { recursive: true });
  execFileSync("go", ["install", CLIENT], { stdio: "inherit", env: { ...process.env, GOBIN: FOLDER } });
}
const options = { host: "127.0.0.1", port: 0, protocols: [interop], log: createSilentLogger() };
const server = await createGrpcServer(new ScriptedService(), options);
let failed = 0;
for (const name of CASES) {
  const flags = [`--server_host=127.0.0.1`, `--server_port=${server.port}`, `--test_case=${name}`];
  const run = spawn(client, flags, { stdio: ["ignore", "ignore", "pipe"], timeout: 60_000 });
  const said: Buffer[] = [];
  run.stderr.on("data", (piece: Buffer) => said.push(piece));
  const [code] = await once(run, "close");
  if (code !== 0) failed++;
  console.log(`${code === 0 ? "passed" : "FAILED"}  ${name}`);
  if (code !== 0) console.log(Buffer.concat(said).toString());
}
await server.close(0);
console.log(`${CASES.length - failed} of ${CASES.length} cases of grpc-go's interoperability client passed`);
process.exitCode = failed === 0 ? 0 : 1;
