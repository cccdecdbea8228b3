import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type CryptoKey, exportJWK, generateKeyPair, type JWK } from "jose";

/** Issuer and audience of the tokens that a server with known users takes. */
export const TOKEN_CLAIMS = { iss: "https://issuer.example", aud: "kserving" } as const;

/** A provider of identities, of which servers read the keys that sign tokens. */
interface KeyProvider {
  /** Address of the keys. */
  readonly url: string;
  /** Adds a key, and gives what signs with it. */
  add(kid: string): Promise<CryptoKey>;
}

let opened: Promise<KeyProvider> | undefined;

/** Starts the provider, once; it ends with the process. */
export function openKeys(): Promise<KeyProvider> {
  opened ??= start();
  return opened;
}

async function start(): Promise<KeyProvider> {
  const keys: JWK[] = [];
  const add = async (kid: string) => {
    const { publicKey, privateKey } = await generateKeyPair("RS256");
    keys.push({ ...(await exportJWK(publicKey)), kid, alg: "RS256" });
    return privateKey;
  };
  await add("one");
  const server = createServer((_, response) => response.end(JSON.stringify({ keys })));
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`, add };
}
