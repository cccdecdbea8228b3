import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readBody } from "../../../src/storage/http/answers.ts";
import { followRedirects } from "../../../src/storage/http/follow-redirects.ts";
import { httpRequest } from "../../../src/storage/http/http-request.ts";
import { startWeb } from "../start-web.ts";

const { signal } = new AbortController();
const PRIVATE = "127.0.0.1";
/** An address of this machine too, which counts as public here. */
const PUBLIC = "127.0.0.2";

vi.mock("../../../src/storage/http/private-address.ts", async (original) => {
  const real = await original<typeof import("../../../src/storage/http/private-address.ts")>();
  return {
    isPrivateAddress: (address: string) => address !== PUBLIC && real.isPrivateAddress(address),
    isPrivateHost: (hostname: string) => hostname !== PUBLIC && real.isPrivateHost(hostname),
  };
});

beforeEach(() => {
  const real = dns.lookup as (name: string, ...rest: never[]) => void;
  const lookup = (name: string, ...rest: never[]) => real(name.endsWith(".example") ? PRIVATE : name, ...rest);
  vi.spyOn(dns, "lookup").mockImplementation(lookup as typeof dns.lookup);
  syncBuiltinESMExports();
});

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

/** Starts a private server; its address has a name. */
async function startPrivate(headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const url = await startWeb((_, response) =>
    response.writeHead("location" in headers ? 302 : 200, headers).end("private"),
  );
  return url.replace(PRIVATE, "private.example");
}

async function read(url: string): Promise<string> {
  return readBody(await followRedirects(new URL(url), { signal }));
}

test("a private server may redirect to another one, also when its own connection was kept", async () => {
  const location = await startPrivate({ connection: "close" });
  const url = await startPrivate({ location });
  for (const _ of [1, 2, 3]) expect(await read(url)).toBe("private");
});

// Other systems have one address of this machine alone.
test.skipIf(process.platform !== "linux")(
  "a public server may not redirect to a private one, nor to a connection that was kept",
  async () => {
    const target = await startPrivate();
    const url = await startWeb((_, response) => response.writeHead(302, { location: target }).end(), PUBLIC);
    await expect(read(url)).rejects.toThrow(/redirects to private\.example:\d+, in a private network/);
    expect(await read(target)).toBe("private");
    await expect(read(url)).rejects.toThrow(/redirects to private\.example:\d+, in a private network/);
  },
);

test.skipIf(process.platform !== "linux")("a public server may redirect to another public one", async () => {
  const target = await startWeb((_, response) => response.end("public"), PUBLIC);
  const url = await startWeb((_, response) => response.writeHead(302, { location: target }).end(), PUBLIC);
  for (const _ of [1, 2]) expect(await read(url)).toBe("public");
});

test.each(["http://[", "file:///etc/passwd", "ftp://files.example/a"])(
  "a redirect to %s names the server",
  async (to) => {
    const url = await startWeb((_, response) => response.writeHead(302, { location: to }).end());
    await expect(read(url)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/^127\.0\.0\.1:\d+ redirects to something that is no URL\. Check the address$/),
    });
  },
);

test.each([
  ["as usual", undefined],
  ["by a caller's own way", httpRequest],
])("a redirect's endless body ends with its connection: sent %s", async (_, send) => {
  const target = await startWeb((_, response) => response.end("there"));
  let isLeft = false;
  const url = await startWeb((_, response) => {
    response.on("close", () => {
      isLeft = true;
    });
    response.writeHead(302, { location: target });
    const more = () => isLeft || response.write(Buffer.alloc(65_536), more);
    more();
  });
  expect(await readBody(await followRedirects(new URL(url), { signal }, { ...(send && { send }) }))).toBe("there");
  await expect.poll(() => isLeft).toBe(true);
});
