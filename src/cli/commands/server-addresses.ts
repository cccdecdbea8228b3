import { existsSync } from "node:fs";
import { isAddress, isModelAddress } from "../../client/model-address.ts";
import { RemoteCredentials } from "../../client/remote/remote-credentials.ts";
import { parseServerAddress } from "../../client/remote/server-address.ts";
import { invalidArgument } from "../../errors.ts";

const BARE = /^[\w.-]+:\d+(?=\/|$)/;
/** A server by its protocol; of HTTP's addresses those that can be no file's. */
const SERVER = /^(?:grpcs?:\/\/[^/]+|https?:\/\/[^/]+(?=\/?$|\/(?:.*\/)?v[12]\/models\/))/;

/** Throws `invalid_argument` for an incomplete address of a server in place of a path or an address. */
export function refuseBareAddress(place: string, form: "server" | "model"): void {
  const server = serverOf(place);
  if (server === undefined || (form === "server" ? isAddress : isModelAddress)(place)) return;
  const [, secure, host] = /^(?:http|grpc)(s?):\/\/(.*)/.exec(server) ?? [];
  const [ofHttp, ofGrpc] = form === "server" ? ["", ""] : ["/v2/models/NAME", "/NAME"];
  throw invalidArgument(
    `"${place}" is not a model's path; the address of a ${form} is http${secure}://${host}${ofHttp} where HTTP listens, or grpc${secure}://${host}${ofGrpc} where gRPC does.`,
  );
}

/** Throws `invalid_argument` for a server's address in place of files; `whatNext` has the command to give for it. */
export function refuseServer(place: string, whatNext: (server: string) => string, what = "a model's files"): void {
  const server = serverOf(place);
  if (server === undefined) return;
  throw invalidArgument(`"${place}" is the address of a server, not of ${what}; ${whatNext(server)}.`);
}

/** The address of a model of a server, with NAME for the model's. */
export function modelAddressAt(server: string): string {
  return server.startsWith("grpc") ? `${server}/NAME` : `${server}/v2/models/NAME`;
}

/** The `Authorization` header at an address, of a file of credentials; undefined if neither has one. */
export async function authorizationAt(address: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const isUrl = /^https?:\/\//.test(address);
  const { authority } = isUrl ? { authority: new URL(address).host } : parseServerAddress(address);
  return (await RemoteCredentials.open(path)).headerFor(authority.replace(/\/.*$/, ""));
}

/** The server that a text means, with its protocol; undefined for a path, and for the address of a file. */
function serverOf(place: string): string | undefined {
  const [bare] = BARE.exec(place) ?? [];
  if (bare !== undefined) return existsSync(place) ? undefined : `http://${bare}`;
  return SERVER.exec(place)?.[0];
}
