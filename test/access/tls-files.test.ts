import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { readCertificates, type TlsCredentials, TlsFiles, validityProblem } from "../../src/access/tls-files.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { tlsFile, tlsPath } from "../helpers/tls-fixture.ts";

const [cert, key] = [tlsPath("server.pem"), tlsPath("server.key")];

describe("TlsFiles.open", () => {
  test.each([
    [
      "a file that is not there",
      { cert: "/nowhere/a.pem", key },
      /^The certificate cannot be read from \/nowhere\/a.pem: ENOENT/,
    ],
    ["a file in another form", { cert, key: tlsPath("../tls") }, /^The private key cannot be read from .*: EISDIR/],
    [
      "authorities that are not there",
      { cert, key, clientCa: "/nowhere/ca.pem" },
      /^The certificate of the clients' authority cannot be read from \/nowhere\/ca.pem: ENOENT/,
    ],
    [
      "the key of another certificate",
      { cert, key: tlsPath("client.key") },
      /the private key is not that of the certificate\.$/,
    ],
    ["a key with a passphrase", { cert, key: tlsPath("locked.key") }, /has a passphrase; remove it with openssl pkey/],
  ])("refuses %s, and says what to do", async (_, paths, message) => {
    await expect(TlsFiles.open(paths)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(message),
    });
  });

  const [own, other] = [tlsFile("server.pem"), tlsFile("ca.pem")];
  const cut = other.subarray(0, other.length / 2);
  const damaged = Buffer.from(other.toString().replace("MII", "AII"));
  test.each([
    [
      "a chain that is cut off",
      { cert: [own, cut] },
      "has a certificate 2 of 2 that cannot be read: its end is missing",
    ],
    ["a chain whose first is not the key's", { cert: [other, own] }, "is not the first of its file; expected it first"],
    [
      "a file of another thing, by its path",
      { cert: [tlsFile("server.key")] },
      /^The certificate \/.+\/cert has no cert/,
    ],
    ["authorities that are cut off", { clientCa: [other, cut] }, "certificate 2 of 2 that cannot be read"],
    ["a damaged authority before others", { clientCa: [damaged, other] }, "certificate 1 of 2 that cannot be read"],
    [
      "a key in place of authorities",
      { clientCa: [tlsFile("server.key")] },
      /^The file of clients' authorities .* no cert/,
    ],
  ])("refuses %s", async (_, parts, message) => {
    const files = Object.entries(parts).map(([name, texts]) => [name, Buffer.concat(texts)] as const);
    const folder = tempFolder(Object.fromEntries(files));
    const paths = Object.fromEntries(files.map(([name]) => [name, join(folder, name)]));
    await expect(TlsFiles.open({ cert, key, ...paths })).rejects.toThrow(message);
  });

  test("takes a chain, and authorities with other things between them", async () => {
    const chain = Buffer.concat([Buffer.from("# ours\n"), own, other]).toString();
    const clientCa = Buffer.concat([other, tlsFile("client.key"), own]).toString();
    await expect(TlsFiles.open({ cert: chain, key, clientCa })).resolves.toBeInstanceOf(TlsFiles);
  });

  test.each(["X509 ", "TRUSTED "])("takes certificates in the form %s", async (form) => {
    const chain = own.toString().replaceAll(" CERTIFICATE", ` ${form}CERTIFICATE`);
    const { certificate: first } = await TlsFiles.open({ cert: own.toString(), key });
    expect(readCertificates(Buffer.from(chain), "chain").map(({ raw }) => raw.equals(first.raw))).toEqual([true]);
    expect(first.subject).toContain("CN=");
  });

  test("takes another key for what it is, and texts by what they are, without a place", async () => {
    const opening = TlsFiles.open({ cert: own.toString(), key: tlsFile("locked.key").toString() });
    await expect(opening).rejects.toThrow(/^The TLS files do not fit together: the private key has a passphrase/);
    const none = TlsFiles.open({ cert: tlsFile("server.key").toString(), key });
    await expect(none).rejects.toThrow(/^The certificate has no certificate; expected -----BEGIN CERTIFICATE-----/);
    const noKey = TlsFiles.open({ cert: own.toString(), key: other.toString() });
    await expect(noKey).rejects.toThrow(/; expected a certificate and its private key in PEM form\.$/);
  });

  test("is for gRPC alone where it says so", async () => {
    const scopes = [undefined, "ports", "grpc"] as const;
    const files = await Promise.all(scopes.map((scope) => TlsFiles.open({ cert, key, scope })));
    expect(files.map(({ isForGrpcAlone }) => isForGrpcAlone)).toEqual([false, false, true]);
    expect(files[0]?.validityProblem()).toBeUndefined();
    expect(files[0]?.credentials).toMatchObject({ cert: own, key: tlsFile("server.key") });
  });

  test("takes the groups that this OpenSSL knows", async () => {
    const groups = (await TlsFiles.open({ cert, key })).credentials.ecdhCurve;
    expect(createSecureContext({ ecdhCurve: groups })).toBeDefined();
    const version = Number.parseFloat(process.versions.openssl);
    expect(groups).toBe(`${version >= 3.5 ? "X25519MLKEM768:" : ""}X25519:P-256:P-384`);
  });

  test("tells that its own certificate is over", async () => {
    onTestFinished(() => void vi.useRealTimers());
    vi.setSystemTime(TO + 1);
    expect((await TlsFiles.open({ cert, key })).validityProblem()?.text).toMatch(/expired on/);
  });

  test("does not call a certificate without content cut off", () => {
    const empty = Buffer.from("-----BEGIN CERTIFICATE----------END CERTIFICATE-----");
    expect(() => readCertificates(empty, "chain")).toThrow(/that cannot be read: (?!its end)/);
  });

  test("refuses what is no PEM", async () => {
    const folder = tempFolder({ "server.der": Uint8Array.of(0x30, 0x82, 1, 2) });
    const opened = TlsFiles.open({ cert: join(folder, "server.der"), key });
    await expect(opened).rejects.toThrow(/is not a certificate in PEM form, which begins with -----BEGIN; openssl/);
  });
});

describe("TlsFiles.refresh", () => {
  const open = async () => {
    const folder = tempFolder({ "tls.pem": tlsFile("server.pem"), "tls.key": tlsFile("server.key") });
    const paths = { cert: join(folder, "tls.pem"), key: join(folder, "tls.key") };
    const given: TlsCredentials[] = [];
    const server = { setSecureContext: (credentials: object) => void given.push(credentials as TlsCredentials) };
    return { files: await TlsFiles.open(paths), paths, server, given };
  };

  test("gives servers nothing where nothing has changed", async () => {
    const { files, server, given } = await open();
    expect([await files.refresh([server]), given]).toEqual([false, []]);
  });

  test("keeps the authorities it has while the new ones are being written", async () => {
    const folder = tempFolder({ "ca.pem": tlsFile("ca.pem") });
    const clientCa = join(folder, "ca.pem");
    const files = await TlsFiles.open({ cert, key, clientCa });
    const { server, given } = await open();
    const whole = Buffer.concat([tlsFile("ca.pem"), tlsFile("client.pem")]);
    writeFileSync(clientCa, whole.subarray(0, -100));
    await expect(files.refresh([server])).rejects.toThrow("its end is missing");
    expect(given).toEqual([]);
    writeFileSync(clientCa, whole);
    expect(await files.refresh([server])).toBe(true);
  });

  test("gives servers a new certificate once its key is there too", async () => {
    const { files, paths, server, given } = await open();
    copyFileSync(tlsPath("renewed.pem"), paths.cert);
    await expect(files.refresh([server])).rejects.toThrow("the private key is not that of the certificate");
    expect(given).toEqual([]);
    copyFileSync(tlsPath("renewed.key"), paths.key);
    expect(await files.refresh([server])).toBe(true);
    expect(given).toEqual([
      {
        cert: tlsFile("renewed.pem"),
        key: tlsFile("renewed.key"),
        ecdhCurve: expect.stringMatching(/X25519:P-256:P-384$/),
        ciphers: expect.stringMatching(/:!kRSA:!SHA1:!SHA256:!SHA384$/),
      },
    ]);
    expect(await files.refresh([server])).toBe(false);
  });
});

const [certificate] = readCertificates(tlsFile("server.pem"), "certificate");
const [FROM, TO] = [Date.parse(certificate!.validFrom), Date.parse(certificate!.validTo)];
const DAY_MS = 24 * 60 * 60 * 1000;

test.each([
  ["is in time", FROM + DAY_MS, undefined, undefined],
  ["has just begun", FROM, undefined, undefined],
  ["has 14 days left", TO - 14 * DAY_MS, undefined, undefined],
  ["has just less left", TO - 14 * DAY_MS + 1, true, /expires on/],
  ["is at its end", TO, true, /expires on/],
  [
    "is not valid yet",
    FROM - 1,
    false,
    /^the certificate of CN=\S+ is not valid before .+: clients refuse it until then$/,
  ],
  ["has 15 days left", TO - 15 * DAY_MS, undefined, undefined],
  ["has 13 days left", TO - 13 * DAY_MS, true, /^the certificate of CN=\S+ expires on .+ 2126 GMT$/],
  ["is over", TO + 1, false, /^the certificate of CN=\S+ expired on .+ 2126 GMT: clients refuse it$/],
])("a certificate that %s", (_, now, isSoon, text) => {
  const problem = validityProblem([certificate!], now);
  expect(problem?.isSoon).toBe(isSoon);
  if (text !== undefined) expect(problem?.text).toMatch(text);
});

test("a short-lived certificate is renewed in its last tenth", () => {
  const hours = (from: number, to: number) =>
    ({ subject: "", validFrom: new Date(from).toUTCString(), validTo: new Date(to).toUTCString() }) as never;
  const day = hours(0, DAY_MS);
  expect(validityProblem([day], 0.8 * DAY_MS)).toBeUndefined();
  expect(validityProblem([day], 0.95 * DAY_MS)?.text).toMatch(/^the certificate expires on/);
  const today = hours(FROM, FROM + DAY_MS);
  expect(validityProblem([today], FROM + 0.8 * DAY_MS)).toBeUndefined();
  expect(validityProblem([today], FROM + 0.95 * DAY_MS)?.isSoon).toBe(true);
  expect(validityProblem([day, hours(0, DAY_MS / 2)], 0.95 * DAY_MS)?.text).toMatch(/^the certificate expired on/);
});

test("of several problems one that is there counts before one that comes, and a name is on one line", () => {
  const of = (subject: string, to: number) =>
    ({ subject, validFrom: new Date(0).toUTCString(), validTo: new Date(to).toUTCString() }) as never;
  const [soon, over] = [of("O=a\nCN=b\nOU=c", 11_000), of("", 5000)];
  expect(validityProblem([soon], 10_000)).toEqual({
    ...{ isSoon: true, text: "the certificate of O=a, CN=b, OU=c expires on Thu, 01 Jan 1970 00:00:11 GMT" },
  });
  expect(validityProblem([soon, over], 10_000)?.isSoon).toBe(false);
  expect(validityProblem([])).toBeUndefined();
});
