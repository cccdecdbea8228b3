import type { Command } from "commander";
import { readPem } from "../../client/remote/remote-tls-files.ts";
import { invalidArgument } from "../../errors.ts";
import { sendHttp } from "../../storage/http/http-request.ts";
import { EXIT } from "../exit-codes.ts";
import { type Environment, fromEnvironment } from "../settings/environment.ts";
import { readSetting } from "../settings/read-setting.ts";
import { SETTINGS } from "../settings/settings.ts";
import { createParser, runParser } from "./create-parser.ts";

const READY_PATH = "/v2/health/ready";

const EPILOGUE = `
Examples:
  kserving health
  kserving health 127.0.0.1:9000
  kserving health http://127.0.0.1:9001
  kserving health unix:/run/kserving/grpc.sock

HOST:PORT, unix:PATH and grpcs://HOST:PORT are asked over gRPC (grpc.health.v1), http:// and https:// by GET ${READY_PATH}
unless the URL has a path. The server's certificate is not checked: the command is for the machine that the server runs
on. A server with --tls-client-ca needs --remote-cert and --remote-key.
The exit code is 0 where the server is ready, else 1.
`;

/** `kserving health`: asks a server whether it is ready, prints the answer, and resolves with the exit code. */
export async function health(argv: readonly string[], env: Environment): Promise<number> {
  const port = fromEnvironment("port", SETTINGS.port, env)?.text ?? SETTINGS.port.default;
  const command = createHealthCommand(`127.0.0.1:${port}`);
  await runParser(command, argv);
  const [address = ""] = command.processedArgs as string[];
  const { timeout: text, json = false, ...paths } = command.opts<HealthFlags>();
  const seconds = { type: "seconds", default: 0, help: "", commands: [] } as const;
  const timeoutMs = Number(readSetting(seconds, { source: "--timeout", text }));
  const problem = await problemOf(address, { timeoutMs, ...readCertificate(paths) });
  const ready = problem === undefined;
  if (json) console.log(JSON.stringify({ address, ready, problem }, null, 2));
  else console.log(ready ? `${address} is ready` : `${address} is not ready: ${problem}`);
  return ready ? EXIT.ok : EXIT.failure;
}

/** The parser of `kserving health`, with the address that it asks if none is given. */
export function createHealthCommand(address: string): Command {
  const description = "Asks a server whether it is ready, for probes of containers and services.";
  return createParser("health", { description, epilogue: EPILOGUE })
    .argument("[address]", "address to ask", address)
    .option("--timeout <seconds>", "maximum time of the answer", "3")
    .option("--remote-cert <file>", "certificate (PEM) to show the server")
    .option("--remote-key <file>", "private key (PEM) of --remote-cert")
    .option("--json", "print JSON");
}

interface HealthFlags {
  readonly timeout: string;
  readonly remoteCert?: string;
  readonly remoteKey?: string;
  readonly json?: boolean;
}

/** Time for the answer, and the certificate to show. */
interface Asking {
  readonly timeoutMs: number;
  readonly cert: Buffer | null;
  readonly key: Buffer | null;
}

function readCertificate({
  remoteCert,
  remoteKey,
}: Pick<HealthFlags, "remoteCert" | "remoteKey">): Pick<Asking, "cert" | "key"> {
  if ((remoteCert === undefined) !== (remoteKey === undefined))
    throw invalidArgument("--remote-cert and --remote-key go together; one of them is missing.");
  return { cert: readPem(remoteCert, "--remote-cert"), key: readPem(remoteKey, "--remote-key") };
}

/** The reason for which a server is not ready; undefined if it is. */
async function problemOf(address: string, asking: Asking): Promise<string | undefined> {
  try {
    if (/^https?:\/\//.test(address)) return await problemOverHttp(new URL(address), asking);
    const { checkHealth } = await import("../../client/remote/connection-problem.ts");
    const status = await checkHealth(address, asking);
    return status === "SERVING" ? undefined : status;
  } catch (reason) {
    const { connectionProblem } = await import("../../client/remote/connection-problem.ts");
    return connectionProblem(reason);
  }
}

async function problemOverHttp(url: URL, { timeoutMs, cert, key }: Asking): Promise<string | undefined> {
  if (url.pathname === "/") url.pathname = READY_PATH;
  const signal = AbortSignal.timeout(timeoutMs);
  const tls = { rejectUnauthorized: false, ...(cert !== null && key !== null && { cert, key }) };
  const response = await sendHttp(url, { agent: false, signal, tls }).catch((reason) => {
    throw signal.aborted ? new Error("no answer in time") : reason;
  });
  response.resume();
  const { statusCode = 0 } = response;
  return statusCode >= 200 && statusCode < 300 ? undefined : `status ${statusCode}`;
}
