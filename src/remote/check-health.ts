import { Client, credentials } from "@grpc/grpc-js";
import { asIs } from "./as-is.ts";

const CHECK = "/grpc.health.v1.Health/Check";
/** Statuses of a HealthCheckResponse. */
const STATUSES = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

/** Choices for {@link checkHealth}. */
interface HealthCheck {
  readonly timeoutMs: number;
  readonly isEncrypted: boolean;
  /** The client's certificate and its private key (PEM), for servers that ask for one. */
  readonly cert: Buffer | null;
  readonly key: Buffer | null;
}

/**
 * Asks the health service of a gRPC server, whose certificate is not checked; resolves
 * with the status, rejects with gRPC's error.
 */
export async function checkHealth(
  address: string,
  { timeoutMs, isEncrypted, cert, key }: HealthCheck,
): Promise<string> {
  const channel = isEncrypted
    ? credentials.createSsl(null, key, cert, { rejectUnauthorized: false, checkServerIdentity: () => undefined })
    : credentials.createInsecure();
  // TLS has no names that are addresses.
  const name = isEncrypted ? { "grpc.ssl_target_name_override": "localhost" } : {};
  const client = new Client(address, channel, { "grpc.enable_http_proxy": 0, ...name });
  try {
    return await new Promise<string>((resolve, reject) => {
      const options = { deadline: Date.now() + timeoutMs };
      client.makeUnaryRequest(CHECK, asIs, asIs, Buffer.alloc(0), options, (error, answer) => {
        if (error !== null) reject(error);
        else resolve(STATUSES[answer?.[1] ?? 0] ?? "UNKNOWN");
      });
    });
  } finally {
    client.close();
  }
}
