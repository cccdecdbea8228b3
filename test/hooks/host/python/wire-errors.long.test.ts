import { describe, expect, it } from "vitest";
import { STATUS } from "../../../../src/errors.ts";
import { WIRES } from "../../../protocols/wires.ts";
import { python, servePythonHooks } from "./serve-python-hooks.ts";

describe.skipIf(python === undefined)("a Python hook that fails", () => {
  it("is told over every wire as a TypeScript hook is", async () => {
    const { server } = await servePythonHooks("def preprocess(inputs): raise ValueError('no face')");
    for (const [name, wire] of Object.entries(WIRES)) {
      const { transport, errorsAreMessages } = wire;
      const status = transport === "http" ? STATUS.internal.http : errorsAreMessages ? 0 : STATUS.internal.grpc;
      expect([name, ...(await wire.ask(server, {}))]).toEqual([
        name,
        status,
        "The hook preprocess failed: ValueError: no face",
      ]);
    }
  });
});
