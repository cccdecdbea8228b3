import { BOTH, PROXY, type Setting } from "./setting.ts";

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
  remoteAuthFile: {
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
