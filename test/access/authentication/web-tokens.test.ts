import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Authentication } from "../../../src/access/authentication/authentication.ts";
import { openAuthentication } from "../../../src/access/authentication/open-authentication.ts";
import { TrustedProxies } from "../../../src/access/trusted-proxies.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const CLAIMS = { iss: "https://issuer.example", aud: "kserving", sub: "dora" };

function open(jwks: string): Promise<Authentication> {
  const options = { jwks, jwtIssuer: CLAIMS.iss, jwtAudience: CLAIMS.aud };
  return openAuthentication(options, { proxies: new TrustedProxies([]) });
}

/** The name by which a token's bearer is known, or why it is not. */
async function nameOf(authentication: Authentication, token: string): Promise<string> {
  const caller = { address: "10.0.0.1", host: "x", headers: { authorization: `Bearer ${token}` } };
  try {
    return (await authentication.enter("read", caller)).user;
  } catch (reason) {
    return `${(reason as { code: string }).code}: ${(reason as Error).message}`;
  }
}

async function makeKey(alg: string, kid: string) {
  const { publicKey, privateKey } = await generateKeyPair(alg);
  const sign = (claims: JWTPayload = CLAIMS, exp = "1h") =>
    new SignJWT(claims).setProtectedHeader({ alg, kid }).setExpirationTime(exp).sign(privateKey);
  return { jwk: { ...(await exportJWK(publicKey)), kid, alg }, sign };
}

function keyFile(keys: readonly JWK[]): string {
  return `${tempFolder({ "keys.json": JSON.stringify({ keys }) })}/keys.json`;
}

/** An address that answers so. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
}

test.each(["RS256", "PS512", "ES256", "EdDSA"])(
  "a token that is signed by %s is taken, again and again",
  async (alg) => {
    const key = await makeKey(alg, "one");
    const authentication = await open(keyFile([key.jwk]));
    const token = await key.sign();
    for (let time = 0; time < 2; time++) expect(await nameOf(authentication, token)).toBe("jwt:dora");
  },
);

test("keys that say nothing of algorithms are for all of their kind", async () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const ofCurve = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve });
  const pairs: readonly (readonly [string, { readonly publicKey: KeyObject; readonly privateKey: KeyObject }])[] = [
    ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"].map((alg) => [alg, rsa] as const),
    ...([
      ["ES256", ofCurve("P-256")],
      ["ES384", ofCurve("P-384")],
      ["ES512", ofCurve("P-521")],
    ] as const),
    ...["EdDSA", "Ed25519"].map((alg) => [alg, generateKeyPairSync("ed25519")] as const),
  ];
  const secret = Buffer.alloc(64, 7);
  const secrets = ["HS256", "HS384", "HS512"].map((alg) => ({
    kty: "oct",
    kid: alg,
    alg,
    k: secret.toString("base64url"),
  }));
  const keys = pairs.map(async ([kid, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid }));
  const authentication = await open(keyFile([...(await Promise.all(keys)), ...secrets]));
  for (const [alg, key] of [
    ...pairs.map(([name, { privateKey }]) => [name, privateKey] as const),
    ...secrets.map(({ kid }) => [kid, secret] as const),
  ]) {
    const token = new SignJWT(CLAIMS).setProtectedHeader({ alg, kid: alg }).setExpirationTime("1h");
    expect([alg, await nameOf(authentication, await token.sign(key))]).toEqual([alg, "jwt:dora"]);
  }
});

test("clocks may differ by half a minute, and a token says until when it counts, and for whom", async () => {
  const key = await makeKey("ES256", "one");
  const authentication = await open(keyFile([key.jwk]));
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  expect(await nameOf(authentication, await key.sign(CLAIMS, "-20s"))).toBe("jwt:dora");
  expect(await nameOf(authentication, await key.sign(CLAIMS, "-40s"))).toMatch(/has expired/);
  const other = await open(keyFile([{ ...(await exportJWK(publicKey)), kid: "one" }]));
  const endless = await new SignJWT(CLAIMS).setProtectedHeader({ alg: "ES256", kid: "one" }).sign(privateKey);
  expect(await nameOf(other, endless)).toMatch(/^unauthenticated: The claim exp/);
  expect(await nameOf(authentication, await key.sign({ ...CLAIMS, sub: "" }))).toMatch(/^unauthenticated: /);
});

test("a token that is not for this server, or not any more, is refused with the reason", async () => {
  const [key, other] = [await makeKey("ES256", "one"), await makeKey("ES256", "one")];
  const authentication = await open(keyFile([key.jwk]));
  const refused = async (token: string) => nameOf(authentication, token);
  expect(await refused(await key.sign(CLAIMS, "-1h"))).toBe("unauthenticated: The token has expired.");
  expect(await refused(await key.sign({ ...CLAIMS, aud: "other" }))).toMatch(/claim aud/);
  expect(await refused(await key.sign({ ...CLAIMS, iss: "other" }))).toMatch(/claim iss/);
  expect(await refused(await key.sign({ iss: CLAIMS.iss, aud: CLAIMS.aud }))).toMatch(/claim sub/);
  expect(await refused(await other.sign())).toMatch(/not signed as/);
  expect(await refused((await key.sign()).replace(/.{4}$/, "AAAA"))).toMatch(/not signed as/);
  expect(await refused("x".repeat(40))).toBe("unauthenticated: The token is not known.");
});

test("a token that counts no more is refused with a challenge, and keys that cannot be read with none", async () => {
  const key = await makeKey("ES256", "one");
  const headersOf = async (authentication: Authentication) => {
    const headers = { authorization: `Bearer ${await key.sign(CLAIMS, "-1h")}` };
    const entered = Promise.resolve().then(() =>
      authentication.enter("read", { address: "10.0.0.1", host: "x", headers }),
    );
    return entered.catch((reason: { headers?: unknown }) => reason.headers);
  };
  const challenge = 'Bearer realm="kserving", error="invalid_token", error_description="The token has expired."';
  expect(await headersOf(await open(keyFile([key.jwk])))).toEqual({ "www-authenticate": [challenge] });
  expect(await headersOf(await open("http://127.0.0.1:1/"))).toBeUndefined();
});

test("a token that is not signed, or by a secret that everybody knows, is refused", async () => {
  const key = await makeKey("RS256", "one");
  const authentication = await open(keyFile([key.jwk]));
  const unsigned = new UnsecuredJWT(CLAIMS).setExpirationTime("1h").encode();
  expect(await nameOf(authentication, unsigned)).toMatch(/^unauthenticated/);
  const secrets = [JSON.stringify(key.jwk), String(key.jwk.n), Buffer.from(String(key.jwk.n), "base64url")];
  for (const secret of secrets) {
    const signed = new SignJWT(CLAIMS).setProtectedHeader({ alg: "HS256", kid: "one" }).setExpirationTime("1h");
    expect(await nameOf(authentication, await signed.sign(Buffer.from(secret as string)))).toMatch(/^unauthenticated/);
  }
});

test("a secret signs where a file says for which algorithm", async () => {
  const secret = Buffer.alloc(64, 7);
  const k = secret.toString("base64url");
  const sign = (alg: string) =>
    new SignJWT(CLAIMS).setProtectedHeader({ alg, kid: "s" }).setExpirationTime("1h").sign(secret);
  const named = await open(keyFile([{ kty: "oct", kid: "s", alg: "HS256", k }]));
  expect(await nameOf(named, await sign("HS256"))).toBe("jwt:dora");
  expect(await nameOf(named, await sign("HS512"))).toMatch(/^unauthenticated/);
  const unnamed = await open(keyFile([{ kty: "oct", kid: "s", k }]));
  expect(await nameOf(unnamed, await sign("HS256"))).toMatch(/^unauthenticated/);
  const keys = JSON.stringify({ keys: [{ kty: "oct", kid: "s", alg: "HS256", k }] });
  const remote = await open(await serve((_, response) => response.end(keys)));
  expect(await nameOf(remote, await sign("HS256"))).toMatch(/^unauthenticated/);
});

test("keys at an address are read when a new one signs, and not for every token without a known signature", async () => {
  const [first, second, stranger] = [
    await makeKey("ES256", "1"),
    await makeKey("ES256", "2"),
    await makeKey("ES256", "3"),
  ];
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  let keys: JWK[] = [];
  let reads = 0;
  let isDown = true;
  const authentication = await open(
    await serve((_, response) => {
      reads++;
      response.writeHead(isDown ? 500 : 200).end(JSON.stringify({ keys }));
    }),
  );
  expect(await nameOf(authentication, await first.sign())).toMatch(/^unavailable: The keys/);
  await expect(authentication.refresh()).rejects.toThrow("it answers with status 500");
  expect(reads).toBe(1);
  isDown = false;
  keys = [first.jwk];
  vi.advanceTimersByTime(31_000);
  expect(await authentication.refresh()).toHaveLength(1);
  const known = await first.sign();
  expect(await nameOf(authentication, known)).toBe("jwt:dora");
  vi.advanceTimersByTime(2000);
  const asked = Array.from({ length: 5 }, async () => nameOf(authentication, await stranger.sign()));
  for (const told of await Promise.all(asked)) expect(told).toMatch(/No key is known/);
  // The issuer's new key counts at once, however many tokens name keys that there are not.
  keys = [second.jwk];
  vi.advanceTimersByTime(2000);
  expect(await nameOf(authentication, await stranger.sign())).toMatch(/No key is known/);
  expect(await nameOf(authentication, await second.sign())).toBe("jwt:dora");
  // Tokens of a key that is gone are forgotten at the next look at the files.
  expect(await authentication.refresh()).toHaveLength(1);
  vi.advanceTimersByTime(2000);
  expect(await nameOf(authentication, known)).toMatch(/No key is known/);
  expect(reads).toBe(5);
});

test("keys that there are not are asked for together, once in a while", async () => {
  let reads = 0;
  const strangers = await Promise.all(Array.from({ length: 20 }, (_, index) => makeKey("ES256", `stranger ${index}`)));
  const authentication = await open(
    await serve((_, response) => {
      reads++;
      response.end('{"keys":[]}');
    }),
  );
  const told = strangers.map(async ({ sign }) => nameOf(authentication, await sign()));
  for (const each of await Promise.all(told)) expect(each).toMatch(/No key is known/);
  expect(reads).toBe(2);
});

test.each([
  ["more than keys need", (response) => response.end("x".repeat(300 * 1024)), "more than 262144 bytes"],
  ["a redirect", (response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(), "redirect"],
  ["a page", (response) => response.end("<html>"), "not a JSON Web Key Set"],
] as [string, (response: Parameters<RequestListener>[1]) => void, string][])(
  "an address that answers with %s is told, and the server lives",
  async (_, answer, message) => {
    const authentication = await open(await serve((_request, response) => answer(response)));
    await expect(authentication.refresh()).rejects.toThrow(message);
  },
);

test("an address is read again after ten minutes, and half a minute after it did not answer", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  let [reads, status] = [0, 200];
  const address = await serve((_, response) => {
    reads++;
    response.writeHead(status).end('{"keys":[]}');
  });
  const authentication = await open(address);
  const look = async (ms: number) => {
    vi.advanceTimersByTime(ms);
    return [await authentication.refresh().catch(({ code, message }) => `${code}: ${message}`), reads];
  };
  expect(await look(0)).toEqual([[], 1]);
  expect(await look(599_999)).toEqual([[], 1]);
  status = 404;
  const problem = `unavailable: ${address} cannot be read: it answers with status 404`;
  expect(await look(1)).toEqual([problem, 2]);
  expect(await look(29_999)).toEqual([problem, 2]);
  status = 200;
  expect(await look(1)).toEqual([[], 3]);
});

test("a key that is missed again is asked for after ten seconds, told from others by 256 characters", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  let reads = 0;
  const authentication = await open(
    await serve((_, response) => {
      reads++;
      response.end('{"keys":[]}');
    }),
  );
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const readsAfter = async (ms: number, kid: string | undefined) => {
    vi.advanceTimersByTime(ms);
    const token = new SignJWT(CLAIMS).setProtectedHeader({ alg: "ES256", ...(kid !== undefined && { kid }) });
    expect(await nameOf(authentication, await token.setExpirationTime("1h").sign(privateKey))).toMatch(/No key is/);
    return reads;
  };
  expect(await readsAfter(2000, "a")).toBe(2);
  expect(await readsAfter(9999, "a")).toBe(2);
  expect(await readsAfter(1, "a")).toBe(3);
  const long = "k".repeat(255);
  expect(await readsAfter(2000, `${long}ka`)).toBe(4);
  expect(await readsAfter(2000, `${long}kb`)).toBe(4);
  expect(await readsAfter(2000, `${long}b`)).toBe(5);
  expect(await readsAfter(2000, undefined)).toBe(6);
});

test("a secret is long, and for tokens that name it or none", async () => {
  const sign = (bytes: number, kid?: string) =>
    new SignJWT(CLAIMS)
      .setProtectedHeader({ alg: "HS256", ...(kid !== undefined && { kid }) })
      .setExpirationTime("1h")
      .sign(Buffer.alloc(bytes, 7));
  const openWith = (bytes: number) =>
    open(keyFile([{ kty: "oct", kid: "s", alg: "HS256", k: Buffer.alloc(bytes, 7).toString("base64url") }]));
  const [long, short] = [await openWith(32), await openWith(31)];
  expect([await nameOf(long, await sign(32, "s")), await nameOf(long, await sign(32))]).toEqual([
    "jwt:dora",
    "jwt:dora",
  ]);
  for (const told of [await nameOf(long, await sign(32, "t")), await nameOf(short, await sign(31))])
    expect(told).toBe("unauthenticated: The token is not signed as this server expects.");
});

test.each(["secret", "[]", "null", '{"keys":{}}', '{"keys":[null]}', '{"keys":["secret"]}'])(
  "a file that says %s is no set of keys",
  async (text) => {
    const opening = open(`${tempFolder({ "keys.json": text })}/keys.json`);
    await expect(opening).rejects.toThrow(/keys\.json is not a JSON Web Key Set; expected \{"keys": \[\.\.\.\]\}\.$/);
  },
);

test.each([
  "http://keys.example/",
  "ftp://127.0.0.1/",
  "https://user:secret@keys.example/",
  "https://user@keys.example/",
  "https://:secret@keys.example/",
  "http://127.0.0.1.example/",
  "http://localhost.example/",
  "http://10.0.0.1/",
  "https://",
])("the address %s is refused", async (address) => {
  await expect(open(address)).rejects.toThrow("expected https://");
  await expect(open(address)).rejects.not.toThrow("secret");
});

test.each(["http://localhost:1/", "http://[::1]:1/", "http://127.0.0.1:1/", "HTTPS://127.0.0.1:1/"])(
  "the address %s is taken, though it does not answer yet",
  async (address) => {
    await expect(open(address)).resolves.toBeDefined();
  },
);

test("issuer and audience have to be told", async () => {
  const opening = openAuthentication({ jwks: "keys.json" }, { proxies: new TrustedProxies([]) });
  await expect(opening).rejects.toThrow("--auth-jwt-audience");
});

test("a token, and a user's name in it, have a limit", async () => {
  const key = await makeKey("ES256", "one");
  const authentication = await open(keyFile([key.jwk]));
  const refused = async (claims: JWTPayload) => nameOf(authentication, await key.sign(claims));
  expect(await refused({ ...CLAIMS, sub: "d".repeat(1024) })).toBe(`jwt:${"d".repeat(1024)}`);
  const longName = "unauthenticated: The token's claim sub has 1025 characters; expected 1024 at most.";
  expect(await refused({ ...CLAIMS, sub: "d".repeat(1025) })).toBe(longName);
  const longToken = /^unauthenticated: The token has \d+ characters; expected 16384 at most\.$/;
  expect(await refused({ ...CLAIMS, groups: "g".repeat(16_384) })).toMatch(longToken);
  expect(await refused({ ...CLAIMS, groups: "[".repeat(8000) })).toBe("jwt:dora");
});
