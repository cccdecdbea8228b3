import { BOTH, PROXY, SERVE, type Setting } from "./setting.ts";

/** Settings of who may call. */
export const AUTH_SETTINGS = {
  authUsers: {
    type: "text",
    placeholder: "FILE",
    isPath: true,
    help: "users that may call, with hashes of their passwords",
    details: "Lines of kserving hash-password. With any of these flags callers need a name: docs/security.md.",
    commands: BOTH,
  },
  authUsername: {
    type: "text",
    placeholder: "NAME",
    help: "a single user that may call",
    commands: BOTH,
  },
  authPasswordFile: {
    type: "text",
    placeholder: "FILE",
    isPath: true,
    help: "file with the password of --auth-username",
    commands: BOTH,
  },
  authTokens: {
    type: "text",
    placeholder: "FILE",
    isPath: true,
    help: "names that may call, with hashes of their tokens",
    details: "Lines of kserving hash-token.",
    commands: BOTH,
  },
  authJwks: {
    type: "text",
    placeholder: "PLACE",
    help: "keys that sign tokens (JWT): a JWKS file, or https://…",
    details: "Read again when they change. --auth-jwt-issuer and --auth-jwt-audience go with it.",
    commands: BOTH,
  },
  authJwtIssuer: {
    type: "text",
    placeholder: "TEXT",
    help: "issuer (iss) of the tokens that are taken",
    commands: BOTH,
  },
  authJwtAudience: {
    type: "text",
    placeholder: "TEXT",
    help: "audience (aud) of the tokens that are taken",
    commands: BOTH,
  },
  authRules: {
    type: "text",
    placeholder: "FILE",
    isPath: true,
    help: "rules (YAML) of who may do what",
    details: "Without rules, who is known may do everything.",
    commands: BOTH,
  },
  /**
   * File of this server's credentials at others, for `ctx.remote`: lines of `HOST:PORT USER:PASSWORD` or
   * `HOST:PORT Bearer TOKEN`.
   */
  remoteAuthFile: {
    slice: "access",
    type: "text",
    placeholder: "FILE",
    isPath: true,
    help: "credentials of this program at other servers",
    details: "Lines of HOST:PORT USER:PASSWORD or HOST:PORT Bearer TOKEN, for --grpc-address and ctx.remote.",
    commands: BOTH,
  },
  forwardAuthorization: {
    type: "boolean",
    default: false,
    help: "send the client's own Authorization on to the server",
    commands: PROXY,
  },
} as const satisfies Record<string, Setting>;

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
    choices: ["ports", "grpc"],
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
