import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { listenUnix } from "../../../src/platform/net/unix-socket.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

async function listen(path: string) {
  const socket = await listenUnix(path, (connection) => {
    // A client that only looks whether a server listens leaves at once.
    connection.on("error", () => {});
    connection.end("hello");
  });
  onTestFinished(() => socket.close());
  return socket;
}

async function ask(path: string): Promise<string> {
  const connection = connect(path);
  const [data] = await once(connection, "data");
  connection.destroy();
  return String(data);
}

describe("listenUnix", () => {
  it("takes connections until it is closed, which removes the file", async () => {
    const path = join(tempFolder(), "grpc.sock");
    const socket = await listen(path);
    expect(statSync(path).mode & 0o777).toBe(0o660);
    expect(await ask(path)).toBe("hello");
    socket.close();
    expect(existsSync(path)).toBe(false);
  });

  it("replaces what a server that was killed has left behind", async () => {
    const path = join(tempFolder(), "grpc.sock");
    const program = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
    spawnSync(process.execPath, ["-e", program]);
    expect(existsSync(path)).toBe(true);
    await listen(path);
    expect(await ask(path)).toBe("hello");
  });

  it("leaves alone a socket where a server listens, and a file that is no socket", async () => {
    const folder = tempFolder({ "notes.txt": "mine" });
    const path = join(folder, "grpc.sock");
    await listen(path);
    await expect(listen(path)).rejects.toThrow(
      `Cannot listen on the Unix socket ${path}: another server listens there; stop it, choose another path, or take it over (--grpc-socket-takeover).`,
    );
    expect(await ask(path)).toBe("hello");
    await expect(listen(join(folder, "notes.txt"))).rejects.toThrow("exists and is not a socket");
  });

  it("takes over the path of a server that listens, whose end leaves it alone", async () => {
    const folder = tempFolder();
    const path = join(folder, "grpc.sock");
    const old = await listen(path);
    const kept = connect(path);
    await once(kept, "data");
    const asked = Array.from({ length: 50 }, () => ask(path));
    const other = await listenUnix(path, (connection) => connection.on("error", () => {}).end("other"), {
      takesOver: true,
    });
    onTestFinished(() => other.close());
    for (const answer of await Promise.all(asked)) expect(["hello", "other"]).toContain(answer);
    expect(await ask(path)).toBe("other");
    old.close();
    expect(await ask(path)).toBe("other");
    other.close();
    expect(readdirSync(folder)).toEqual([]);
    kept.destroy();
  });

  it("takes a path as long as one may be", async () => {
    const folder = tempFolder();
    const path = join(folder, "x".repeat(103 - Buffer.byteLength(folder) - 1));
    await listen(path);
    expect(await ask(path)).toBe("hello");
  });

  it.each([
    [
      "too long",
      (folder: string) => join(folder, "é".repeat(60)),
      /the path has \d+ bytes, and a socket's may have 10[37]; choose a shorter one/,
    ],
    ["in no folder", (folder: string) => join(folder, "no", "grpc.sock"), /EACCES|ENOENT/],
  ])("refuses a path that is %s", async (_, path, text) => {
    const refused = listen(path(tempFolder()));
    await expect(refused).rejects.toMatchObject({ code: "unavailable", message: expect.stringMatching(text) });
  });
});
