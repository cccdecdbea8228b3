import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { listenUnix } from "../../src/net/unix-socket.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

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
      `Cannot listen on the Unix socket ${path}: another server listens there; stop it, or choose another path.`,
    );
    expect(await ask(path)).toBe("hello");
    await expect(listen(join(folder, "notes.txt"))).rejects.toThrow("exists and is not a socket");
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
