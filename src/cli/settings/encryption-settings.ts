import { TLS_SCOPES } from "../../access/tls-scope.ts";
import { BOTH, SERVE, type Setting } from "./setting.ts";

/** Settings of encrypted connections: of clients to the server, and of the server to others. */
export const ENCRYPTION_SETTINGS = {
  tlsCert: {
    type: "text",
    placeholder: "FILE",
    help: "certificate (PEM) by which gRPC and HTTP are encrypted",
    details:
      "With those between it and its authority behind it. It is read again when it changes; TLS 1.2 and 1.3 are spoken.",
    isPath: true,
    commands: BOTH,
  },
  tlsKey: {
    type: "text",
    placeholder: "FILE",
    help: "private key (PEM) of the certificate",
    details: "Without a passphrase.",
    isPath: true,
    commands: BOTH,
  },
  tlsClientCa: {
    type: "text",
    placeholder: "FILE",
    help: "certificates (PEM) of authorities that clients need one of",
    details: "A client without a certificate that one of them has signed is refused.",
    isPath: true,
    commands: BOTH,
  },
  tlsScope: {
    type: "choice",
    choices: TLS_SCOPES,
    placeholder: "SCOPE",
    default: "ports",
    help: "parts that are encrypted: both ports, or gRPC alone",
    details: "`grpc` = gRPC on its port and its Unix socket, while HTTP is plain.",
    commands: SERVE,
  },
  remoteCa: {
    type: "text",
    placeholder: "FILE",
    help: "certificates (PEM) of authorities of other servers",
    details: "For grpcs://HOST:PORT, in --grpc-address or ctx.remote. Without it those that Node.js knows.",
    isPath: true,
    commands: BOTH,
  },
  remoteCert: {
    type: "text",
    placeholder: "FILE",
    help: "certificate (PEM) to show other servers",
    isPath: true,
    commands: BOTH,
  },
  remoteKey: {
    type: "text",
    placeholder: "FILE",
    help: "private key (PEM) of --remote-cert",
    isPath: true,
    commands: BOTH,
  },
} as const satisfies Record<string, Setting>;
