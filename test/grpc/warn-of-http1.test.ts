import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createEventLog } from "../helpers/event-log.ts";
import { ScriptedService, serve } from "./scripted-service.ts";

it("tells once in the log that a client speaks HTTP/1 to the gRPC port, and where HTTP is", async () => {
  const { log, events } = createEventLog();
  const { port } = await serve(new ScriptedService(), { log });
  for (let round = 0; round < 2; round++) {
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await new Promise((resolve) => socket.on("close", resolve).resume());
  }
  const warnings = events.filter(({ level }) => level === "warn");
  expect(warnings).toEqual([expect.objectContaining({ msg: expect.stringMatching(/speaks HTTP\/1.*--http-enable/) })]);
});
