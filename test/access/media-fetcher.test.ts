import dns from "node:dns";
import type { RequestListener } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MediaFetcher } from "../../src/access/media-fetcher.ts";
import { startWeb } from "../storage/start-web.ts";

const { signal } = new AbortController();
const free = { client: 1, grow: () => {} };

/** Names of the internet, as an attacker's name server has them. */
const NAMES: Readonly<Record<string, string>> = {
  "good.example.com": "127.0.0.1",
  "metadata.example.com": "169.254.169.254",
  "inner.example.com": "10.0.0.7",
};

beforeEach(() => {
  const real = dns.lookup as (name: string, ...rest: never[]) => void;
  const lookup = (name: string, ...rest: never[]) => {
    const plain = name.replace(/\.$/, "");
    return real(NAMES[plain] ?? plain, ...rest);
  };
  vi.spyOn(dns, "lookup").mockImplementation(lookup as typeof dns.lookup);
  syncBuiltinESMExports();
});

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

async function read(url: string, hosts: readonly string[], limits = { bytes: 1000, ms: 10_000 }): Promise<string> {
  const pieces = await new MediaFetcher(hosts, limits).fetch(url, { signal, ...free });
  return Buffer.concat(pieces).toString();
}

const start = (answer: RequestListener) => startWeb(answer);
const portOf = (url: string) => new URL(url).port;

test("a listed address is read, and a listed name whose address is listed if it is private", async () => {
  const url = await start((_, response) => response.end("media"));
  expect(await read(`${url}/a.png`, ["127.0.0.0/8:*"])).toBe("media");
  const named = `http://good.example.com:${portOf(url)}/a.png`;
  for (const host of ["good.example.com", "*.example.com", "*"])
    expect(await read(named, [`${host}:*`, "127.0.0.1:*"])).toBe("media");
  await expect(read(named, ["*.example.com:*"])).rejects.toThrow(
    /^it is at good\.example\.com:\d+, in a private network$/,
  );
});

// Each is one way to write an address, or a name, that is not meant for clients.
test.each([
  ..."http://127.0.0.1/ http://127.1/ http://2130706433/ http://0x7f000001/ http://0177.0.0.1/ http://0/".split(" "),
  ..."http://[::1]/ http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/ http://[fe80::1]/ http://[fd00::1]/".split(" "),
  ..."http://169.254.169.254/latest/meta-data/ http://[64:ff9b::a9fe:a9fe]/ http://100.64.0.1/".split(" "),
  ..."http://localhost/ http://LOCALHOST./ http://metadata.example.com/ http://inner.example.com./".split(" "),
  "http://①②⑦.⓪.⓪.①/",
])("%s is refused where all public hosts are allowed", async (url) => {
  await expect(read(url, ["*"])).rejects.toThrow(
    /^it is at .*, (?:in a private network|which --fetch-media does not list)$/,
  );
});

test.each([
  ["http://example.com.evil.test/", "which --fetch-media does not list"],
  ["http://evil-example.com/", "which --fetch-media does not list"],
  ["http://example.com@evil.test/", "it has a user, or a password"],
  ["http://8.8.8.8/", "which --fetch-media does not list"],
  ["https://:secret@example.com/", "it has a user, or a password"],
  ["ftp://example.com/", "it is no address of a web server"],
  ["file:///etc/passwd", "it is no address of a web server"],
  ["http://", "it is no address of a web server"],
])("%s is none of *.example.com, or no address to read", async (url, reason) => {
  await expect(read(url, ["*.example.com", "example.com"])).rejects.toThrow(reason);
});

test("each redirect is checked by its name and by its address", async () => {
  let location = "";
  const url = await start((_, response) => response.writeHead(302, { location }).end());
  for (const to of ["http://metadata.example.com/", "http://169.254.169.254/", "http://127.0.0.2/", "http://[::1]/"]) {
    location = to;
    await expect(read(url, ["*", "127.0.0.1:*"])).rejects.toThrow(/^it is at .*, (?:in a private|which --fetch)/);
  }
  location = "file:///etc/passwd";
  await expect(read(url, ["127.0.0.1:*"])).rejects.toThrow("redirects to something that is no URL");
  location = url;
  await expect(read(url, ["127.0.0.1:*"])).rejects.toThrow("redirects without end");
  location = `${await start((_, response) => response.end("there"))}/b`;
  expect(await read(url, ["127.0.0.1:*"])).toBe("there");
});

test("a host is read at the ports of the web, and at those that are listed", async () => {
  const url = await start((_, response) => response.end("media"));
  const other = await start((_, response) => response.end("another service"));
  const [port, refusal] = [portOf(url), /^it is at 127\.0\.0\.1:\d+, which --fetch-media does not list$/];
  expect(await read(url, [`127.0.0.1:${port}`])).toBe("media");
  await expect(read(other, [`127.0.0.1:${port}`, "127.0.0.1", "*"])).rejects.toThrow(refusal);
  const named = `http://good.example.com:${port}/`;
  await expect(read(named, ["good.example.com", "127.0.0.1:*"])).rejects.toThrow("which --fetch-media does not list");
  await expect(read(named, ["good.example.com:*", "127.0.0.1:1"])).rejects.toThrow("in a private network");
  await expect(read(`http://[::1]:${port}/`, ["[::1]:1", "::1"])).rejects.toThrow("does not list");
});

test("a redirect with a user and a password is refused as an address with them is", async () => {
  const target = await start((_, response) => response.end("there"));
  const location = target.replace("//", "//user:secret@");
  const url = await start((_, response) => response.writeHead(302, { location }).end());
  await expect(read(url, ["127.0.0.1:*"])).rejects.toThrow("it has a user, or a password");
});

test("fetches wait for a place of their client, and of all, and leave the queue with theirs", async () => {
  const open: (() => void)[] = [];
  const asked: string[] = [];
  const url = await start((request, response) => {
    asked.push(request.url ?? "");
    open.push(() => response.end("media"));
  });
  const fetcher = new MediaFetcher(["127.0.0.1:*"], { places: 3, clientPlaces: 2 });
  const leaver = new AbortController();
  const ask = (client: number, path: string, own: AbortSignal = signal) =>
    fetcher.fetch(`${url}/${path}`, { ...free, client, signal: own });
  const first = [ask(1, "a"), ask(1, "b")];
  const left = ask(1, "left", leaver.signal);
  const rest = [ask(1, "c"), ask(2, "d"), ask(2, "e")];
  await expect.poll(() => asked.toSorted()).toEqual(["/a", "/b", "/d"]);
  leaver.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  for (const count of [4, 5]) {
    open.shift()?.();
    await expect.poll(() => asked.length).toBe(count);
  }
  for (const end of open) end();
  await Promise.all([...first, ...rest]);
  expect(asked.toSorted()).toEqual(["/a", "/b", "/c", "/d", "/e"]);
});

test("a body that does not end is bounded in bytes and in time, and counted as it comes", async () => {
  const endless = await start((_, response) => {
    const more = () => response.write("x".repeat(100), more);
    more();
  });
  await expect(read(endless, ["127.0.0.1:*"])).rejects.toThrow(/sends more than 1000 bytes$/);
  const silent = await start((_, response) => void response.write("x"));
  await expect(read(silent, ["127.0.0.1:*"], { bytes: 10, ms: 50 })).rejects.toThrow(
    /has not sent all within 0\.05 s$/,
  );
  const told = await start((_, response) => response.writeHead(200, { "content-length": 2000 }).write("x"));
  await expect(read(told, ["127.0.0.1:*"])).rejects.toThrow(/sends more than 1000 bytes$/);
  const full = new Error("no room");
  const grow = () => {
    throw full;
  };
  await expect(new MediaFetcher(["127.0.0.1:*"]).fetch(endless, { ...free, signal, grow })).rejects.toBe(full);
});

test("an answer that is none, and a client that leaves, end it", async () => {
  const missing = await start((_, response) => response.writeHead(404).end("secret words"));
  await expect(read(missing, ["127.0.0.1:*"])).rejects.toThrow(/^127\.0\.0\.1:\d+ answers 404$/);
  const client = new AbortController();
  const left = new Error("left");
  const silent = await start(() => client.abort(left));
  const fetched = new MediaFetcher(["127.0.0.1:*"]).fetch(silent, { signal: client.signal, ...free });
  await expect(fetched).rejects.toBe(left);
});

test.each([
  "http://a.example",
  "a.example:0",
  "a.example:65536",
  "a.example:b",
  "10.0.0.7:80:80",
  "[::1]:",
  "10.0.0.0/33",
  "10.0.0.0/8/8",
  "a.*.example",
  "",
  "ex ample",
  "/8",
])("%s is no host", (host) => {
  expect(() => new MediaFetcher([host])).toThrow(/in --fetch-media is no host; expected a name/);
});
