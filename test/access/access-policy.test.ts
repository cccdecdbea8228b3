import { hostname, networkInterfaces } from "node:os";
import { describe, expect, it } from "vitest";
import { AccessPolicy } from "../../src/access/access-policy.ts";
import type { Caller } from "../../src/access/caller.ts";
import { isLocalCaller } from "../../src/access/control-access.ts";
import { PageToken } from "../../src/access/page-token.ts";
import { TrustedProxies } from "../../src/access/trusted-proxies.ts";

const LOCAL: Caller = { address: "127.0.0.1", host: "localhost:9001", headers: {} };
const REMOTE: Caller = { address: "10.0.0.7:5123", host: "models.internal:9001", headers: {} };

function refusal(message: string) {
  return expect.objectContaining({ code: "permission_denied", message: expect.stringContaining(message) });
}

describe("calls that change the server", () => {
  it("are off unless they are asked for", () => {
    for (const caller of [LOCAL, REMOTE]) {
      expect(() => new AccessPolicy().check("control", caller)).toThrow(refusal("--allow-control=local"));
      new AccessPolicy({ allowControl: "all" }).check("control", caller);
    }
  });

  const [own] = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);

  it.each([
    ["127.0.0.1", "127.0.0.1:9001"],
    ["127.0.0.1:5000", "localhost"],
    ["127.8.9.1", "LOCALHOST.:9001"],
    ["::1", "[::1]:9001"],
    ["[::1]:5000", "kserving.localhost:9000"],
    ["::ffff:127.0.0.1", hostname()],
    ["127.0.0.1", own?.address.includes(":") ? `[${own.address}]` : (own?.address ?? "127.0.0.1")],
  ])("may come from %s for %s, where they are open to this machine", (address, host) => {
    new AccessPolicy({ allowControl: "local" }).check("control", { ...LOCAL, address, host });
  });

  it.each(["10.0.0.1:127", "192.168.127.1", "fe80::1", "[fe80::1]:80", "", "1270.0.0.1"])(
    "may not come from %s, where they are open to this machine",
    (address) => {
      const policy = new AccessPolicy({ allowControl: "local" });
      expect(() => policy.check("control", { ...LOCAL, address })).toThrow(refusal("--allow-control=all"));
    },
  );

  it.each([
    "attacker.example:9001",
    "localhost.attacker.example",
    "127.0.0.1.nip.io",
    "8.8.8.8",
    "",
    "a@localhost",
    undefined,
  ])("may not be for the host %s, where they are open to this machine", (host) => {
    const policy = new AccessPolicy({ allowControl: "local" });
    expect(() => policy.check("control", { ...LOCAL, host })).toThrow(refusal("not an address or name"));
  });

  it.each([
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-real-ip",
    "x-envoy-external-address",
    "cf-ray",
    "x-forwarded",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-host",
    "true-client-ip",
  ])("may not come through a proxy, which %s tells, where they are open to this machine", (name) => {
    const caller = { ...LOCAL, headers: { [name]: "x" } };
    expect(() => new AccessPolicy({ allowControl: "local" }).check("control", caller)).toThrow(refusal(name));
    new AccessPolicy({ allowControl: "all" }).check("control", caller);
  });

  it("may come with headers that no proxy adds", () => {
    const names = ["x-forwardedness", "a-via", "viaduct", "ax-real-ip", "x-real-ips", "cfray", "x-original", "xcf-ray"];
    const headers = Object.fromEntries(names.map((name) => [name, "x"]));
    new AccessPolicy({ allowControl: "local" }).check("control", { ...LOCAL, headers });
  });

  it("may not come in HTTP/1.0, where they are open to this machine", () => {
    const policy = new AccessPolicy({ allowControl: "local" });
    expect(() => policy.check("control", { ...LOCAL, isHttp10: true })).toThrow(refusal("HTTP/1.0"));
  });

  it.each([
    { origin: "https://attacker.example" },
    { origin: "null" },
    { origin: "http://localhost:9001" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ])("are never open to web pages: %o", (headers) => {
    for (const allowControl of ["local", "all"] as const) {
      const policy = new AccessPolicy({ allowControl, corsOrigins: ["*"] });
      expect(() => policy.check("control", { ...LOCAL, headers })).toThrow(refusal("web pages"));
    }
  });

  it("tell a web page by what it was known, of bounded length", () => {
    const policy = new AccessPolicy({ allowControl: "all" });
    for (const [headers, sign] of [
      [{ origin: "a".repeat(1000) }, `(Origin: ${"a".repeat(100)})`],
      [{ "sec-fetch-site": "b".repeat(1000) }, `(Sec-Fetch-Site: ${"b".repeat(100)})`],
    ] as const)
      expect(() => policy.check("control", { ...LOCAL, headers })).toThrow(refusal(`open to web pages ${sign};`));
  });
});

it("a local caller is a program or page of this machine, without a proxy between", () => {
  const headers = { origin: "https://attacker.example" };
  expect([LOCAL, { ...LOCAL, headers }, REMOTE, { ...LOCAL, headers: { via: "x" } }].map(isLocalCaller)).toEqual([
    ...[true, true, false, false],
  ]);
});

describe("inference", () => {
  it.each([
    {},
    { "sec-fetch-site": "none" },
    { origin: "http://localhost:9001" },
    { origin: "https://app.example.com", "sec-fetch-site": "same-origin" },
  ])("is open to programs, and to pages of the same origin: %o", (headers) => {
    new AccessPolicy().check("inference", { ...LOCAL, headers });
  });

  it.each([
    { origin: "http://localhost:3000" },
    { origin: "https://localhost" },
    { origin: "null" },
    { origin: "file://" },
    { origin: "" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ])("is not open to pages of other origins: %o", (headers) => {
    expect(() => new AccessPolicy().check("inference", { ...LOCAL, headers })).toThrow(refusal("--cors-origin"));
    const others = new AccessPolicy({ corsOrigins: ["https://app.example.com"] });
    expect(() => others.check("inference", { ...LOCAL, headers })).toThrow(refusal("--cors-origin"));
  });

  it.each([
    [{ "sec-fetch-site": "cross-site" }, "unknown", "*"],
    [{ origin: "null" }, "null", "*"],
    [{ origin: `http://${"a".repeat(1000)}` }, `http://${"a".repeat(93)}`, `http://${"a".repeat(93)}`],
  ])("of %o is refused with what opens it, of bounded length", (headers, page, flag) => {
    const message = `Web pages of another origin (${page}) may not run models here; start the server with --cors-origin ${flag} to let them,`;
    expect(() => new AccessPolicy().check("inference", { ...LOCAL, headers })).toThrow(refusal(message));
  });

  it.each<Partial<Caller>>([
    { host: undefined, headers: { origin: "http://localhost:9001" } },
    { headers: { origin: "xhttp://localhost:9001" } },
    { host: "10.0.0.5:4430", headers: { origin: "https://10.0.0.50" } },
    { host: "10.0.0.5:8080", headers: { origin: "http://10.0.0.580" } },
    { host: "a.example:4430", headers: { origin: "https://a.example0" } },
    { host: "a.example:8080", headers: { origin: "http://a.example80" } },
  ])("is not open to a page of an origin that is only like the server's: %o", (caller) => {
    expect(() => new AccessPolicy().check("inference", { ...REMOTE, host: "localhost:9001", ...caller })).toThrow(
      refusal("--cors-origin"),
    );
  });

  it("is open to pages of all origins only where they say which", () => {
    const policy = new AccessPolicy({ corsOrigins: ["*"] });
    const headers = { "sec-fetch-site": "cross-site" };
    expect(() => policy.check("inference", { ...REMOTE, headers })).toThrow(refusal("--cors-origin"));
  });

  it("is open to pages of the origins that are named, or of all", () => {
    const headers = { origin: "https://app.example.com", "sec-fetch-site": "cross-site" };
    new AccessPolicy({ corsOrigins: ["https://app.example.com"] }).check("inference", { ...REMOTE, headers });
    new AccessPolicy({ corsOrigins: ["*"] }).check("inference", { ...REMOTE, headers });
  });

  it("is not open to a page whose name was pointed at this machine, unless it is named or a known proxy is between", () => {
    const page = { ...LOCAL, host: "app.example:9001", headers: { origin: "http://app.example:9001" } };
    expect(() => new AccessPolicy().check("inference", page)).toThrow(refusal("--cors-origin http://app.example:9001"));
    new AccessPolicy({ corsOrigins: ["http://app.example:9001"] }).check("inference", page);
    for (const name of ["x-forwarded-for", "x-forwarded-host", "forwarded", "via", "x-real-ip"])
      expect(() =>
        new AccessPolicy().check("inference", { ...page, headers: { ...page.headers, [name]: "10.0.0.1" } }),
      ).toThrow(refusal("--trusted-proxies"));
    const behind = new AccessPolicy({ proxies: new TrustedProxies(["127.0.0.1", "unix:"]) });
    for (const address of ["127.0.0.1:5000", "::ffff:127.0.0.1", "unix:"])
      behind.check("inference", { ...page, address });
    expect(() => behind.check("inference", { ...page, address: "127.0.0.2" })).toThrow(refusal("--cors-origin"));
    new AccessPolicy().check("inference", { ...page, address: "10.0.0.1" });
  });

  it("of a port that a scheme implies has the same origin without it", () => {
    const policy = new AccessPolicy();
    policy.check("inference", { ...REMOTE, host: "a.example:443", headers: { origin: "https://a.example" } });
    policy.check("inference", { ...REMOTE, host: "a.example", headers: { origin: "https://a.example" } });
    const other = { ...REMOTE, host: "a.example:443", headers: { origin: "http://a.example" } };
    expect(() => policy.check("inference", other)).toThrow(refusal("http://a.example"));
  });
});

it("what only tells something is open to all", () => {
  new AccessPolicy().check("read", { ...REMOTE, headers: { origin: "https://attacker.example" } });
});

it.each(["app.example.com", "https://app.example.com/", "https://app.example.com:443", "https://", "", "**"])(
  "an origin that no browser sends is refused: %s",
  (origin) => {
    expect(() => new AccessPolicy({ corsOrigins: [origin] })).toThrow(
      expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining("--cors-origin") }),
    );
  },
);

describe("the server's own page", () => {
  const pageToken = new PageToken();
  const policy = new AccessPolicy({ allowControl: "all", pageToken });
  const pageAt = (host: string, headers: Caller["headers"] = {}): Caller => {
    const own = { origin: `http://${host}`, "sec-fetch-site": "same-origin", "x-kserving-page": pageToken.text };
    return { address: "10.0.0.7", host, headers: { ...own, ...headers } };
  };

  it.each(["10.0.0.5:9001", "localhost:9001", "[fe80::1]:80", hostname()])("may change the server as %s", (host) => {
    policy.check("control", pageAt(host));
  });

  it.each(["evil.example", "10.0.0.5.nip.io:9001", "10.0.0.[5:9001", "[fe80:]:1]:80", ""])(
    "changes nothing under another name, such as %j",
    (host) => {
      expect(() => policy.check("control", pageAt(host))).toThrow(refusal("not open to web pages"));
    },
  );

  it("may change the server under any name where callers have names", () => {
    const known = new AccessPolicy({ allowControl: "all", pageToken, authentication: {} as never });
    known.check("control", pageAt("models.example"));
  });

  it("changes nothing from another site, with another token, or where control is off", () => {
    for (const headers of [{ "sec-fetch-site": "cross-site" }, { "x-kserving-page": "" }, { "x-kserving-page": "x" }]) {
      expect(() => policy.check("control", pageAt("localhost", headers))).toThrow(refusal("not open to web pages"));
    }
    expect(() => new AccessPolicy({ pageToken }).check("control", pageAt("localhost"))).toThrow(refusal("are off"));
  });

  it("runs models where a proxy has changed the name that it was opened by", () => {
    const changed = pageAt("127.0.0.1:9001", { origin: "http://models.example", "sec-fetch-site": undefined });
    policy.check("inference", changed);
    expect(() => policy.check("inference", { ...changed, headers: { origin: "http://models.example" } })).toThrow(
      refusal("--cors-origin"),
    );
  });
});

describe("a port that does not answer some kinds of calls", () => {
  const refused = { kinds: ["control", "metrics"], code: "not_found", message: "not here" } as const;
  const policy = new AccessPolicy({ allowControl: "all", corsOrigins: ["*"] }).refusing(refused);

  it("refuses them before it looks at their callers, and answers the others as before", () => {
    const problem = expect.objectContaining({ code: "not_found", message: "not here" });
    for (const kind of refused.kinds) {
      expect(() => policy.check(kind, REMOTE)).toThrow(problem);
      expect(() => policy.enter(kind, REMOTE)).toThrow(problem);
    }
    policy.check("inference", { ...REMOTE, headers: { origin: "https://a.example" } });
    expect(policy.enter("inference", REMOTE)).toBeUndefined();
  });

  it("refuses those of earlier refusals too", () => {
    const both = policy.refusing({ kinds: ["read"], code: "unimplemented", message: "nor here" });
    expect(() => both.check("read", REMOTE)).toThrow("nor here");
    expect(() => both.check("metrics", REMOTE)).toThrow("not here");
    policy.check("read", REMOTE);
  });
});

it("an origin with permission is told to its page as it was sent", () => {
  const named = new AccessPolicy({ corsOrigins: ["https://App.example.com", "null"] });
  const origins = ["https://APP.example.com", "null", "http://app.example.com", "https://app.example.com:8443"];
  expect(origins.map((origin) => named.allowedOrigin(origin))).toEqual([...origins.slice(0, 2), undefined, undefined]);
  expect(new AccessPolicy({ corsOrigins: ["*"] }).allowedOrigin("https://a.example")).toBe("*");
  expect([new AccessPolicy().dependsOnOrigin, named.dependsOnOrigin]).toEqual([false, true]);
});

it("without names, no call is asked about again", () => {
  const end = () => expect.fail();
  new AccessPolicy().watch({ kind: "read", caller: LOCAL, scope: {} as never, end })();
});
