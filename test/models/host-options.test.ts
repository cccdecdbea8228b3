import { describe, expect, it } from "vitest";
import type { OptionSpec, OptionTable } from "../../src/drivers/option-table.ts";
import { DRIVER_NAMES, findDriver } from "../../src/drivers/registry.ts";
import { HOST_OPTIONS, parseHostOptions } from "../../src/models/host-options.ts";

describe("the options that the server takes of every driver", () => {
  it.each(DRIVER_NAMES)("are shadowed by none of the %s driver that does not say so", async (name) => {
    const { options } = (await findDriver(name)).driver;
    const shared = Object.entries<OptionSpec>(options).filter(([key]) => Object.hasOwn(HOST_OPTIONS, key));
    expect(shared.filter(([, { replacesHost }]) => replacesHost !== true)).toEqual([]);
    const others = Object.entries<OptionSpec>(options).filter(([key]) => !Object.hasOwn(HOST_OPTIONS, key));
    expect(others.filter(([, { replacesHost }]) => replacesHost !== undefined)).toEqual([]);
  });

  it("are left to a driver that takes them in the server's place", () => {
    const options: OptionTable = { layout: { type: "string", replacesHost: true, help: "" } };
    const raw = { layout: "NHWC:NCHW", color_format: "rgb" };
    expect(parseHostOptions(raw, { options }).images).toMatchObject({ colorFormat: "RGB" });
    expect(() => parseHostOptions(raw)).toThrow('Option "layout" is "NHWC:NCHW"; expected one of NHWC, NCHW.');
  });

  it("convert inputs where the option says so, else where the driver does", () => {
    const converts = { options: {}, convertsInputs: true };
    expect(parseHostOptions({}).convertInputs).toBe(false);
    expect(parseHostOptions({}, converts).convertInputs).toBe(true);
    expect(parseHostOptions({ convert_inputs: "no" }, converts).convertInputs).toBe(false);
    expect(parseHostOptions({ convert_inputs: "TRUE" }).convertInputs).toBe(true);
  });
});
