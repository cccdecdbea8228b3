import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { checkMachine, checkPackages, checkRuntimes, checkSettings } from "../../../src/cli/commands/doctor-command.ts";
import { tlsPath } from "../../helpers/tls-fixture.ts";

const FREE = ["--port", "0", "--http-port", "0"];

test("this machine has no problem, and its facts are told", async () => {
  const findings = await checkMachine();
  expect(findings.filter(({ state }) => state === "problem")).toEqual([]);
  expect(findings).toContainEqual({ check: "Node", state: "ok", text: expect.stringContaining(process.versions.node) });
  const node = findings.find(({ check }) => check === "Node");
  expect(/; version 24 is recommended/.test(node?.text ?? "")).toBe(Number.parseInt(process.versions.node, 10) < 24);
});

test("the packages load, and one that does not is a problem with its lack", async () => {
  expect((await checkPackages()).map(({ state }) => state)).toEqual(["ok", "ok", "ok"]);
  const findings = await checkPackages(async () => Promise.reject(new Error("Cannot find module")));
  expect(findings[0]).toEqual({
    check: "npm package sharp",
    state: "problem",
    text: "does not load, so images cannot be decoded: Cannot find module",
    fix: expect.stringContaining("npm install"),
  });
});

test.each([
  ["that loads", [{ source: "a folder", version: "1.2", isUsed: true }], "ok", "1.2 of a folder"],
  ["that is not there", [], "ok", "not installed; kserving runtimes install x"],
  [
    "that a driver would take and that does not load",
    [{ source: "x", problem: "no AVX", isUsed: true }],
    "problem",
    "x: no AVX",
  ],
  ["that does not load", [{ source: "x", path: "/p", problem: "no AVX", isUsed: false }], "warning", "x (/p): no AVX"],
] as const)("a runtime %s is told with the command that mends it", async (_, found, state, text) => {
  const report = {
    name: "x",
    title: "X",
    found,
    ...(state !== "ok" || found.length === 0 ? { install: "kserving runtimes install x" } : {}),
  };
  const [finding] = await checkRuntimes(async () => [report]);
  expect(finding).toMatchObject({ check: "X", state, text });
  if (state !== "ok") expect(finding?.fix).toBe("kserving runtimes install x");
});

test("settings that cannot be read, and variables that are misspelt, are told", async () => {
  const [problem, variable] = await checkSettings(["--http-prt", "1"], { KSERVING_PROT: "1" });
  expect(problem).toMatchObject({ state: "problem", text: expect.stringContaining("--http-prt") });
  expect(variable).toMatchObject({ state: "warning", text: expect.stringContaining("KSERVING_PORT") });
  const [settings] = await checkSettings(FREE, {});
  expect(settings).toEqual({ check: "Settings", state: "ok", text: "--port, --http-port" });
});

test("a port in use is a problem with the flag that mends it", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const findings = await checkSettings(["--host", "127.0.0.1", "--port", "0", "--http-port", String(port)], {});
  expect(findings.map(({ check, state }) => [check, state])).toEqual([
    ["Settings", "ok"],
    ["gRPC port", "ok"],
    ["HTTP port", "problem"],
  ]);
  expect(findings[2]?.fix).toContain("--http-port 0");
});

test("a certificate is told with its end", async () => {
  const flags = [...FREE, "--tls-cert", tlsPath("server.pem"), "--tls-key", tlsPath("server.key")];
  const { text } = (await checkSettings(flags, {})).at(-1) ?? {};
  expect(text).toContain("is valid until");
  const missing = await checkSettings([...FREE, "--tls-cert", "/nowhere.pem", "--tls-key", "/nowhere.key"], {});
  expect(missing.at(-1)).toMatchObject({ check: "Certificate", state: "problem" });
  const other = await checkSettings(
    [...FREE, "--tls-cert", tlsPath("server.pem"), "--tls-key", tlsPath("client.key")],
    {},
  );
  expect(other.at(-1)).toMatchObject({
    state: "problem",
    text: expect.stringContaining("is not that of the certificate"),
  });
});

test("ports are looked at that the server would listen on: HTTP's where it is on, and a shared one once", async () => {
  const ports = async (...flags: string[]) =>
    (await checkSettings(flags, {})).map(({ check, state }) => [check, state]).slice(1);
  expect(await ports("--port", "0")).toEqual([["gRPC port", "ok"]]);
  const free = createServer().listen(0);
  await once(free, "listening");
  const { port } = free.address() as AddressInfo;
  free.close();
  await once(free, "close");
  expect(await ports("--port", String(port), "--http-port", String(port))).toEqual([["gRPC port", "ok"]]);
  const socket = ["--grpc-socket-only", "--grpc-socket-path", "/tmp/socket", "--http-port", "0"];
  expect(await ports(...socket)).toEqual([["HTTP port", "ok"]]);
});
