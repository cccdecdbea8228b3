import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { createToken, hashToken } from "../../../src/access/authentication/credential-files.ts";
import {
  type AuthenticationOptions,
  openAuthentication,
} from "../../../src/access/authentication/open-authentication.ts";
import { hashPassword } from "../../../src/access/authentication/password-hash.ts";
import type { Caller, CallKind } from "../../../src/access/caller.ts";
import { TrustedProxies } from "../../../src/access/trusted-proxies.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { authFiles, basic, bearer, CHEAP, TOKENS } from "../auth-fixture.ts";

const CERTIFIED = { authorized: true, getPeerCertificate: () => ({ subject: { CN: "client1" } }) };

async function open(ways: readonly ("users" | "tokens")[], hasCertificates = false, rules?: string) {
  const files = await authFiles(rules);
  const options = { rules: files.rules, ...Object.fromEntries(ways.map((way) => [way, files[way]])) };
  return openAuthentication(options, { proxies: new TrustedProxies([]), hasCertificates });
}

const callerOf = (authorization?: unknown, connection?: object): Caller => ({
  address: "10.0.0.1",
  host: "x",
  headers: authorization === undefined ? {} : { authorization },
  connection,
});

/** The name by which a caller is let in, or the code of its refusal with the challenges. */
async function fate(authentication: Awaited<ReturnType<typeof open>>, caller: Caller, kind: CallKind = "read") {
  try {
    return (await authentication.enter(kind, caller)).user;
  } catch (reason) {
    const { code, message, headers } = reason as { code: string; message: string; headers?: unknown };
    return { code, message, ...(headers !== undefined && { headers }) };
  }
}

const BASIC = 'Basic realm="kserving", charset="UTF-8"';
const BEARER = 'Bearer realm="kserving"';

describe("a caller that shows a name", () => {
  it("is let in by a password or a token, however its scheme is written", async () => {
    const both = await open(["users", "tokens"]);
    const alice = basic("alice", "open sesame");
    const ways = [alice, alice.replace("Basic", "bAsIc"), alice.replace(" ", "   "), `${bearer(TOKENS.user)}  `];
    const names = await Promise.all(ways.map((way) => fate(both, callerOf(way))));
    expect(names).toEqual(["alice", "alice", "alice", "token:user"]);
    expect(await fate(both, callerOf(alice), "metrics")).toMatchObject({ code: "permission_denied" });
  });

  it("is told what is wrong, with the challenges of the ways that there are", async () => {
    const [both, users, tokens] = [await open(["users", "tokens"]), await open(["users"]), await open(["tokens"])];
    const wrong = { code: "unauthenticated", message: "The user or the password is wrong." };
    for (const given of [basic("alice", "wrong"), basic("eve", "open sesame"), basic("", "x"), "Basic YWJj"])
      expect(await fate(users, callerOf(given))).toEqual({ ...wrong, headers: { "www-authenticate": [BASIC] } });
    const unknown = "The token is not known.";
    const error = `${BEARER}, error="invalid_token", error_description="${unknown}"`;
    expect(await fate(tokens, callerOf(bearer("x".repeat(40))))).toEqual({
      ...{ code: "unauthenticated", message: unknown, headers: { "www-authenticate": [error] } },
    });
    const [password, token] = [
      "a user's name and password (Authorization: Basic)",
      "a token (Authorization: Bearer)",
    ] as const;
    const other = "The Authorization header is not one that this server takes; send";
    expect(await fate(users, callerOf(bearer(TOKENS.user)))).toMatchObject({ message: `${other} ${password}.` });
    expect(await fate(tokens, callerOf(basic("alice", "open sesame")))).toMatchObject({
      ...{ message: `${other} ${token}.`, headers: { "www-authenticate": [BEARER] } },
    });
    for (const given of ["Digest abc", "Basic", "Basic a b", "Basic ä", "x Basic YTpi"])
      expect(await fate(both, callerOf(given))).toEqual({
        ...{ code: "unauthenticated", message: `${other} ${password} or ${token}.` },
        headers: { "www-authenticate": [BASIC, BEARER] },
      });
  });
});

describe("a caller that shows nothing", () => {
  it("is asked for a name, but for what is open", async () => {
    const tokens = await open(["tokens"]);
    const message = "This server answers callers that it knows alone; send a token (Authorization: Bearer).";
    for (const given of [undefined, "", ["Bearer x"]])
      expect(await fate(tokens, callerOf(given))).toEqual({
        ...{ code: "unauthenticated", message, headers: { "www-authenticate": [BEARER] } },
      });
    expect([await fate(tokens, callerOf(), "health"), await fate(tokens, callerOf(), "page")]).toEqual(["", ""]);
  });

  it("may have a certificate, which is a name where certificates are", async () => {
    const rules =
      'allow: [{ who: "cn:client1", models: a }, { who: alice, models: b }, { who: "token:user", models: c }]';
    const both = await open(["users", "tokens"], true, rules);
    expect(await fate(both, callerOf(undefined, CERTIFIED))).toBe("cn:client1");
    for (const [given, user, own] of [
      [basic("alice", "open sesame"), "alice", "b"],
      [bearer(TOKENS.user), "token:user", "c"],
    ] as const) {
      // The first time it is looked at, the second time it is known.
      for (let time = 0; time < 2; time++) {
        const scope = await both.enter("read", callerOf(given, CERTIFIED));
        expect([scope.user, scope.knows("a"), scope.knows(own), scope.knows("d")]).toEqual([user, true, true, false]);
      }
    }
    expect(await fate(both, callerOf(basic("alice", "no"), CERTIFIED))).toMatchObject({ code: "unauthenticated" });
    const without = await open(["tokens"], false, rules);
    expect(await fate(without, callerOf(undefined, CERTIFIED))).toMatchObject({ code: "unauthenticated" });
    const alone = await open([], true, rules);
    expect(await fate(alone, callerOf("Basic YTpi", CERTIFIED))).toBe("cn:client1");
    expect(await fate(alone, callerOf("Basic YTpi"))).toEqual({
      ...{ code: "unauthenticated", message: expect.stringContaining("send a certificate."), headers: {} },
    });
  });
});

it("wrong passwords of an address are soon not looked at, and a right one costs none", async () => {
  const users = await open(["users"]);
  for (let time = 0; time < 12; time++) await fate(users, callerOf(basic("root", "toor")), "read");
  for (let time = 0; time < 10; time++)
    expect(await fate(users, callerOf(basic("alice", `wrong ${time}`)))).toMatchObject({ code: "unauthenticated" });
  expect(await fate(users, callerOf(basic("alice", "wrong")))).toMatchObject({
    code: "resource_exhausted",
    message: expect.stringMatching(/^Too many wrong passwords came from this address; try again in [1-3] s\.$/),
  });
  expect(await fate(users, callerOf(basic("root", "toor")))).toBe("root");
});

const openWith = (options: AuthenticationOptions) => openAuthentication(options, { proxies: new TrustedProxies([]) });

it("a single user has a password, or a file of it without its last line break, beside the users of a file", async () => {
  const { users } = await authFiles();
  const given = await openWith({ users, username: "carol", password: "given" });
  expect(await fate(given, callerOf(basic("carol", "given")))).toBe("carol");
  expect(await fate(given, callerOf(basic("alice", "open sesame")))).toBe("alice");
  expect(await given.refresh()).toEqual([]);
  for (const [text, password] of [
    ["in a file\r\n", "in a file"],
    ["in\na file\n\n", "in\na file\n"],
  ] as const) {
    const passwordFile = join(tempFolder({ password: text }), "password");
    const read = await openWith({ username: "carol", passwordFile });
    expect(await fate(read, callerOf(basic("carol", password)))).toBe("carol");
    expect(await fate(read, callerOf(basic("carol", text)))).toMatchObject({ code: "unauthenticated" });
  }
  const empty = openWith({ username: "carol", passwordFile: join(tempFolder({ password: "\n" }), "password") });
  await expect(empty).rejects.toThrow(/password is empty; expected the password of carol\.$/);
});

it.each<[AuthenticationOptions, string]>([
  [{ username: "a" }, "--auth-username and --auth-password-file go together"],
  [{ password: "a" }, "--auth-username and --auth-password-file go together"],
  [{ passwordFile: "a" }, "--auth-username and --auth-password-file go together"],
  [{ jwtIssuer: "a" }, "--auth-jwks, --auth-jwt-issuer and --auth-jwt-audience go together"],
  [{ jwtAudience: "a" }, "--auth-jwks, --auth-jwt-issuer and --auth-jwt-audience go together"],
  [{ jwtIssuer: "a", jwtAudience: "b" }, "--auth-jwks, --auth-jwt-issuer and --auth-jwt-audience go together"],
  [{ jwks: "a", jwtAudience: "b" }, "--auth-jwks, --auth-jwt-issuer and --auth-jwt-audience go together"],
  [{}, "callers have no way to show a name"],
])("%j lacks a part, and is refused", async (options, message) => {
  await expect(openWith(options)).rejects.toMatchObject({
    ...{ code: "invalid_argument", message: expect.stringContaining(message) },
  });
});

it("rules alone let nobody in, without any who is known may do everything", async () => {
  const { rules, tokens } = await authFiles();
  await expect(openWith({ rules })).rejects.toThrow("callers have no way to show a name");
  const scope = await (await openWith({ tokens })).enter("control", callerOf(bearer(TOKENS.user)));
  scope.assertControlsAll();
});

it("a file that has changed counts at the next look, for those alone whom it is about", async () => {
  const files = await authFiles();
  const all = await openWith(files);
  const [user, admin] = [callerOf(bearer(TOKENS.user)), callerOf(bearer(TOKENS.admin))];
  expect([await fate(all, user), await fate(all, admin)]).toEqual(["token:user", "token:admin"]);
  writeFileSync(files.tokens, `admin:${hashToken(TOKENS.admin)}\nuser:${hashToken(createToken())}\n`);
  expect(await fate(all, user)).toBe("token:user");
  expect(await all.refresh()).toEqual([files.tokens]);
  expect(await fate(all, user)).toMatchObject({ code: "unauthenticated", message: "The token is not known." });
  expect(await fate(all, admin)).toBe("token:admin");
  writeFileSync(files.rules, 'allow: [{ who: "token:admin", kinds: control }]');
  expect(await all.refresh()).toEqual([files.rules]);
  expect(await fate(all, admin)).toMatchObject({ code: "permission_denied" });
});

it("a file that cannot be read is told, and the others count all the same", async () => {
  const files = await authFiles();
  const all = await openWith(files);
  const alice = callerOf(basic("alice", "open sesame"));
  expect(await fate(all, alice)).toBe("alice");
  writeFileSync(files.tokens, "no token");
  writeFileSync(files.users, "# nobody\n");
  await expect(all.refresh()).rejects.toMatchObject({ code: "failed_precondition" });
  expect(await fate(all, alice)).toMatchObject({ code: "unauthenticated" });
  expect(await fate(all, callerOf(bearer(TOKENS.user)))).toBe("token:user");
});

it("a call that lasts is ended once its credentials count no more, unless it is over", async () => {
  const files = await authFiles();
  const all = await openWith(files);
  const ended: string[] = [];
  const watch = async (name: "user" | "admin" | "team") => {
    const caller = callerOf(bearer(TOKENS[name]));
    const scope = await all.enter("read", caller);
    return all.watch({ kind: "read", caller, scope, end: ({ code }) => ended.push(`${name}: ${code}`) });
  };
  const [, , stop] = [await watch("user"), await watch("admin"), await watch("team")];
  stop?.();
  writeFileSync(files.tokens, `admin:${hashToken(TOKENS.admin)}\n`);
  await all.refresh();
  await expect.poll(() => ended).toEqual(["user: unauthenticated"]);
});

it("wrong passwords from its address keep no call going whose user is removed, and end none of others", async () => {
  const files = await authFiles();
  const all = await openWith(files);
  const ended: string[] = [];
  const watch = async (name: "alice" | "root", password: string) => {
    const caller = callerOf(basic(name, password));
    const scope = await all.enter("read", caller);
    all.watch({ kind: "read", caller, scope, end: ({ code }) => ended.push(`${name}: ${code}`) });
    return vi.spyOn(scope, "adopt");
  };
  await watch("alice", "open sesame");
  const adopt = await watch("root", "toor");
  const guesses = Array.from({ length: 300 }, (_, time) => fate(all, callerOf(basic("eve", `wrong ${time}`))));
  expect(await Promise.all(guesses)).toContainEqual(expect.objectContaining({ code: "resource_exhausted" }));
  // The same password in another line has to be checked, however many guesses wait.
  writeFileSync(files.users, `root:${await hashPassword("toor", CHEAP)}\n`);
  const others = Array.from({ length: 250 }, (_, time) =>
    fate(all, { ...callerOf(basic("eve", `guess ${time}`)), address: `10.1.0.${time}` }),
  );
  await all.refresh();
  await expect.poll(() => [ended, adopt.mock.calls.length]).toEqual([["alice: unauthenticated"], 1]);
  await Promise.all(others);
  expect(ended).toEqual(["alice: unauthenticated"]);
});

it("a call that lasts is not asked about again while nothing has changed, or what has cannot be read", async () => {
  const files = await authFiles();
  const all = await openWith(files);
  const caller = callerOf(bearer(TOKENS.user));
  const scope = await all.enter("read", caller);
  const adopt = vi.spyOn(scope, "adopt");
  all.watch({ kind: "read", caller, scope, end: () => {} });
  expect(await all.refresh()).toEqual([]);
  writeFileSync(files.users, "no user");
  await expect(all.refresh()).rejects.toMatchObject({ code: "failed_precondition" });
  await new Promise(setImmediate);
  expect(adopt).not.toHaveBeenCalled();
  appendFileSync(files.tokens, `other:${hashToken(createToken())}\n`);
  await expect(all.refresh()).rejects.toMatchObject({ code: "failed_precondition" });
  await expect.poll(() => adopt.mock.calls.length).toBe(1);
});

it("a name and its password stand apart by a colon, and both are there", async () => {
  const folder = tempFolder({ users: `ab:${await hashPassword("abc", CHEAP)}\n` });
  const users = await openWith({ users: join(folder, "users") });
  expect(await fate(users, callerOf(`Basic ${Buffer.from("abc").toString("base64")}`))).toMatchObject({
    code: "unauthenticated",
  });
  const nameless = await openWith({ username: "", password: "abc" });
  expect(await fate(nameless, callerOf(basic("", "abc")))).toMatchObject({ code: "unauthenticated" });
});

it("logins that wait are given up as the server ends", async () => {
  const users = await open(["users"]);
  const logins = [1, 2, 3].map((time) => fate(users, callerOf(basic("alice", `wrong ${time}`))));
  await Promise.resolve();
  users.close();
  const codes = (await Promise.all(logins)).map((found) => (found as { code?: string }).code);
  expect(codes).toEqual(["unauthenticated", "unavailable", "unavailable"]);
  (await open(["tokens"])).close();
});
